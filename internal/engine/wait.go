package engine

import (
	"context"
	"errors"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/source"
)

// Outcome is what everything has come to.
type Outcome struct {
	Converged  bool
	WaitingFor string
	// Command is a part of WaitingFor: what a person types to allow what is held. ""
	// where there is none.
	Command string
	// Failing, Waiting, Held and Problems count objects and problems. Objects whose
	// turn is still to come count as waiting.
	Failing, Waiting, Held, Problems int
	// Unsettled: files of the source haven't come to rest.
	Unsettled bool
	// Source is what is wrong with the source as a whole, or nil.
	Source error
	// Cluster is what keeps the cluster from being worked on, or nil.
	Cluster error
	// Fatal is an error that only a person can end, or nil.
	Fatal error
}

// Wait waits until nothing can be done that hasn't been: every key is settled,
// and none waits or backs off. It ends earlier where waiting can't help: the
// source is missing, unreadable or empty, or another process holds the lease.
// After such an end nothing is made runnable any more, so that the last report says
// what Wait has returned. When ctx ends it returns how things stand then.
func (e *Engine) Wait(ctx context.Context) Outcome {
	for {
		state := e.cluster.State()
		e.mu.Lock()
		o, over := e.outcome(state)
		e.over = e.over || over
		changed := e.settled
		e.mu.Unlock()
		if over || ctx.Err() != nil {
			return o
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// outcome says how things stand, and whether that is how they stay. The engine
// is locked.
func (e *Engine) outcome(state error) (o Outcome, over bool) {
	f := e.facts(state)
	o = Outcome{Failing: f.Failing, Waiting: f.Waiting + f.Busy, Held: f.Held, Problems: f.Problems, Cluster: state, Fatal: e.fatal}
	o.Converged, o.WaitingFor = cycle.Judge(f)
	if digest := e.approvable(); digest != "" {
		o.Command = e.opts.Approvals.Command(digest)
	}
	if e.prepared != nil && o.Fatal == nil {
		o.Cluster = e.prepared
	}
	if s := e.snapshot; s != nil {
		o.Unsettled = len(s.Unsettled) > 0
	}
	if s := e.snapshot; s != nil && f.Source != "" && !o.Unsettled {
		o.Source = s.Err
		if o.Source == nil {
			o.Source = errors.New(f.Source)
		}
	}
	return o, e.ended(&o, &f)
}

// ended says whether things stay as they stand: nothing more can be done, or
// waiting can't help. What is held must have been looked for among the approvals,
// and what is approved must have been done. The engine is locked.
func (e *Engine) ended(o *Outcome, f *cycle.Facts) bool {
	atRest := o.Cluster == nil && e.ready && e.known && f.Settled && f.Busy == 0 && e.tracker.Number() > 0 && !e.unanswered()
	switch {
	case o.Fatal != nil:
		return true
	case errors.Is(o.Source, source.ErrEmpty):
		return atRest && e.ledger.approved == nil
	case o.Source != nil && isFinal(o.Source):
		return true
	}
	return atRest && f.Source == "" && f.Failing == 0 && f.Waiting == 0
}

// Ready is nil once the caches are filled and the source has been one to work with,
// and while the cluster can be worked on. Else it says what is amiss.
func (e *Engine) Ready() error {
	if err := e.cluster.State(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.usable {
		return nil
	}
	if e.snapshot != nil {
		if fault := e.sourceFault(); fault != "" {
			return errors.New(fault)
		}
	}
	return errors.New("the source hasn't been read whole yet")
}

func (e *Engine) converged(state error) bool {
	converged, _ := cycle.Judge(e.facts(state))
	return converged
}

// isFinal says whether a source with that error is one that waiting won't mend.
func isFinal(err error) bool {
	return errors.Is(err, source.ErrMissing) || errors.Is(err, source.ErrDangling) || errors.Is(err, source.ErrEmpty) ||
		errors.Is(err, source.ErrUnreadable) || errors.Is(err, source.ErrNotDirectory)
}
