package plan

import (
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Event is a fact about an object that people are told in the cluster itself.
type Event struct {
	Key Key
	// UID is the object's; "" where it doesn't exist, so that it couldn't be created.
	UID    types.UID
	Reason v1.EventReason
	// Note says the fact in a sentence, without a full stop.
	Note string
	// Same is what two events of one object and reason have in common that tell of one
	// fact, though the note has another number in it or the server's words; "" stands
	// for the note.
	Same string
}

// Turn is what of an object's turn an event depends on, beside the input.
type Turn struct {
	// Told: an event has told already that the object was written in this turn. What
	// follows for its ConfigMap is no fact of its own.
	Told bool
	// Applied is the digest of the file that was last applied; "" where that isn't
	// known any more.
	Applied string
	// Rested: nothing was written in this turn, and the turn before ended with
	// everything as it should be for the spec that the object still has.
	Rested bool
	// Removed is the ConfigMap that went before the finalizer; "" where there was none.
	Removed string
	// Made is why the ConfigMap was deleted in this turn to be made anew.
	Made string
}

// StepEvent is the event of a step that was done. Its Reason is "" where there is
// nothing to be told: a step that only follows from another isn't. The UID is that
// of the object before the step.
func StepEvent(in *Input, d *Decision, t *Turn) Event {
	event := Event{Key: in.Key, Reason: stepReason(in, d, t)}
	if in.Live.Exists() {
		event.UID = in.Live.UID
	}
	event.Note = past(d.Action) + " " + d.Target.Name(in.Key) + ": " + d.Reason
	switch {
	case event.Reason == "":
		return Event{}
	case event.Reason == v1.EventCleanedUp && t.Removed != "":
		event.Note = "removed " + t.Removed + " and took off the finalizer " + v1.CleanupFinalizer + ": " + deleted
	case event.Reason == v1.EventCleanedUp:
		event.Note = "took off the finalizer " + v1.CleanupFinalizer + ": " + d.Reason
	case d.Step.Kind == StepCreateChild && t.Made != "":
		event.Note = "made " + d.Target.Name(in.Key) + " anew: " + t.Made
	}
	return event
}

func past(a Action) string {
	switch a {
	case Create:
		return "created"
	case Delete:
		return "deleted"
	default:
		return "updated"
	}
}

func stepReason(in *Input, d *Decision, t *Turn) v1.EventReason {
	switch d.Step.Kind {
	case StepApply:
		return applyReason(in, d, t)
	case StepAdoptFields:
		return v1.EventAdopted
	case StepCreateChild, StepUpdateChild:
		return childReason(in, d, t)
	case StepWriteStatus:
		ready := readyOf(d.Step.Status.Conditions)
		if t.Rested && ready != nil && ready.Status == metav1.ConditionTrue {
			return v1.EventDriftHealed
		}
	case StepDropFinalizer:
		return v1.EventCleanedUp
	case StepDelete:
		return v1.EventDeleted
	}
	return ""
}

// applyReason tells a file that says something new from somebody who has changed
// the object. After a restart it isn't known what was applied last, but the field's
// other manager is.
func applyReason(in *Input, d *Decision, t *Turn) v1.EventReason {
	switch {
	case !in.Live.Exists():
		return v1.EventCreated
	case in.Live.BelongsTo(in.Policy.SourceName) != Ours:
		return v1.EventAdopted
	case t.Applied == d.Step.Desired.Digest, t.Applied == "" && byAnother(d.Changes):
		return v1.EventDriftHealed
	}
	return v1.EventUpdated
}

func byAnother(changes []Change) bool {
	for i := range changes {
		if changes[i].By != "" {
			return true
		}
	}
	return false
}

// childReason: where the status says that the spec was dealt with, somebody has
// changed the ConfigMap since.
func childReason(in *Input, d *Decision, t *Turn) v1.EventReason {
	switch ready := readyOf(in.Live.Status.Conditions); {
	case t.Told:
		return ""
	case ready != nil && ready.Reason == v1.ReasonReconciled && in.Live.Status.ObservedGeneration == in.Live.Generation:
		return v1.EventDriftHealed
	case d.Action == Create:
		return v1.EventCreated
	}
	return v1.EventUpdated
}

// VerdictEvent is the event of a verdict. Its Reason is "" where there is nothing to
// be told. Failures and holds are told each time: who counts them knows when that is
// too often. Another source's object is left to that source.
func VerdictEvent(in *Input, d *Decision) Event {
	event := Event{Key: in.Key, Note: d.Reason}
	if in.Live.Exists() {
		event.UID = in.Live.UID
	}
	switch {
	case d.Error:
		ready := judge(in).ready
		event.Reason, event.Same = failureReason(in, ready), ready.message
	case d.Held:
		event.Reason, event.Note = v1.EventDeletionHeld, in.removal().Reason
		event.Same = withoutNumbers(event.Note)
	}
	if event.Reason == "" {
		return Event{}
	}
	return event
}

func failureReason(in *Input, r readiness) v1.EventReason {
	switch {
	case r.reason == v1.ReasonContested:
		return v1.EventFieldContested
	case r.reason == v1.ReasonNameConflict, r.reason == v1.ReasonNameTooLong, r.reason == v1.ReasonNotAccepted:
		return v1.EventReason(r.reason)
	case in.Live.BelongsTo(in.Policy.SourceName) == Anothers && !in.forsaken():
		return ""
	}
	return v1.EventFailed
}

// FailureEvent is the event of a step that failed by itself. Its Reason is "" where
// the object isn't what failed.
func FailureEvent(in *Input, d *Decision, f *Failure) Event {
	if f.Class != Unavailable || d.Step.Kind == StepNone {
		return Event{}
	}
	event := Event{Key: in.Key, Reason: v1.EventFailed, Note: "failed to " + d.Step.Kind.String() + ": " + f.Error()}
	if in.Live.Exists() {
		event.UID = in.Live.UID
	}
	event.Same = d.Step.Kind.String() + ": " + f.Phrase
	return event
}

// withoutNumbers is the text of a hold, whose numbers change as others' do.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}
