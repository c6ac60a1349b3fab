package plan

import (
	"slices"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// FieldState is one field of a WebService or of its ConfigMap: what it should be,
// what it is, and who owns it.
type FieldState struct {
	// Target is the object that has the field.
	Target Target
	// Path is the field as kubectl would name it.
	Path string
	// Want is what the field should be when all is done; nil where nothing asks for it,
	// so that the server's default or somebody else's value is fine.
	Want *string
	// Have is what the cluster has; nil where it isn't there.
	Have *string
	// Owners are the field managers, ours first where it is one.
	Owners []string
	// Differs: a write, or something that is waited for, has to change the field or
	// its owner.
	Differs bool
}

// Compare lists the fields of the object and of its ConfigMap, sorted as a manifest
// has them. Like Decide it only looks at its input.
func Compare(in *Input) []FieldState {
	var out []FieldState
	live := &in.Live
	want, drift := fields{}, []Change(nil)
	if d := in.file(); d != nil {
		want = desiredFields(d)
		if live.Exists() {
			drift = Drift(d, live)
		}
	}
	out = appendStates(out, WebService, want, statedFields(live), drift, live.Fields.ownersOf)
	if live.Exists() {
		out = appendStates(out, WebService, wantedStatus(in), storedStatus(live), nil, live.Fields.ownersOfStatus)
	}
	if want, drift := wantedChild(in); want != nil || in.Child.Exists() {
		out = appendStates(out, ConfigMap, want, childFields(&in.Child, in.Key.Name), drift, in.Child.ownersOf)
	}
	slices.SortStableFunc(out, func(a, b FieldState) int {
		if a.Target != b.Target {
			return int(a.Target) - int(b.Target)
		}
		return order(a.Path, b.Path)
	})
	return out
}

// wantedChild is what the ConfigMap of the live object shall have, and where it
// differs from that; nil where there shall be none, or none of ours.
func wantedChild(in *Input) (fields, []Change) {
	live := &in.Live
	if !live.Exists() || live.Terminating() || live.BelongsTo(in.Policy.SourceName) == Anothers {
		return nil, nil
	}
	content := childContent(&in.Child, live)
	want := childFields(&Child{Data: content.Data, Labels: content.Labels, Owners: content.Owners}, in.Key.Name)
	if !in.Child.Exists() {
		return want, nil
	}
	return want, ChildDrift(&in.Child, live)
}

const readyPath = "status.conditions[type=" + v1.ReadyCondition + "]."

// wantedStatus is what the status says when all is done; nil for objects whose
// status isn't ours to write.
func wantedStatus(in *Input) fields {
	live := &in.Live
	suspended := live.Suspended() || in.Desired != nil && in.Desired.Suspended
	if suspended || live.Terminating() || live.BelongsTo(in.Policy.SourceName) == Anothers {
		return nil
	}
	return fields{
		"status.replicas": itoa(live.Replicas()), "status.observedGeneration": itoa64(live.Generation),
		readyPath + "status": "True", readyPath + "observedGeneration": itoa64(live.Generation),
	}
}

// storedStatus has no replicas where they are 0, and people would take that for a
// difference.
func storedStatus(l *Live) fields {
	f := statusFields(l)
	if l.Status.ObservedGeneration != 0 && l.Status.Replicas == 0 {
		f["status.replicas"] = "0"
	}
	return f
}

// appendStates puts two sides beside each other. What drift names differs, even
// where the values are equal: then it is the owner that isn't as it should be.
func appendStates(to []FieldState, on Target, want, have fields, drift []Change, owners func(string) []string) []FieldState {
	add := func(path string) {
		s := FieldState{Target: on, Path: path, Owners: owners(path)}
		if v, ok := want[path]; ok {
			s.Want = &v
		}
		if v, ok := have[path]; ok {
			s.Have = &v
		}
		s.Differs = s.Want != nil && (s.Have == nil || *s.Have != *s.Want) ||
			slices.ContainsFunc(drift, func(c Change) bool { return c.Path == path })
		to = append(to, s)
	}
	for path := range want {
		add(path)
	}
	for path := range have {
		if _, ok := want[path]; !ok {
			add(path)
		}
	}
	return to
}

// ownersOf are the managers of a field that a file can state.
func (f *Fields) ownersOf(path string) []string {
	switch name := member(path); {
	case path == "spec.image":
		return managers(f.Image, f.ImageBy)
	case path == "spec.replicas":
		return managers(f.Replicas, f.ReplicasBy)
	case path == "spec.tier":
		return managers(f.Tier, f.TierBy)
	case strings.HasPrefix(path, "metadata.labels["):
		return managers(f.HasLabel(name), f.LabelsBy[name])
	case strings.HasPrefix(path, "metadata.annotations["):
		return managers(slices.Contains(f.Annotations, name), f.AnnotationsBy[name])
	case strings.HasPrefix(path, "metadata.finalizers["):
		return managers(slices.Contains(f.Finalizers, name), f.FinalizersBy[name])
	}
	return nil
}

func (f *Fields) ownersOfStatus(path string) []string {
	record := f.Status.Record()
	switch {
	case path == "status.replicas":
		return split(record.Replicas)
	case path == "status.observedGeneration":
		return split(record.ObservedGeneration)
	case strings.HasPrefix(path, readyPath):
		return split(record.Ready)
	}
	return nil
}

func (c *Child) ownersOf(path string) []string {
	record := c.By.Record()
	switch path {
	case "data.image":
		return split(record.Image)
	case "data.replicas":
		return split(record.Replicas)
	case "data.tier":
		return split(record.Tier)
	case "metadata.labels[" + v1.ManagedByLabel + "]":
		return split(record.Label)
	case "metadata.ownerReferences[controller]":
		return split(record.Controller)
	}
	return nil
}

// member is the key in the brackets of a path.
func member(path string) string {
	_, rest, _ := strings.Cut(path, "[")
	return strings.TrimSuffix(rest, "]")
}

func managers(ours bool, other string) []string {
	var out []string
	if ours {
		out = append(out, v1.Manager)
	}
	if other != "" && (!ours || other != v1.Manager) {
		out = append(out, other)
	}
	return out
}

func split(record string) []string {
	if record == "" {
		return nil
	}
	return strings.Split(record, ", ")
}
