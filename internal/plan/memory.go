package plan

import "k8s.io/apimachinery/pkg/types"

// Memory remembers what was sent for one object and what came of it, so that a
// write whose answer wasn't what was asked for isn't repeated until something
// changes. The zero value remembers nothing.
type Memory struct {
	outcomes Outcomes
	marks    [parts]mark
}

// mark is what a write left behind. While all of it stays as it is, sending the
// same again would have the same answer.
type mark struct {
	digest     string
	uid        types.UID
	generation int64
	version    string
}

// Retry forgets refusals: they are worth another try now.
func (m *Memory) Retry() { m.outcomes = Outcomes{} }

// Refused notes that the server won't have a step.
func (m *Memory) Refused(k StepKind, f *Failure) {
	m.outcomes[k.part()] = Outcome{Refused: f.Phrase, Detail: f.Error()}
}

// Sent notes a step that the server accepted; after is what is known then.
func (m *Memory) Sent(step *Step, after *Input) {
	part := step.Kind.part()
	m.outcomes[part] = Outcome{}
	switch step.Kind {
	case StepDeleteChild:
		// What follows is another object.
		m.marks[part] = mark{}
		return
	case StepWriteStatus:
		// Our own status write is no reason to send a spec again.
		if spec := &m.marks[partSpec]; spec.version == step.ResourceVersion && after.Live.Exists() {
			spec.version = after.Live.ResourceVersion
		}
	}
	m.marks[part] = markOf(part, after)
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
		return mark{uid: in.Live.UID, generation: in.Live.Generation, version: in.Child.ResourceVersion}
	case partStatus:
		if !in.Live.Exists() {
			return mark{}
		}
		return mark{uid: in.Live.UID, version: in.Live.ResourceVersion}
	default:
		return mark{}
	}
}
