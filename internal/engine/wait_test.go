package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// TestWait: what ends the wait for convergence, and what doesn't.
func TestWait(t *testing.T) {
	const timeout = 2 * time.Minute
	good := func() *source.Snapshot { return snapshot(file(checkout, "a")) }
	spoilt := func(err error) *source.Snapshot {
		return &source.Snapshot{Err: err, Complete: errors.Is(err, source.ErrEmpty)}
	}
	failWith := func(err error) func(*rig) {
		return func(r *rig) { r.cluster.fail = (&tries{err: err}).fail }
	}
	for _, c := range []struct {
		name     string
		setup    func(*rig)
		snapshot *source.Snapshot
		after    time.Duration // how long the wait takes
		check    func(Outcome) bool
	}{
		{"converged", nil, good(), 0, func(o Outcome) bool { return o.Converged }},
		{"a problem", nil, func() *source.Snapshot {
			s := good()
			s.Problems = []source.Problem{{Path: "b.yaml", Message: "x"}}
			return s
		}(), 0, func(o Outcome) bool { return !o.Converged && o.Problems == 1 && o.Failing == 0 && o.Source == nil }},
		{"a missing source", nil, spoilt(source.ErrMissing), 0, func(o Outcome) bool { return errors.Is(o.Source, source.ErrMissing) }},
		{"an unreadable source", nil, spoilt(source.ErrUnreadable), 0, func(o Outcome) bool { return errors.Is(o.Source, source.ErrUnreadable) }},
		{"an empty source", nil, spoilt(source.ErrEmpty), 0, func(o Outcome) bool { return errors.Is(o.Source, source.ErrEmpty) && !o.Converged }},
		{"an empty source that may be", func(r *rig) { r.opts.AllowEmpty = true }, spoilt(source.ErrEmpty), 0,
			func(o Outcome) bool { return o.Converged && o.Source == nil }},
		{"an object that fails", failWith(unavailable(0)), good(), timeout, func(o Outcome) bool { return o.Failing == 1 && o.Waiting == 0 }},
		{"an object that is refused", failWith(&plan.Failure{Class: plan.Refused, Phrase: "Invalid"}), good(), timeout,
			func(o Outcome) bool { return o.Failing == 1 }},
		{"an object that waits", failWith(outdated()), good(), timeout, func(o Outcome) bool { return o.Waiting == 1 && o.Failing == 0 }},
		{"a source that can't be read whole yet", nil, &source.Snapshot{}, timeout, func(o Outcome) bool { return o.Source != nil }},
		{"a file that still changes", nil, func() *source.Snapshot {
			s := good()
			s.Unsettled = []string{"b.yaml"}
			return s
		}(), timeout, func(o Outcome) bool { return o.Source == nil && !o.Converged }},
		{"a source that hasn't been read", nil, nil, timeout, func(o Outcome) bool { return !o.Converged }},
		{"a cluster that is away", func(r *rig) { r.cluster.state = errAway }, good(), timeout,
			func(o Outcome) bool { return errors.Is(o.Cluster, errAway) }},
		{"a CRD that can't be installed", func(r *rig) { r.cluster.prepare = errAway }, good(), timeout,
			func(o Outcome) bool { return errors.Is(o.Cluster, errAway) }},
		{"a watch that is behind", func(r *rig) { r.cluster.behind = true }, good(), timeout, func(o Outcome) bool { return !o.Converged }},
		{"a lease that is held elsewhere", failWith(&plan.Failure{Class: plan.NotWriter, Err: errAway}), good(), 0,
			func(o Outcome) bool { return errors.Is(o.Fatal, errAway) && !o.Converged }},
		{"a lease held elsewhere when the CRD is to be installed", func(r *rig) {
			r.cluster.prepare = &plan.Failure{Class: plan.NotWriter, Err: errAway}
		}, good(), 0, func(o Outcome) bool { return errors.Is(o.Fatal, errAway) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				if c.setup != nil {
					c.setup(r)
				}
				stop := r.lead()
				if c.snapshot != nil {
					r.Take(c.snapshot)
				}
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				began := time.Now()
				o := r.Wait(ctx)
				took := time.Since(began)
				cancel()
				stop()
				if took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
				if !c.check(o) || o.Converged != (o.WaitingFor == "") {
					t.Errorf("outcome %+v", o)
				}
			})
		})
	}
}

// TestWaitGoesOn until what failed comes through.
func TestWaitGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: unavailable(0)}
		r.cluster.fail = failing.fail
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a")))
		time.AfterFunc(10*time.Second, func() { failing.become(nil) })
		if o := r.Wait(t.Context()); !o.Converged {
			t.Errorf("outcome %+v", o)
		}
	})
}

// TestGitAtWork: while a git command keeps the files from being read, nobody knows
// whether all is as they say.
func TestGitAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locked atomic.Bool
		r := newRig(t, func(o *Options) {
			o.SourceStatus = func() source.Status {
				return source.Status{Locked: locked.Load(), Waiting: "a git command is at work"}
			}
		})
		defer background(t, r.Publishing)()
		r.Take(snapshot(file(checkout, "a")))
		defer r.lead()()
		r.wantConverged()
		locked.Store(true)
		pass(reportLook)
		r.mu.Lock()
		last := r.reports[len(r.reports)-1]
		r.mu.Unlock()
		if last.Converged || last.WaitingFor != "a git command is at work" {
			t.Errorf("converged %t, waiting for %q", last.Converged, last.WaitingFor)
		}
		locked.Store(false)
		r.wantConverged()
	})
}
