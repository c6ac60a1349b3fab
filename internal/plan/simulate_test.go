package plan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// TestSimulatedWalk takes every combination to its verdict by simulated steps. The
// steps, the verdict and what is there in the end must be those of the model of the
// API server that the other walks are on.
func TestSimulatedWalk(t *testing.T) {
	t.Parallel()
	forAll(t, func(t *testing.T, s situation, start Input) []StepKind {
		w, steps := walk(t, s, start)
		in, d, taken := simulatedWalk(t, startAt(s, start), s.extra == plain && s.namespace == nsActive)
		if !slices.Equal(taken, steps) {
			t.Errorf("the steps %v, and by the model %v", taken, steps)
		}
		if want := w.decide(); d.Action != want.Action || d.Reason != want.Reason || d.Target != want.Target || d.Error != want.Error {
			t.Errorf("the end is %s %q, and by the model %s %q", d.Action, d.Reason, want.Action, want.Reason)
		}
		wantSameEnd(t, &in, &w.in)
		if t.Failed() {
			t.Logf("the combination %+v", s)
		}
		return nil // a server that refuses or changes something isn't simulated
	})
}

// startAt is what the walk of s begins with.
func startAt(s situation, start Input) Input {
	state, create := namespaceState(s.namespace)
	start.Namespace = state
	start.Policy = &Policy{SourceName: sourceName, Unlabelled: !s.onlyLabelled, CreateNamespaces: create}
	extra(&start, s.extra)
	start.CRD = CRD{Ready: !s.crdAway, Reason: "the CRD isn't there"}
	return start
}

// simulatedWalk takes simulated steps until there is a verdict. thorough: it makes
// sure that they write to nothing that is shared.
func simulatedWalk(t *testing.T, in Input, thorough bool) (end Input, d Decision, steps []StepKind) {
	for d = Decide(&in); !d.Verdict() && len(steps) < maxSteps; d = Decide(&in) {
		steps = append(steps, d.Step.Kind)
		before := ""
		if thorough {
			before = deepCopy(t, &in)
		}
		after := Simulate(&in, &d.Step, strconv.Itoa(len(steps)))
		if thorough && deepCopy(t, &in) != before {
			t.Errorf("to simulate %s wrote to what is shared", d.Step.Kind)
		}
		in = after
	}
	return in, d, steps
}

// deepCopy is all that the objects in the input hold, as text.
func deepCopy(t *testing.T, in *Input) string {
	text, err := json.Marshal([]any{in.Live.WebService, in.Live.Fields, in.Child})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantSameEnd(t *testing.T, got, want *Input) {
	if got.Live.Exists() != want.Live.Exists() {
		t.Errorf("the object exists: %t, and by the model %t", got.Live.Exists(), want.Live.Exists())
	}
	if !got.Live.Exists() || !want.Live.Exists() {
		return
	}
	g, w := got.Live.WebService, want.Live.WebService
	if !reflect.DeepEqual(g.Spec, w.Spec) || !sameMaps(g.Labels, w.Labels) || !sameMaps(g.Annotations, w.Annotations) ||
		!slices.Equal(g.Finalizers, w.Finalizers) || got.Live.Terminating() != want.Live.Terminating() {
		t.Errorf("the object is\n%+v\nand by the model\n%+v", g, w)
	}
	if !reflect.DeepEqual(readyOf(g.Status.Conditions), readyOf(w.Status.Conditions)) && !want.Live.Terminating() {
		t.Errorf("the status is\n%+v\nand by the model\n%+v", g.Status, w.Status)
	}
	if got.Child.Exists() != want.Child.Exists() || !sameMaps(got.Child.Data, want.Child.Data) || !sameMaps(got.Child.Labels, want.Child.Labels) {
		t.Errorf("the ConfigMap is\n%+v\nand by the model\n%+v", got.Child, want.Child)
	}
}

func sameMaps(a, b map[string]string) bool { return len(a) == len(b) && contains(a, b) }

// What an apply takes by force, and what it leaves to others.
func TestSimulatedOwnership(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Live.Fields = Fields{
		ImageBy: "a", ReplicasBy: "b", TierBy: "c",
		Labels:   []string{"ours", "shared"},
		LabelsBy: map[string]string{"shared": "d", "theirs": "d", "taken": "d"},
	}
	in.Live.Labels = map[string]string{"ours": "1", "shared": "1", "theirs": "1", "taken": "1"}
	in.Desired.Image, in.Desired.Labels = newImage, map[string]string{"taken": "2", "theirs": "1"}
	after := Simulate(in, &Step{Kind: StepApply, Desired: in.Desired}, "1")
	want := Fields{
		Image: true, Replicas: true, ReplicasBy: "b", TierBy: "c",
		Labels:   []string{"taken", "theirs"},
		LabelsBy: map[string]string{"shared": "d", "theirs": "d"},
		// Nobody has annotations or finalizers.
	}
	if !reflect.DeepEqual(after.Live.Fields, want) {
		t.Errorf("fields\n%+v, want\n%+v", after.Live.Fields, want)
	}
	if labels := map[string]string{"shared": "1", "theirs": "1", "taken": "2"}; !sameMaps(after.Live.Labels, labels) {
		t.Errorf("labels %v, want %v", after.Live.Labels, labels)
	}
}

// The collector takes the ConfigMap with its last owner.
func TestSimulatedCollection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		child int
		stays bool
	}{
		{"owned by the object alone", childInSync, false},
		{"shared with another owner", childStaleShared, true},
		{"owned by nobody", childUnowned, true},
		{"not there", noChild, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			in.Child = childState(c.child, image)
			if c.child == childStaleShared {
				in.Child.Owners[0].UID = liveUID
			}
			after := Simulate(in, &Step{Kind: StepDelete}, "1")
			if after.Live.Exists() || after.Child.Exists() != c.stays {
				t.Errorf("the object exists: %t, its ConfigMap: %t", after.Live.Exists(), after.Child.Exists())
			}
		})
	}
}

// Versions and uids that no server has given are told from real ones.
func TestSimulatedIDs(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Live, in.Child = Live{}, Child{}
	d := Decide(in)
	after := Simulate(in, &d.Step, "7")
	if ws := after.Live; !IsSimulated(ws.ResourceVersion) || !IsSimulated(string(ws.UID)) || ws.Generation != 1 {
		t.Errorf("version %q, uid %q, generation %d", ws.ResourceVersion, ws.UID, ws.Generation)
	}
	if IsSimulated("7") || IsSimulated("") || IsSimulated(string(liveUID)) {
		t.Error("a real one counts as simulated")
	}
}
