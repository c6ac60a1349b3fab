package plan

import (
	"slices"
	"strconv"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Change is one field in which an object differs from what it should be.
type Change struct {
	// Path is the field as kubectl would name it.
	Path string
	// From is the live value and To the wanted one, both as text. They are equal
	// where only the ownership of the field is missing.
	From, To string
	// By is the other manager that owns the field now; "" where there is none.
	By string
	// Missing: the live object doesn't have the field.
	Missing bool
	// Extra: the live object has the field and must not.
	Extra bool
	// Dropped: the file stated the field before and doesn't any more.
	Dropped bool
}

// String says the change as part of a sentence.
func (c Change) String() string {
	switch {
	case c.Dropped:
		return c.Path + " is no longer in the file"
	case c.Extra:
		return c.Path + " must not be there"
	case c.Missing:
		return c.Path + " is missing"
	case c.From == c.To && c.By == "":
		return c.Path + " is as the file says, but the file doesn't own it yet"
	case c.From == c.To:
		return c.Path + " is as it should be, but " + c.By + " owns it and we don't"
	case c.By == "":
		return c.Path + " is " + value(c.From) + " and should be " + value(c.To)
	}
	return c.Path + " is " + value(c.From) + ", set by " + c.By + ", and should be " + value(c.To)
}

// value writes a field's value into a sentence: numbers as they are, all else quoted.
func value(s string) string {
	if _, err := strconv.ParseUint(s, 10, 32); err == nil {
		return s
	}
	return quote(s)
}

// quote keeps long and multi-line values from filling a sentence.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// Drift lists where the live object differs from what the file states, or
// where a field that the file states isn't ours, or where we own one that the
// file doesn't state any more. Nil means that applying would change nothing.
func Drift(d *Desired, l *Live) []Change {
	var out []Change
	if d.Image != l.Spec.Image || !l.Fields.Image {
		out = append(out, Change{Path: "spec.image", From: l.Spec.Image, To: d.Image, By: by(l.Fields.Image, l.Fields.ImageBy)})
	}
	out = append(out, replicasDrift(d, l)...)
	out = append(out, tierDrift(d, l)...)
	out = append(out, mapDrift("metadata.labels", d.Labels, l.Labels, l.Fields.Labels, l.Fields.LabelsBy)...)
	out = append(out, mapDrift("metadata.annotations", d.Annotations, l.Annotations, l.Fields.Annotations, l.Fields.AnnotationsBy)...)
	return append(out, finalizerDrift(d, l)...)
}

// by is the manager that a field is taken from: none while it is ours too.
func by(ours bool, other string) string {
	if ours {
		return ""
	}
	return other
}

func replicasDrift(d *Desired, l *Live) []Change {
	f := &l.Fields
	switch {
	case d.Replicas == nil && f.Replicas:
		return []Change{{Path: "spec.replicas", From: number(l.Spec.Replicas), Dropped: true}}
	case d.Replicas == nil:
		return nil
	case f.Replicas && l.Spec.Replicas != nil && *l.Spec.Replicas == *d.Replicas:
		return nil
	}
	return []Change{{
		Path: "spec.replicas", From: number(l.Spec.Replicas), To: number(d.Replicas),
		By: by(f.Replicas, f.ReplicasBy), Missing: l.Spec.Replicas == nil,
	}}
}

func tierDrift(d *Desired, l *Live) []Change {
	f := &l.Fields
	switch {
	case d.Tier == nil && f.Tier:
		return []Change{{Path: "spec.tier", From: l.Spec.Tier, Dropped: true}}
	case d.Tier == nil:
		return nil
	case f.Tier && l.Spec.Tier == *d.Tier:
		return nil
	}
	return []Change{{
		Path: "spec.tier", From: l.Spec.Tier, To: *d.Tier,
		By: by(f.Tier, f.TierBy), Missing: l.Spec.Tier == "",
	}}
}

func number(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

// mapDrift compares labels or annotations. owned is sorted; others names the
// managers of keys that aren't ours.
func mapDrift(path string, want, live map[string]string, owned []string, others map[string]string) []Change {
	var out []Change
	for k, v := range want {
		got, ok := live[k]
		if _, ours := slices.BinarySearch(owned, k); !ok || !ours || got != v {
			out = append(out, Change{Path: path + "[" + k + "]", From: got, To: v, By: by(ours, others[k]), Missing: !ok})
		}
	}
	for _, k := range owned {
		if _, ok := want[k]; !ok {
			out = append(out, Change{Path: path + "[" + k + "]", From: live[k], Dropped: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func finalizerDrift(d *Desired, l *Live) []Change {
	path := "metadata.finalizers[" + v1.CleanupFinalizer + "]"
	want := slices.Contains(d.Finalizers, v1.CleanupFinalizer)
	live := slices.Contains(l.Finalizers, v1.CleanupFinalizer)
	_, ours := slices.BinarySearch(l.Fields.Finalizers, v1.CleanupFinalizer)
	switch {
	case want && !live:
		return []Change{{Path: path, To: v1.CleanupFinalizer, Missing: true}}
	case want && !ours:
		return []Change{{Path: path, From: v1.CleanupFinalizer, To: v1.CleanupFinalizer}}
	case !want && ours:
		return []Change{{Path: path, From: v1.CleanupFinalizer, Dropped: true}}
	}
	return nil
}

// sentence joins changes; a long list is cut, with the number of the rest.
func sentence(changes []Change) string {
	const most = 4
	parts := make([]string, 0, most+1)
	for _, c := range changes[:min(most, len(changes))] {
		parts = append(parts, c.String())
	}
	if n := len(changes) - most; n > 0 {
		parts = append(parts, "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(parts, "; ")
}

// paths joins the paths of changes.
func paths(changes []Change) string {
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return strings.Join(out, ", ")
}
