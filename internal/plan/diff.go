package plan

import (
	"cmp"
	"slices"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// FieldDiff is one field that a step changes.
type FieldDiff struct {
	// Path is the field as kubectl would name it.
	Path string
	// From is what the field has and To what it gets; nil where it isn't there. They
	// are equal where only the field's owner changes.
	From, To *string
	// By is the other manager that has set the field; "" where there is none.
	By string
	// Why says why the field changes where that isn't since the file says so.
	Why FieldReason
}

// FieldReason says why a field changes, beside that the file says so.
type FieldReason string

// The reasons of a FieldDiff.
const (
	// FieldStated: the file says so, or follows from what it says.
	FieldStated FieldReason = ""
	// FieldDefault: nobody states the field, so it gets its default.
	FieldDefault FieldReason = "default"
	// FieldDropped: the file stated the field before and doesn't any more.
	FieldDropped FieldReason = "dropped"
	// FieldOwned: the field stays as it is, and the file owns it from then on.
	FieldOwned FieldReason = "owned"
	// FieldServer: the file states something else, and the API server changes it on
	// the way.
	FieldServer FieldReason = "server"
)

// Unknown stands for a value that only the API server can give, such as the uid of
// an object that doesn't exist yet.
const Unknown = "(known once it exists)"

// Diff lists the fields that the step of d changes, sorted as a manifest has them:
// in is what there was before it, after what there is then. A step that ends an
// object changes no field.
func Diff(d *Decision, in, after *Input) []FieldDiff {
	var before, now fields
	switch d.Step.Kind {
	case StepApply, StepAdoptFields, StepDropFinalizer:
		if !after.Live.Exists() {
			return nil
		}
		before, now = statedFields(&in.Live), statedFields(&after.Live)
	case StepWriteStatus:
		before, now = statusFields(&in.Live), statusFields(&after.Live)
	case StepCreateChild, StepUpdateChild:
		before, now = childFields(&in.Child, in.Key.Name), childFields(&after.Child, in.Key.Name)
	default:
		return nil
	}
	diffs := compare(before, now)
	for i := range diffs {
		diffs[i].explain(d)
	}
	for i := range d.Changes {
		if c := &d.Changes[i]; !slices.ContainsFunc(diffs, func(f FieldDiff) bool { return f.Path == c.Path }) {
			diffs = appendOwned(diffs, c, now)
		}
	}
	slices.SortStableFunc(diffs, func(a, b FieldDiff) int { return order(a.Path, b.Path) })
	return diffs
}

// appendOwned adds a change of the owner alone. Only an apply makes such.
func appendOwned(diffs []FieldDiff, c *Change, now fields) []FieldDiff {
	value, ok := now[c.Path]
	if !ok || c.Path == wholeChild {
		return diffs
	}
	f := FieldDiff{Path: c.Path, From: &value, To: &value, By: c.By, Why: FieldOwned}
	if c.Dropped {
		f.Why = FieldDropped
	}
	return append(diffs, f)
}

// explain adds whose field it was, and why it changes.
func (f *FieldDiff) explain(d *Decision) {
	for i := range d.Changes {
		c := &d.Changes[i]
		if c.Path != f.Path {
			continue
		}
		f.By = c.By
		switch {
		case c.Dropped:
			f.Why = FieldDropped
		case d.Step.Kind == StepApply && f.To != nil && *f.To != c.To:
			f.Why = FieldServer
		}
		return
	}
	if d.Step.Kind == StepApply {
		f.Why = unstated(d.Step.Desired, f)
	}
}

// unstated says why an apply of d changes the field f, of which the comparison with
// the live object knows nothing: there was none, or the server did it by itself.
func unstated(d *Desired, f *FieldDiff) FieldReason {
	value, stated := desiredFields(d)[f.Path]
	switch {
	case stated && f.To != nil && *f.To == value:
		return FieldStated
	case stated, !strings.HasPrefix(f.Path, "spec."):
		return FieldServer
	}
	return FieldDefault
}

// fields are values by path.
type fields map[string]string

func (f fields) addMap(path string, m map[string]string) {
	for key, value := range m {
		f[path+"["+key+"]"] = value
	}
}

// desiredFields are the fields that a file states.
func desiredFields(d *Desired) fields {
	f := fields{"spec.image": d.Image}
	if d.Replicas != nil {
		f["spec.replicas"] = itoa(*d.Replicas)
	}
	if d.Tier != nil {
		f["spec.tier"] = *d.Tier
	}
	f.addMap("metadata.labels", d.Labels)
	f.addMap("metadata.annotations", d.Annotations)
	for _, finalizer := range d.Finalizers {
		f["metadata.finalizers["+finalizer+"]"] = finalizer
	}
	return f
}

// statedFields are the fields of the live object that a file can state.
func statedFields(l *Live) fields {
	f := fields{}
	if !l.Exists() {
		return f
	}
	f["spec.image"] = l.Spec.Image
	if l.Spec.Replicas != nil {
		f["spec.replicas"] = itoa(*l.Spec.Replicas)
	}
	if l.Spec.Tier != "" {
		f["spec.tier"] = l.Spec.Tier
	}
	f.addMap("metadata.labels", l.Labels)
	f.addMap("metadata.annotations", l.Annotations)
	for _, finalizer := range l.Finalizers {
		f["metadata.finalizers["+finalizer+"]"] = finalizer
	}
	return f
}

// statusFields are the fields of status that the controller writes. Zeros count as
// not there, as in what the server stores.
func statusFields(l *Live) fields {
	f := fields{}
	if !l.Exists() {
		return f
	}
	if n := l.Status.Replicas; n != 0 {
		f["status.replicas"] = itoa(n)
	}
	if n := l.Status.ObservedGeneration; n != 0 {
		f["status.observedGeneration"] = itoa64(n)
	}
	c := readyOf(l.Status.Conditions)
	if c == nil {
		return f
	}
	const path = "status.conditions[type=" + v1.ReadyCondition + "]."
	f[path+"status"], f[path+"reason"], f[path+"message"] = string(c.Status), c.Reason, c.Message
	if c.ObservedGeneration != 0 {
		f[path+"observedGeneration"] = itoa64(c.ObservedGeneration)
	}
	return f
}

// childFields are the fields of the ConfigMap of the WebService of that name.
func childFields(c *Child, name string) fields {
	f := fields{}
	for key, value := range c.Data {
		f["data."+key] = value
	}
	f.addMap("metadata.labels", c.Labels)
	if uid := string(controllerOf(c.Owners, name)); IsSimulated(uid) {
		f["metadata.ownerReferences[controller]"] = Unknown
	} else if uid != "" {
		f["metadata.ownerReferences[controller]"] = uid
	}
	return f
}

func compare(before, now fields) []FieldDiff {
	var out []FieldDiff
	for path, to := range now {
		if from, ok := before[path]; !ok {
			out = append(out, FieldDiff{Path: path, To: &to})
		} else if from != to {
			out = append(out, FieldDiff{Path: path, From: &from, To: &to})
		}
	}
	for path, from := range before {
		if _, ok := now[path]; !ok {
			out = append(out, FieldDiff{Path: path, From: &from})
		}
	}
	return out
}

// order has the spec or the data first, for it is what people look for, then the
// rest by name.
func order(a, b string) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

func rank(path string) int {
	ranks := []string{"spec.", "data.", "metadata.", "status."}
	return slices.IndexFunc(ranks, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}
