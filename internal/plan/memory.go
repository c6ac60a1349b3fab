package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Memory remembers what was sent for one object and what came of it, so that a
// write whose answer wasn't what was asked for isn't repeated until something
// changes. The zero value remembers nothing.
type Memory struct {
	outcomes Outcomes
	marks    [parts]mark
}

// mark is what a write left behind whose answer wasn't what was asked for. While
// all of it stays as it is, sending the same again would have the same answer.
type mark struct {
	digest     string
	uid        types.UID
	generation int64
	version    string
	// deleted: the object was being deleted. Its child is then asked for no more.
	deleted bool
	// What a status speaks of beside the object.
	child     string
	namespace NamespaceState
	missing   int
}

// Retry forgets refusals: they are worth another try now.
func (m *Memory) Retry() { m.outcomes = Outcomes{} }

// Refused notes that the server won't have a step.
func (m *Memory) Refused(k StepKind, f *Failure) {
	m.outcomes[k.part()] = Outcome{Refused: f.Phrase, Detail: f.Error()}
}

// Sent notes a step that the server accepted; after is what is known then. Only
// an answer that differs from what was asked for is worth remembering.
func (m *Memory) Sent(step *Step, after *Input) {
	part := step.Kind.part()
	m.outcomes[part], m.marks[part] = Outcome{}, mark{}
	if differs(step, after) {
		m.marks[part] = markOf(part, after)
	}
	m.follow(step, after)
}

// follow keeps the marks of the WebService where its version is another one only
// by a write of ours: our own status is no reason to send anything again, nor is
// a spec one to adopt fields again.
func (m *Memory) follow(step *Step, after *Input) {
	if step.Kind != StepWriteStatus && step.Kind != StepApply || !after.Live.Exists() {
		return
	}
	for _, part := range [...]int{partSpec, partOwnership, partObject} {
		if mk := &m.marks[part]; part != step.Kind.part() && mk.version == step.ResourceVersion && *mk != (mark{}) {
			mk.version = after.Live.ResourceVersion
		}
	}
}

// differs says whether the answer isn't what step asked for.
func differs(step *Step, after *Input) bool {
	if !after.Live.Exists() {
		return false
	}
	switch step.Kind {
	case StepApply:
		return Drift(step.Desired, &after.Live) != nil
	case StepCreateChild, StepUpdateChild:
		return after.Child.Exists() && step.Child.speaksOf(&after.Live) && ChildDrift(&after.Child, &after.Live) != nil
	case StepWriteStatus:
		said := readyOf(step.Status.Conditions)
		return statusDrift(&after.Live, readiness{
			ready: said.Status == metav1.ConditionTrue, reason: said.Reason, message: said.Message,
		}) != nil
	case StepDropFinalizer:
		return slices.Contains(after.Live.Finalizers, v1.CleanupFinalizer)
	case StepAdoptFields:
		return after.Live.Fields.ClientSide
	case StepDelete:
		return after.Live.UID == step.UID && !after.Live.Terminating()
	default:
		return false
	}
}

// Outcomes is what came of earlier steps, as far as it still holds for in.
func (m *Memory) Outcomes(in *Input) Outcomes {
	out := m.outcomes
	for part := range m.marks {
		if mk := m.marks[part]; mk != (mark{}) && mk == markOf(part, in) {
			out[part].Sent = true
		}
	}
	return out
}

func markOf(part int, in *Input) mark {
	switch part {
	case partSpec:
		if !in.Live.Exists() || in.Desired == nil {
			return mark{}
		}
		return mark{digest: in.Desired.Digest, uid: in.Live.UID, version: in.Live.ResourceVersion}
	case partChild:
		if !in.Live.Exists() || !in.Child.Exists() {
			return mark{}
		}
		return mark{uid: in.Live.UID, generation: in.Live.Generation, version: in.Child.ResourceVersion, deleted: in.Live.Terminating()}
	case partStatus:
		if !in.Live.Exists() {
			return mark{}
		}
		return mark{
			uid: in.Live.UID, version: in.Live.ResourceVersion,
			child: ownChild(in), namespace: in.Namespace, missing: len(in.CRD.Missing),
		}
	case partFinalizers, partOwnership, partObject:
		if !in.Live.Exists() {
			return mark{}
		}
		return mark{uid: in.Live.UID, version: in.Live.ResourceVersion}
	default:
		return mark{}
	}
}

// ownChild is the version of the child. Somebody else's isn't always seen, so it
// doesn't count.
func ownChild(in *Input) string {
	if ClaimOf(&in.Child, in.Key.Name, in.Live.UID) == ClaimForeign {
		return ""
	}
	return in.Child.ResourceVersion
}
