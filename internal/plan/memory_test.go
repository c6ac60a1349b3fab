package plan

import (
	"errors"
	"strconv"
	"testing"
)

// TestMemory: a write is remembered only where its answer differs from it, and
// only until something that it speaks of changes.
func TestMemory(t *testing.T) {
	t.Parallel()
	spec := Step{Kind: StepApply, Desired: convergedInput().Desired}
	live := convergedInput().Live
	child := Step{Kind: StepUpdateChild, Child: childContent(&Child{}, &live)}
	status := Step{Kind: StepWriteStatus, ResourceVersion: live.ResourceVersion, Status: statusOf(&live, isReady, startNow)}
	mutated := func(in *Input) { in.Live.Spec.Image = mutatedImage }
	spoilt := func(in *Input) { in.Child.Data["tier"] = "mutated" }
	dropped := func(in *Input) { in.Live.Status.Conditions[0].Reason = "" }
	drop := Step{Kind: StepDropFinalizer}
	adopt, del := Step{Kind: StepAdoptFields}, Step{Kind: StepDelete, UID: liveUID}
	clientSide := func(in *Input) { in.Live.Fields.ClientSide = true }
	kept := func(in *Input) { in.Live = liveState(cleaning) }
	nothing := func(*Input) {}

	for _, c := range []struct {
		name   string
		step   Step
		answer func(*Input) // what the server made of it
		since  func(*Input) // what has changed since
		want   bool
	}{
		{"apply taken", spec, nothing, nothing, false},
		{"apply mutated", spec, mutated, nothing, true},
		{"apply mutated, the file changed", spec, mutated, func(in *Input) { in.Desired.Digest = "other" }, false},
		{"apply mutated, the object changed", spec, mutated, func(in *Input) { in.Live.ResourceVersion = "live-2" }, false},
		{"apply mutated, the object made anew", spec, mutated, func(in *Input) { in.Live.UID = newUID }, false},
		{"apply mutated, the child changed", spec, mutated, func(in *Input) { in.Child.ResourceVersion = "child-2" }, true},
		{"apply mutated, the file gone", spec, mutated, func(in *Input) { in.Desired = nil }, false},
		{"child taken", child, nothing, nothing, false},
		{"child mutated", child, spoilt, nothing, true},
		{"child mutated, then changed", child, spoilt, func(in *Input) { in.Child.ResourceVersion = "child-2" }, false},
		{"child mutated, then gone", child, spoilt, func(in *Input) { in.Child = Child{} }, false},
		{"child mutated, new generation", child, spoilt, func(in *Input) { in.Live.Generation++ }, false},
		{"child mutated, status changed", child, spoilt, func(in *Input) { in.Live.ResourceVersion = "live-2" }, true},
		{"child mutated, then the object deleted", child, spoilt, func(in *Input) { in.Live.DeletionTimestamp = &longAgo }, false},
		{"child as asked for, and the spec changed meanwhile", child, mutated, nothing, false},
		{"child as asked for, and the object made anew meanwhile", child, func(in *Input) { in.Live.UID = newUID }, nothing, false},
		{"child deleted", Step{Kind: StepDeleteChild}, nothing, nothing, false},
		{"status taken", status, nothing, nothing, false},
		{"status dropped", status, dropped, nothing, true},
		{"status dropped, the object changed", status, dropped, func(in *Input) { in.Live.ResourceVersion = "live-2" }, false},
		{"status dropped, the child changed", status, dropped, func(in *Input) { in.Child.ResourceVersion = "child-2" }, false},
		{"status dropped beside a foreign child, not seen before", status, func(in *Input) { dropped(in); in.Child = Child{} }, func(in *Input) { in.Child = childState(foreignUnowned, image) }, true},
		{"status dropped, the namespace changed", status, dropped, func(in *Input) { in.Namespace = NamespaceTerminating }, false},
		{"status dropped, the CRD mended", status, dropped, func(in *Input) { in.CRD.Missing = nil }, false},
		{"finalizer dropped", drop, nothing, nothing, false},
		{"finalizer put back", drop, kept, nothing, true},
		{"finalizer put back, the object changed", drop, kept, func(in *Input) { in.Live.ResourceVersion = "live-2" }, false},
		{"finalizer dropped, the object gone", drop, func(in *Input) { in.Live = Live{} }, nothing, false},
		{"fields adopted", adopt, nothing, nothing, false},
		{"fields not adopted", adopt, clientSide, nothing, true},
		{"fields not adopted, the object changed", adopt, clientSide, func(in *Input) { in.Live.ResourceVersion = "live-2" }, false},
		{"deleted and gone", del, func(in *Input) { in.Live = Live{} }, nothing, false},
		{"deleted and held by finalizers", del, func(in *Input) { in.Live = liveState(terminating) }, nothing, false},
		{"deleted and made anew by somebody", del, func(in *Input) { in.Live.UID = newUID }, nothing, false},
		{"deleted and still there", del, nothing, nothing, true},
		{"deleted and still there, then changed", del, nothing, func(in *Input) { in.Live.ResourceVersion = "live-2" }, false},
		{"namespace created", Step{Kind: StepCreateNamespace}, nothing, nothing, false},
	} {
		in := convergedInput()
		in.CRD.Missing = []string{"status.conditions[].reason"}
		c.answer(in)
		var m Memory
		m.Sent(&c.step, in)
		c.since(in)
		out := m.Outcomes(in)
		if got := out.Of(c.step.Kind).Sent; got != c.want {
			t.Errorf("%s: sent %t, want %t", c.name, got, c.want)
		}
	}
}

// TestOwnWrites are no reason to send again what the server didn't take.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Live.Spec.Image, in.Live.Fields.ClientSide = mutatedImage, true
	var m Memory
	for i, step := range []Step{
		{Kind: StepDelete, UID: liveUID, ResourceVersion: "live-1"},
		{Kind: StepAdoptFields, ResourceVersion: "live-1"},
		{Kind: StepApply, Desired: in.Desired, ResourceVersion: "live-1"},
		{Kind: StepWriteStatus, ResourceVersion: "live-2", Status: statusOf(&in.Live, notReady, startNow)},
	} {
		if step.Kind == StepApply || step.Kind == StepWriteStatus {
			in.Live.ResourceVersion = "live-" + strconv.Itoa(i)
		}
		m.Sent(&step, in)
	}
	if out := m.Outcomes(in); !out[partSpec].Sent || !out[partOwnership].Sent || !out[partObject].Sent {
		t.Errorf("something would be sent again: %+v", out)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	var m Memory
	m.Refused(StepApply, &Failure{Class: Refused, Phrase: "not allowed", Err: errors.New("policy 7")})
	m.Refused(StepUpdateChild, &Failure{Class: Refused, Phrase: "too large"})
	out := m.Outcomes(in)
	if out[partSpec] != (Outcome{Refused: "not allowed", Detail: "policy 7"}) || out[partChild] != (Outcome{Refused: "too large", Detail: "too large"}) {
		t.Errorf("outcomes %+v", out)
	}
	m.Sent(&Step{Kind: StepDeleteChild}, in)
	if out := m.Outcomes(in); out[partChild].Refused != "" || out[partSpec].Refused == "" {
		t.Errorf("after a step on the child: %+v", out)
	}
	m.Retry()
	if out := m.Outcomes(in); out != (Outcomes{}) {
		t.Errorf("after another try: %+v", out)
	}
}
