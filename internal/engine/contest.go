package engine

import (
	"slices"
	"strings"
	"time"

	"labhub.io/webservice-controller/internal/plan"
)

// noteContest counts the fields that a write takes back from somebody else: those
// that we have written before, when there was the same to be written. The engine
// is locked.
func (e *Engine) noteContest(r *run, d *plan.Decision) {
	it, again := r.it, false
	switch d.Step.Kind {
	case plan.StepApply:
		again = it.applied == d.Step.Desired.Digest
		it.applied = d.Step.Desired.Digest
	case plan.StepCreateChild, plan.StepUpdateChild:
		now := generation{r.in.Live.UID, r.in.Live.Generation}
		again = it.childOf == now
		it.childOf = now
	}
	if !again || len(d.Changes) == 0 {
		return
	}
	if it.contests == nil {
		it.contests = &plan.Contests{}
	}
	it.contests.Took(d.Changes, r.in.Now)
	it.fought, it.contested = r.in.Now, r.in.Live.UID
}

// contestOver is longer than what was fought for counts.
const contestOver = 2 * time.Minute

// fillContested says which fields of the object are fought for. What is over is
// forgotten, and so is what was about an earlier object of the name: while its end
// isn't known yet, the collector takes away every ConfigMap that we make for it.
// The engine is locked.
func (e *Engine) fillContested(r *run) {
	it := r.it
	if it.contests == nil {
		return
	}
	if r.in.Live.Exists() && r.in.Live.UID != it.contested {
		it.contests = nil
		return
	}
	r.in.Contested = e.unlessNew(r, it.contests.Paths(r.in.Now))
	if r.in.Contested == nil && r.in.Now.Sub(it.fought) > contestOver {
		it.contests = nil
	}
}

// unlessNew leaves out the fields whose write isn't one of taking back: what a new
// file version says is written at once, and so is what follows from it for the
// ConfigMap.
func (e *Engine) unlessNew(r *run, paths []string) []string {
	it := r.it
	switch {
	case paths == nil:
		return nil
	case r.in.Desired != nil && !r.in.Broken && r.in.Desired.Digest != it.applied:
		return nil
	case r.in.Live.Exists() && it.childOf != generation{r.in.Live.UID, r.in.Live.Generation}:
		return slices.DeleteFunc(paths, ofConfigMap)
	}
	return paths
}

// ofConfigMap says whether the path of a change is one of the ConfigMap's.
func ofConfigMap(path string) bool { return path == "configmap" || strings.HasPrefix(path, "data.") }

// contestLeft is how long a field that is contested isn't written; 0 where none is.
func (e *Engine) contestLeft(r *run) time.Duration {
	if len(r.in.Contested) == 0 {
		return 0
	}
	return r.it.contests.Free(time.Now())
}
