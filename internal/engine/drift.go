package engine

import "labhub.io/webservice-controller/internal/plan"

// good is how an object stood when it was last seen to be all that it should be. It is
// what tells a write that heals from one that follows. The zero value is unknown:
// before the first time, and what others did while we didn't lead.
type good struct {
	// file is the digest of its file, "" where it had none.
	file string
	spec generation
}

// note remembers that nothing is left to be done for the object.
func (g *good) note(in *plan.Input, d *plan.Decision) {
	*g = good{}
	if d.Suspended || !in.Live.Exists() {
		return
	}
	g.spec = generation{in.Live.UID, in.Live.Generation}
	if in.Desired != nil && !in.Broken {
		g.file = in.Desired.Digest
	}
}

// undone: what the step writes was there already, and nothing asks for it that wasn't
// there then: neither the file nor, for the ConfigMap, the object has changed since.
// Status isn't looked at: what it says changes with others.
func (g *good) undone(r *run, d *plan.Decision) bool {
	switch d.Step.Kind {
	case plan.StepApply:
		return g.file != "" && g.file == d.Step.Desired.Digest
	case plan.StepCreateChild, plan.StepUpdateChild:
		return g.spec == generation{r.in.Live.UID, r.in.Live.Generation}
	}
	return false
}
