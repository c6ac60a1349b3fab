package plan

import "testing"

// Converged objects cost nothing: a pass over a thousand of them leaves no garbage.
func TestConvergedAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		replicas int32
		digits   string
		change   func(*Input)
	}{
		{"few replicas", 3, "3", func(*Input) {}},
		{"many replicas", 2_000_000_000, "2000000000", func(*Input) {}},
		{"no file", 3, "3", func(in *Input) { in.Desired = nil }},
		{"a dependency that is ready", 3, "3", func(in *Input) {
			in.Dependencies = []Dependency{{Key: Key{Namespace: "crd-lab", Name: "db"}, Ready: true}}
		}},
		{"something else is contested", 3, "3", func(in *Input) { in.Contested = []string{"spec.tier"} }},
		{"deletions are held", 3, "3", func(in *Input) { in.CreationHeld, in.Policy.Prune.Enabled = true, true }},
		{"no file, and kept", 3, "3", func(in *Input) {
			in.Desired, in.Policy.Prune.Enabled, in.Removal = nil, true, Removal{State: RemovalKept, Reason: "kept"}
		}},
		{"labels, annotations and the finalizer", 3, "3", func(in *Input) {
			in.Desired.Annotations, in.Live.Fields.Annotations = map[string]string{"note": "old"}, []string{"note"}
			in.Desired.Finalizers, in.Live.Finalizers, in.Live.Fields.Finalizers = []string{finalizer}, []string{finalizer}, []string{finalizer}
		}},
	} {
		in := convergedInput()
		in.Desired.Replicas, in.Live.Spec.Replicas = new(c.replicas), new(c.replicas)
		in.Live.Status.Replicas, in.Child.Data["replicas"] = c.replicas, c.digits
		c.change(in)
		var d Decision
		if n := testing.AllocsPerRun(100, func() { d = Decide(in) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
		if d.Action != Noop {
			t.Errorf("%s: %s: %s", c.name, d.Action, d.Reason)
		}
	}
}

// Nor does what the engine asks for each of them before it decides.
func TestAskingAllocatesNothing(t *testing.T) {
	in := convergedInput()
	var none Contests
	some := Contests{}
	some.Took([]Change{{Path: "spec.image"}}, startNow)
	for name, ask := range map[string]func(){
		"contests, none":            func() { none.Paths(startNow) },
		"contests, few":             func() { some.Paths(startNow) },
		"what it depends on":        func() { in.DependsOn() },
		"a dependency that is done": func() { DependencyOf(testKey, in.Desired, false, &in.Live) },
		"kept":                      func() { KeptReason(&in.Live, &PrunePolicy{Enabled: true}) },
	} {
		if n := testing.AllocsPerRun(100, ask); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
