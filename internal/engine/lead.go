package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// grace is how long steps that are under way may take to end when leading ends.
const grace = 5 * time.Second

// Lead works on keys until ctx ends: every key is looked at once, and then those
// to which something happens. It returns when all workers have ended.
func (e *Engine) Lead(ctx context.Context) {
	queue := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[plan.Key]{Name: "webservices"})
	e.open(queue)

	steps, cancel := outlast(ctx, grace)
	defer cancel()
	var workers sync.WaitGroup
	workers.Go(func() { e.prepare(ctx) })
	workers.Go(func() { e.askApprovals(ctx) })
	for range e.opts.Workers {
		workers.Go(func() { e.work(ctx, steps, queue) })
	}
	<-ctx.Done()
	queue.ShutDown()
	workers.Wait()
	e.release()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = nil
	e.tellChange()
}

// open makes every key runnable that there is. What was counted in an earlier time
// of leading, others may have overtaken since.
func (e *Engine) open(queue workqueue.TypedDelayingInterface[plan.Key]) {
	ready := e.cluster.State() == nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready, e.over = ready, false
	if e.ledger.approved != nil && len(e.ledger.going) > 0 {
		e.opts.Log.Warn("the approval counts no more: the lease was lost before all of it was done")
	}
	e.ledger, e.ruled = newLedger(e.opts.Policy.SourceName, &e.opts.Policy.Prune), ruled{}
	e.rescanning, e.tidy, e.answered, e.begun = false, true, "", false
	trigger := report.TriggerLease
	if e.tracker.Number() == 0 {
		trigger = report.TriggerStart
	}
	e.queue = queue
	e.observeTerm()
	e.tracker.Cut()
	e.tracker.Begin(string(trigger))
	e.begin(trigger)
	e.wakeAll(trigger)
	e.settle()
}

// outlast is a context that ends some time after ctx.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// work takes keys until the queue is shut. A turn that has begun when ctx ends
// goes on with steps; none begins after that: whoever leads next begins anew.
func (e *Engine) work(ctx, steps context.Context, queue workqueue.TypedDelayingInterface[plan.Key]) {
	var r run // one a worker: a turn in which nothing is to be done allocates nothing
	for {
		key, shut := queue.Get()
		if shut {
			return
		}
		if ctx.Err() == nil && e.due(key, queue) {
			e.turn(steps, &r, key)
		}
		queue.Done(key)
	}
}

// due says whether a key that came off the queue may act now. The queue has one
// entry a key, which may be left from a wait that ended long ago.
func (e *Engine) due(key plan.Key, queue workqueue.TypedDelayingInterface[plan.Key]) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	it := e.items[key]
	if it == nil {
		return false
	}
	if !it.ready {
		if it.due.IsZero() {
			return false
		}
		if wait := e.left(it); wait > 0 {
			queue.AddAfter(key, wait)
			return false
		}
		if e.tracker.Wake(key, string(report.TriggerRetry)) {
			e.begin(report.TriggerRetry)
		}
	}
	e.observeStart(it)
	it.ready, it.due = false, time.Time{}
	return true
}

// left is how long an object still has to wait: for its own time, and then for
// others that the server fails as well. The engine is locked.
func (e *Engine) left(it *item) time.Duration {
	now := time.Now()
	if wait := it.due.Sub(now); wait > 0 || !it.unanswered {
		return wait
	}
	wait := e.pace.wait(now, e.opts.Backoff)
	it.due = now.Add(wait)
	return wait
}

// prepare keeps the cluster in a state in which objects can be worked on.
// It looks whenever the cluster's state changes, and again after a failure.
func (e *Engine) prepare(ctx context.Context) {
	failures := 0
	var served <-chan time.Time
	for {
		done, err := e.cluster.Prepare(ctx)
		e.logPrepared(done)
		if err != nil && ctx.Err() != nil {
			return // we are stopping: that cut it off
		}
		if e.noteState(err) {
			served = time.After(crdLag)
		}
		var again <-chan time.Time
		if err == nil {
			failures = 0
		} else {
			failures++
			e.observeFailure(errorPrepare)
			again = time.After(e.opts.Backoff.delay(failures, rand.Float64()))
		}
		select {
		case <-ctx.Done():
			return
		case <-e.state:
		case <-again:
		case <-served:
			served = nil
			e.forget()
		}
	}
}

// crdLag is longer than an API server takes to act on a changed CRD. Until then
// it answers by the old one, so what it said meanwhile isn't held against it.
const crdLag = 5 * time.Second

// forget makes every key runnable, and what the server made of earlier writes is
// forgotten.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil {
		return
	}
	for _, it := range e.items {
		it.forget = true
	}
	e.wakeAll(report.TriggerCluster)
}

// noteState looks at the cluster's state. When it has just become good, or the
// CRD declares other fields than before, every key is worth a look. It says
// whether it was the latter.
func (e *Engine) noteState(prepared error) (redefined bool) {
	ready := e.cluster.State() == nil
	var look plan.Input
	e.cluster.Look(plan.Key{}, &look)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noteFatal(prepared)
	if prepared != nil && (e.prepared == nil || e.prepared.Error() != prepared.Error()) {
		e.opts.Log.Error("preparing the cluster failed", "err", prepared)
	}
	e.prepared = prepared
	if look.CRD.Ready {
		redefined = e.looked && !slices.Equal(e.missing, look.CRD.Missing)
		e.missing, e.looked = look.CRD.Missing, true
	}
	if ready && (!e.ready || redefined) && e.queue != nil {
		e.wakeAll(report.TriggerCluster)
	}
	if ready != e.ready {
		e.opts.Log.Debug("the cluster's state has changed", "ready", ready)
	}
	e.ready = ready
	e.tellChange()
	return redefined
}
