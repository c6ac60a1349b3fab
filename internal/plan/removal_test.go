package plan

import (
	"testing"
	"time"
)

// TestRemoval starts from an object of ours that is as it should be and that no
// file names any more.
func TestRemoval(t *testing.T) {
	t.Parallel()
	const gone = "its file is gone"
	const refused = "the API server refused to delete the WebService: policy 7 says no"
	const conflict = "a ConfigMap of that name belongs to someone else: remove or rename it, or rename the WebService"
	is := func(state RemovalState, reason string, after time.Duration) func(*Input) {
		return func(in *Input) { in.Removal = Removal{State: state, Reason: reason, After: after} }
	}
	isAllowed := is(RemovalAllowed, gone, 0)
	and := func(changes ...func(*Input)) func(*Input) {
		return func(in *Input) {
			for _, change := range changes {
				change(in)
			}
		}
	}
	refuses := func(in *Input) { in.Outcomes[partObject] = Outcome{Refused: "forbidden", Detail: "policy 7 says no"} }
	off := func(in *Input) { in.Policy.Prune.Enabled = false }
	live := func(kind int) func(*Input) { return func(in *Input) { in.Live = liveState(kind) } }
	child := func(kind int) func(*Input) { return func(in *Input) { in.Child = childState(kind, image) } }
	annotated := func(key, value string) func(*Input) {
		return func(in *Input) { in.Live.Annotations[key] = value }
	}
	const kept = "no file; kept by the annotation webservice.labhub.io/prune"

	for _, c := range []struct {
		name   string
		change func(*Input)
		step   StepKind
		want   Decision // Action, Reason, After, Error and Held
	}{
		{"allowed", isAllowed, StepDelete, Decision{Action: Delete, Reason: gone}},
		{"allowed, and its ConfigMap differs", and(isAllowed, child(childDrifted)), StepDelete, Decision{Action: Delete, Reason: gone}},
		{"kept", is(RemovalKept, "kept", 0), StepNone, Decision{Action: Noop, Reason: "kept"}},
		{"due", is(RemovalDue, "due", 1500*time.Millisecond), StepNone, Decision{Action: Requeue, Reason: "due", After: 1500 * time.Millisecond}},
		{"due at once", is(RemovalDue, "due", 0), StepNone, Decision{Action: Requeue, Reason: "due", After: time.Second}},
		{"held", is(RemovalHeld, "held", time.Minute), StepNone, Decision{Action: Requeue, Reason: "held", After: time.Minute, Held: true}},
		{"not judged yet", is(RemovalNone, "", 0), StepNone, Decision{Action: Requeue, Reason: "no file; whether it is gone is still being looked at", After: 5 * time.Second}},

		{"allowed, and pruning is off", and(isAllowed, off), StepNone, Decision{Action: Noop, Reason: "no file; pruning is off"}},
		{"held, and pruning is off", and(is(RemovalHeld, "held", 1), off), StepNone, Decision{Action: Noop, Reason: "no file; pruning is off"}},
		{"not judged, and pruning is off", off, StepNone, Decision{Action: Noop, Reason: "no file; pruning is off"}},
		{"allowed in spite of its annotation", and(isAllowed, annotated("webservice.labhub.io/prune", "disabled")), StepNone, Decision{Action: Noop, Reason: kept}},
		{"allowed in spite of an unknown value", and(isAllowed, annotated("webservice.labhub.io/prune", "no")), StepNone, Decision{Action: Noop, Reason: kept}},
		{"held in spite of its annotation", and(is(RemovalHeld, "held", 1), annotated("webservice.labhub.io/prune", "")), StepNone, Decision{Action: Noop, Reason: kept}},

		{"allowed, and a file names it", and(isAllowed, func(in *Input) { in.Desired, _, _ = desiredState(equal) }), StepNone,
			Decision{Action: Noop, Reason: "spec, ConfigMap and status are as they should be"}},
		{"allowed, and a broken file names it", and(isAllowed, func(in *Input) { in.Broken = true }), StepNone,
			Decision{Action: Noop, Reason: "its file can't be used, so the object is kept as it is"}},
		{"allowed, and the source isn't read whole", and(isAllowed, func(in *Input) { in.Known = false }), StepNone,
			Decision{Action: Noop, Reason: "the source hasn't been read whole yet, so the object is kept as it is"}},
		{"allowed, and made by hand", and(isAllowed, func(in *Input) { in.Live.Fields.Labels = nil }), StepNone,
			Decision{Action: Noop, Reason: "no file: made by hand, and its ConfigMap and status are as they should be"}},
		{"allowed, and restored from a copy", and(isAllowed, live(restored)), StepNone,
			Decision{Action: Noop, Reason: "no file: restored from a copy of another object, and its ConfigMap and status are as they should be"}},
		{"allowed, and another source's", and(isAllowed, live(otherSources)), StepNone, Decision{Action: Noop, Reason: `the object belongs to the source "other"`}},
		{"allowed, and deleted by somebody", and(isAllowed, live(terminating)), StepNone,
			Decision{Action: Requeue, Reason: "the object is being deleted and waits for the finalizer " + toolHold, After: 5 * time.Second}},
		{"allowed, and suspended", and(isAllowed, live(suspendedLive)), StepNone,
			Decision{Action: Noop, Reason: "suspended by the annotation webservice.labhub.io/reconcile on the live object"}},
		{"allowed, and gone", and(isAllowed, live(absent)), StepNone, Decision{Action: Noop, Reason: "there is no object, and no usable file asks for one"}},
		{"allowed, and the CRD is being deleted", and(isAllowed, func(in *Input) { in.CRD = CRD{Reason: "the CRD is being deleted"} }), StepNone,
			Decision{Action: Requeue, Reason: "the CRD is being deleted", After: 5 * time.Second}},
		{"allowed, and its namespace is being deleted", and(isAllowed, func(in *Input) { in.Namespace = NamespaceTerminating }), StepDelete, Decision{Action: Delete, Reason: gone}},

		{"refused", and(isAllowed, refuses), StepNone, Decision{Action: Requeue, Reason: refused, Error: true}},
		{"refused, and its ConfigMap is missing", and(isAllowed, refuses, child(noChild)), StepCreateChild, Decision{Action: Create, Reason: "the ConfigMap doesn't exist"}},
		{"refused, and its ConfigMap is going", and(isAllowed, refuses, child(childTerminating)), StepWriteStatus, Decision{Action: Update}},
		{"refused, and its ConfigMap is someone else's", and(isAllowed, refuses, child(foreignUnowned), func(in *Input) { in.Live.Status = statusState(conflictStatus) }),
			StepNone, Decision{Action: Requeue, Reason: refused + "; " + conflict, Error: true}},

		{"held, and its ConfigMap is missing", and(is(RemovalHeld, "held", 1), child(noChild)), StepCreateChild,
			Decision{Action: Create, Reason: "the ConfigMap doesn't exist", Held: true}},
		{"held, and its ConfigMap is someone else's", and(is(RemovalHeld, "held", 1), child(foreignUnowned), func(in *Input) { in.Live.Status = statusState(conflictStatus) }),
			StepNone, Decision{Action: Requeue, Reason: conflict, Error: true, Held: true}},
		{"held, and what it depends on isn't ready", and(is(RemovalHeld, "held", time.Minute), func(in *Input) {
			in.Dependencies = []Dependency{{Key: Key{Namespace: "crd-lab", Name: "db"}, Reason: "it doesn't exist"}}
		}), StepWriteStatus, Decision{Action: Update, Held: true}},
		{"held, and the CRD isn't ready", and(is(RemovalHeld, "held", 1), func(in *Input) { in.CRD = CRD{Reason: "no CRD"} }), StepNone,
			Decision{Action: Requeue, Reason: "no CRD", After: 5 * time.Second, Held: true}},
	} {
		in := convergedInput()
		in.Desired, in.Policy.Prune.Enabled = nil, true
		in.Live.Annotations = map[string]string{}
		c.change(in)
		if in.Live.Exists() && in.Live.Status.Conditions == nil {
			in.Live.Status = statusState(currentStatus)
		}
		d := Decide(in)
		if d.Step.Kind == StepWriteStatus {
			d.Reason = ""
		}
		if d.Step.Kind != c.step || d.Action != c.want.Action || d.Reason != c.want.Reason || d.After != c.want.After ||
			d.Error != c.want.Error || d.Held != c.want.Held || d.Target != WebService && !d.Error && c.step == StepNone {
			t.Errorf("%s: to %s: %s: %q, after %s, error %t, held %t", c.name, d.Step.Kind, d.Action, d.Reason, d.After, d.Error, d.Held)
		}
	}
}

// TestRemovalOfAReadyObject: until it goes it is ready, whatever keeps it.
func TestRemovalOfAReadyObject(t *testing.T) {
	t.Parallel()
	for _, state := range []RemovalState{RemovalNone, RemovalKept, RemovalDue, RemovalHeld, RemovalAllowed} {
		in := convergedInput()
		in.Desired, in.Policy.Prune.Enabled = nil, true
		in.Removal = Removal{State: state, Reason: "why"}
		in.Outcomes[partObject] = Outcome{Refused: "forbidden"}
		if v := judge(in); v.ready != isReady {
			t.Errorf("state %d: %+v", state, v.ready)
		}
	}
}

func TestKeptReason(t *testing.T) {
	t.Parallel()
	const prune, reconcile = "webservice.labhub.io/prune", "webservice.labhub.io/reconcile"
	for _, c := range []struct {
		name        string
		enabled     bool
		annotations map[string]string
		want        string
	}{
		{"nothing keeps it", true, map[string]string{"note": "old"}, ""},
		{"no annotations", true, nil, ""},
		{"its annotation", true, map[string]string{prune: "disabled"}, "no file; kept by the annotation " + prune},
		{"its annotation with a value that we don't know", true, map[string]string{prune: "false"}, "no file; kept by the annotation " + prune},
		{"suspended", true, map[string]string{reconcile: "disabled"}, "no file; kept by the annotation " + reconcile},
		{"suspended with a value that we don't know", true, map[string]string{reconcile: ""}, "no file; kept by the annotation " + reconcile},
		{"pruning is off", false, nil, "no file; pruning is off"},
		{"pruning is off, and its annotation", false, map[string]string{prune: "disabled"}, "no file; pruning is off"},
	} {
		live := liveState(inSync)
		live.Annotations = c.annotations
		if got := KeptReason(&live, &PrunePolicy{Enabled: c.enabled}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
