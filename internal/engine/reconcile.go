package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"labhub.io/webservice-controller/internal/plan"
)

// maxSteps is more than any object needs: one that is cleaned up and comes back.
const maxSteps = 10

// reconcile brings one object as far as it can be brought now.
func (e *Engine) reconcile(ctx context.Context, run *run, key plan.Key) {
	e.start(run, key)
	for range maxSteps {
		in, err := e.gather(run)
		if err != nil {
			e.unready(run, err)
			return
		}
		decision := &run.decision
		*decision = plan.Decide(in)
		if decision.Verdict() {
			e.rest(run, decision)
			e.witness(run)
			return
		}
		e.witness(run)
		if decision.Step.Kind == run.last {
			e.fail(run, decision.Target, unseen())
			return
		}
		if err := e.act(ctx, run, decision); err != nil {
			e.fail(run, decision.Target, err)
			return
		}
	}
	e.fail(run, plan.WebService, &plan.Failure{Class: plan.Unavailable, Err: fmt.Errorf("the object didn't come to rest in %d steps", maxSteps)})
}

// run is one turn of a key.
type run struct {
	key      plan.Key
	it       *item
	in       plan.Input
	decision plan.Decision
	// found is a ConfigMap that the cluster's mirror doesn't know.
	found plan.Child
	// told: an event tells of what was written in this turn; made is why the ConfigMap
	// was deleted in it to be made anew.
	told bool
	made string
	// last is the step that was taken last in this turn.
	last plan.StepKind
	// wrote is the action of the first write of this turn; "" where there was none.
	wrote plan.Action
	// class is the kind of error in which the turn ended, if it did.
	class string
	// gone: the object neither exists nor is asked for any more.
	gone bool
	// dependencies are kept from turn to turn for their memory.
	dependencies []plan.Dependency
}

// unseen is the failure of a turn in which a step was taken and is asked for
// again: its effect doesn't show, or was undone at once. Taking it again and
// again would not end.
func unseen() *plan.Failure {
	return &plan.Failure{Class: plan.NotReady, Phrase: "what was written doesn't show in the cluster yet"}
}

func (e *Engine) start(r *run, key plan.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*r = run{key: key, it: e.items[key], dependencies: r.dependencies[:0]}
	if r.it.forget {
		r.it.memory, r.it.forget = nil, false
	}
	if r.it.memory != nil {
		r.it.memory.Retry()
	}
}

// errUnseen: the cluster has become good just now. When that has been seen, every
// key is made runnable; a turn that was faster would only be taken twice.
var errUnseen = errors.New("the cluster to be looked at")

// gather looks at both sides. An error says why nothing can be decided now.
func (e *Engine) gather(r *run) (*plan.Input, error) {
	in := &r.in
	ready := e.fill(r)
	if err := e.cluster.State(); err != nil {
		return nil, err
	}
	if !ready {
		return nil, errUnseen
	}
	if r.found.Exists() && !in.Child.Exists() {
		in.Child = r.found
	}
	if r.it.memory != nil {
		in.Outcomes = r.it.memory.Outcomes(in)
	}
	return in, nil
}

// fill fills in what is known of the object, what the files say of it, and what
// that comes to together with all other objects. It says whether the cluster is
// known to be good.
func (e *Engine) fill(r *run) (ready bool) {
	in := &r.in
	e.mu.Lock()
	defer e.mu.Unlock()
	want := e.desired[r.key]
	*in = plan.Input{
		Key: r.key, Policy: &e.opts.Policy, Unread: e.snapshot == nil, Known: e.known,
		Desired: want.object, Broken: want.broken, Now: time.Now(),
	}
	e.cluster.Look(r.key, in)
	in.Overdue = in.Live.Overdue(in.Now)
	e.count(r.key, &in.Live)
	if !e.ready {
		return false
	}
	e.judgeRemoval(in, r.it)
	e.fillDependencies(r)
	e.fillContested(r)
	e.noteBefore(r)
	return true
}

// act does a step. A refusal isn't an error here: the next decision knows of it.
func (e *Engine) act(ctx context.Context, r *run, d *plan.Decision) error {
	d.Step.Look = r.it.met && d.Step.Kind == plan.StepCreateChild
	answer, err := e.cluster.Do(ctx, r.key, &d.Step)
	if r.it.memory == nil {
		r.it.memory = &plan.Memory{}
	}
	var f *plan.Failure
	if errors.As(err, &f); err == nil || f != nil && f.Class == plan.Refused {
		e.relieved(r.it)
	}
	switch {
	case errors.As(err, &f) && f.Class == plan.NotReady && d.Step.Kind == plan.StepDelete && e.takenOver():
		// Where the lease is taken only for a write, that it was another's is known
		// only now. The guard knows what that means.
		return nil
	case errors.As(err, &f) && f.Class == plan.Refused:
		r.it.memory.Refused(d.Step.Kind, f)
		r.class = errorRefused
		e.opts.Log.Warn("refused", "object", r.key.String(), "step", d.Step.Kind.String(), "err", f)
		return nil
	case err != nil:
		return err
	case answer.Found:
		r.found, r.it.met = answer.Child, d.Step.Kind == plan.StepCreateChild
		return nil
	}
	if d.Step.Kind == plan.StepCreateChild {
		r.it.met = false
	}
	e.tellStep(r, d, &answer)
	r.found, r.last = plan.Child{}, d.Step.Kind
	follows := !e.noteWrite(r, d)
	after := plan.Input{Key: r.key, Desired: r.in.Desired}
	e.cluster.Look(r.key, &after)
	after.Take(&answer)
	r.it.memory.Sent(&d.Step, &after)
	if !answer.Unsent {
		e.logStep(r, d, follows)
	}
	return nil
}

// relieved notes that a step got an answer, be it a refusal.
func (e *Engine) relieved(it *item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if it.unanswered {
		it.unanswered = false
		e.pace.answered()
	}
}

// witness tells of the last decision of the turn, and of the object's end where that
// was it.
func (e *Engine) witness(r *run) {
	if e.opts.Evidence == nil {
		return
	}
	e.opts.Evidence.Decided(&r.in, &r.decision)
	if r.gone {
		e.opts.Evidence.Gone(r.key)
	}
}

// noteBefore keeps the versions that the object had at its first turn of the cycle.
// The engine is locked.
func (e *Engine) noteBefore(r *run) {
	if number := e.current.number; r.it.cycle != number {
		r.it.cycle, r.it.wrote, r.it.before = number, false, versionsOf(&r.in)
	}
}

// noteWrite keeps the first write to the object in the cycle, or that it was
// deleted: after that, what came before is of no interest. It says whether the write
// was the first.
func (e *Engine) noteWrite(r *run, d *plan.Decision) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ledger.touch(r.key)
	e.noteContest(r, d)
	first = !r.it.wrote
	if r.wrote == "" {
		r.wrote = d.Action
	}
	e.noteStep(r, d)
	if d.Target != plan.Namespace && (!r.it.wrote || d.Step.Kind == plan.StepDelete) {
		r.it.wrote, r.it.first = true, written{action: d.Action, reason: d.Reason, target: d.Target}
	}
	return first
}
