package plan

import (
	"errors"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// TestStepEvents: what a step is told as. A step that follows from another isn't.
func TestStepEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Input)
		turn   Turn
		want   v1.EventReason
	}{
		{"a new object", func(in *Input) { in.Live, in.Child = Live{}, Child{} }, Turn{}, v1.EventCreated},
		{"a new version of the file", func(in *Input) { in.Desired.Image = newImage }, Turn{Applied: "before"}, v1.EventUpdated},
		{"a new version of the file after a restart", func(in *Input) { in.Desired.Image = newImage }, Turn{}, v1.EventUpdated},
		{"drift of what was applied", func(in *Input) { in.Live.Spec.Image = newImage }, Turn{Applied: "now"}, v1.EventDriftHealed},
		{"another's field after a restart", func(in *Input) {
			in.Live.Spec.Image, in.Live.Fields.Image, in.Live.Fields.ImageBy = newImage, false, "kubectl-edit"
		}, Turn{}, v1.EventDriftHealed},
		{"nobody's object", func(in *Input) { delete(in.Live.Labels, sourceLabel) }, Turn{}, v1.EventAdopted},
		{"kubectl's fields", func(in *Input) { in.Live.Fields.ClientSide = true }, Turn{Told: true}, v1.EventAdopted},
		{"the ConfigMap is gone", func(in *Input) { in.Child = Child{} }, Turn{}, v1.EventDriftHealed},
		{"the ConfigMap was changed", func(in *Input) { in.Child.Data["image"] = "drifted" }, Turn{}, v1.EventDriftHealed},
		{"the ConfigMap of a new spec", func(in *Input) { in.Child, in.Live.Status.ObservedGeneration = Child{}, 1 }, Turn{}, v1.EventCreated},
		{"the ConfigMap of a changed spec", func(in *Input) {
			in.Child.Data["image"] = "before"
			in.Live.Status.ObservedGeneration = 1
		}, Turn{}, v1.EventUpdated},
		{"the ConfigMap of an object that was told of", func(in *Input) {
			in.Child, in.Live.Status.ObservedGeneration = Child{}, 1
		}, Turn{Told: true}, ""},
		{"the status of something that was done", func(in *Input) { in.Live.Status.ObservedGeneration = 1 }, Turn{}, ""},
		{"the status that somebody has changed", func(in *Input) { in.Live.Status.Replicas = 99 }, Turn{Rested: true}, v1.EventDriftHealed},
		{"the status that something must wait", func(in *Input) {
			in.Dependencies = []Dependency{{Key: Key{Namespace: "crd-lab", Name: "db"}, Reason: "it doesn't exist yet"}}
		}, Turn{Rested: true}, ""},
		{"a file that is gone", func(in *Input) {
			in.Desired, in.Policy.Prune.Enabled = nil, true
			in.Removal = Removal{State: RemovalAllowed, Reason: "its file is gone"}
		}, Turn{}, v1.EventDeleted},
		{"the clean-up's first half", func(in *Input) {
			in.Live.DeletionTimestamp, in.Live.Finalizers = &longAgo, []string{v1.CleanupFinalizer}
		}, Turn{}, ""},
		{"the clean-up's second half", func(in *Input) {
			in.Child, in.Live.DeletionTimestamp, in.Live.Finalizers = Child{}, &longAgo, []string{v1.CleanupFinalizer}
		}, Turn{}, v1.EventCleanedUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			in.Desired.Digest = "now"
			c.change(in)
			d := Decide(in)
			if d.Verdict() {
				t.Fatalf("no step: %+v", d)
			}
			event := StepEvent(in, &d, &c.turn)
			if event.Reason != c.want {
				t.Errorf("%s, want %s: %s", event.Reason, c.want, event.Note)
			}
			if event.Reason != "" && (event.Reason.Warns() || event.Note == "" || in.Live.Exists() && event.UID != in.Live.UID) {
				t.Errorf("%+v", event)
			}
		})
	}
}

// TestVerdictEvents: failures have the reason of the status, by which the same one is
// known though its words change; what only waits isn't told.
func TestVerdictEvents(t *testing.T) {
	t.Parallel()
	refusedIn := func(words string) func(*Input) {
		return func(in *Input) {
			in.Desired.Image = newImage
			var m Memory
			m.Refused(StepApply, &Failure{Class: Refused, Phrase: "Invalid", Err: errors.New(words)})
			in.Outcomes = m.Outcomes(in)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   v1.EventReason
		same   string
	}{
		{"nothing", func(*Input) {}, "", ""},
		{"another's ConfigMap", func(in *Input) { in.Child.Owners = append(in.Child.Owners[:0], foreignOwner(true)) },
			v1.EventNameConflict, "A ConfigMap of the name checkout-desired belongs to someone else"},
		{"a fight", func(in *Input) { in.Child.Data["image"], in.Contested = "theirs", []string{"data.image"} },
			v1.EventFieldContested, "Somebody else keeps changing data.image"},
		{"refused", refusedIn("quota is 3"), v1.EventFailed, "The API server refused to apply the WebService: Invalid"},
		{"refused in other words", refusedIn("quota is 4"), v1.EventFailed, "The API server refused to apply the WebService: Invalid"},
		{"another source's", func(in *Input) { in.Live.Labels[sourceLabel] = "other" }, "", ""},
		{"something to wait for", func(in *Input) { in.Namespace = NamespaceTerminating }, "", ""},
		{"held", func(in *Input) {
			in.Desired, in.Policy.Prune.Enabled = nil, true
			in.Removal = Removal{State: RemovalHeld, Reason: "no file; held: 3 of 5 would be deleted"}
		}, v1.EventDeletionHeld, "no file; held:  of  would be deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(in)
			v := judge(in)
			d := v.Decision
			d.Held = in.removal().State == RemovalHeld
			event := VerdictEvent(in, &d)
			if event.Reason != c.want || event.Same != c.same {
				t.Errorf("%+v, want %s, %s", event, c.want, c.same)
			}
			if c.want != "" && (!event.Reason.Warns() || event.Note != d.Reason) {
				t.Errorf("note %q, want %q", event.Note, d.Reason)
			}
		})
	}
}
