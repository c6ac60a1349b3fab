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
	// Our own status write is no reason to send a spec again.
	if spec := &m.marks[partSpec]; step.Kind == StepWriteStatus && spec.version == step.ResourceVersion && after.Live.Exists() {
		spec.version = after.Live.ResourceVersion
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
		return after.Child.Exists() && ChildDrift(&after.Child, &after.Live) != nil
	case StepWriteStatus:
		said := readyOf(step.Status.Conditions)
		return statusDrift(&after.Live, readiness{
			ready: said.Status == metav1.ConditionTrue, reason: said.Reason, message: said.Message,
		}) != nil
	case StepDropFinalizer:
		return slices.Contains(after.Live.Finalizers, v1.CleanupFinalizer)
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
	case partFinalizers:
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
