package plan

import (
	"slices"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// judgeSpec compares the live object with its file; the verdict has no action
// where applying would change nothing.
//
// What kubectl's client-side apply owns is made ours before the file is applied: a
// field that the file drops would stay otherwise, held by a manager that nobody
// uses any more. Where that can't be done, the file is applied all the same.
func judgeSpec(in *Input, d *Desired) verdict {
	var spec verdict
	if changes := Drift(d, &in.Live); changes != nil {
		if spec = update(in, changes); spec.Verdict() {
			return spec
		}
	}
	adopted := adoptFields(in)
	if spec.Action != "" && adopted.Verdict() {
		return spec
	}
	return adopted
}

func adoptFields(in *Input) verdict {
	if !in.Live.Fields.ClientSide {
		return verdict{}
	}
	step := Step{Kind: StepAdoptFields, UID: in.Live.UID, ResourceVersion: in.Live.ResourceVersion}
	return attempt(in, step, Update, WebService, "kubectl's client-side apply owns fields of it, and the file is to own them", nil)
}

func create(in *Input) verdict {
	if in.CreationHeld {
		return heldBack(WebService, readiness{})
	}
	step := Step{Kind: StepApply, Desired: in.file()}
	if lacks := lacking(in); len(lacks) > 0 {
		return failing(WebService, undeclared(lacks), readiness{})
	}
	return attempt(in, step, Create, WebService, "the file asks for it and the cluster doesn't have it", nil)
}

// heldBack: deletions are held for their number, which nothing new may make
// look smaller.
func heldBack(on Target, r readiness) verdict { return wait(on, "waits for held deletions", r) }

// heldFromTaking: a file asks for an object that is nobody's, while deletions are
// held. Taking it over would make their share smaller, as creating one would.
func heldFromTaking(in *Input, belongs Belongs) bool {
	return in.CreationHeld && belongs == Nobodys && in.file() != nil
}

// notTaken is the verdict on an object that isn't taken over yet. It is looked after
// as it is, if such objects are.
func notTaken(in *Input, belongs Belongs) verdict {
	if !in.Policy.Unlabelled {
		return heldBack(WebService, readiness{})
	}
	child := judgeDependencies(in)
	if child.Action == "" {
		child = judgeChild(in, belongs)
	}
	if !child.Verdict() || child.Error {
		return child
	}
	return heldBack(WebService, child.ready)
}

// lacking lists the fields that the file states and the CRD doesn't declare. The server
// wouldn't take a file that has one.
func lacking(in *Input) []string {
	if len(in.CRD.Missing) == 0 {
		return nil
	}
	d := in.file()
	states := map[string]bool{"spec.image": true, "spec.replicas": d.Replicas != nil, "spec.tier": d.Tier != nil}
	return slices.DeleteFunc(slices.Clone(in.CRD.Missing), func(path string) bool { return !states[path] })
}

func update(in *Input, changes []Change) verdict {
	if lacks := lacking(in); len(lacks) > 0 {
		return failing(WebService, undeclared(lacks), readiness{
			reason: v1.ReasonFailed, message: "The CRD doesn't declare " + strings.Join(lacks, ", "),
		})
	}
	step := Step{
		Kind:            StepApply,
		Desired:         in.file(),
		UID:             in.Live.UID,
		ResourceVersion: in.Live.ResourceVersion,
	}
	return attempt(in, step, Update, WebService, sentence(changes), changes)
}
