package engine

import (
	"context"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// Observer measures what the engine does. Its methods are called from any
// goroutine, some of them while the engine is locked: they return at once, don't
// call the engine, and allocate nothing. What a report says isn't told here.
type Observer interface {
	// Waited: an object has its turn, that long after something happened to it, or
	// after the time for which it had to wait was over.
	Waited(d time.Duration)
	// Reconciled: a turn has ended that took so long, requests included. The action is
	// that of the verdict; where that is noop, the first write's, if there was one.
	Reconciled(action report.Action, took time.Duration)
	// Failed: a turn has ended with an error, or the cluster couldn't be prepared.
	// The class is one of ErrorClasses.
	Failed(class string)
	// Healed: a write has put back what somebody else had changed. The target is one
	// of HealedTargets.
	Healed(target string)
	// Cycled: a cycle that took so long has ended.
	Cycled(took time.Duration)
	// Done: an object has become what its file says, that long after the first hint
	// of the change of the file was noticed.
	Done(sinceChange time.Duration)
}

// Classes of errors.
const (
	// The API server gave no answer, or one that says to come again.
	errorUnavailable = "unavailable"
	// The API server refused a write.
	errorRefused = "refused"
	// We aren't allowed to look at the cluster.
	errorDenied = "denied"
	// Something about the object stands in the way, such as another's ConfigMap of
	// the child's name.
	errorObject = "object"
	// The CRD couldn't be prepared.
	errorPrepare = "prepare"
)

// ErrorClasses are all classes of errors that an Observer is told of.
func ErrorClasses() []string {
	return []string{errorUnavailable, errorRefused, errorDenied, errorObject, errorPrepare}
}

const (
	healedWebService = "webservice"
	healedConfigMap  = "configmap"
)

// HealedTargets are all targets of healing that an Observer is told of.
func HealedTargets() []string { return []string{healedWebService, healedConfigMap} }

// measured is what an object's account keeps to be measured.
type measured struct {
	// since is when the object was made runnable; it counts while it is ready.
	since time.Time
	// noticed is when the change of the file was noticed that the object doesn't
	// follow yet; zero where it does.
	noticed time.Time
}

// wakened notes that the object waits for its turn, unless it does already.
func (it *item) wakened() {
	if !it.ready {
		it.ready, it.measured.since = true, time.Now()
	}
}

// waitsSince is since when the object waits for its turn, at the given time; zero
// where it doesn't.
func (it *item) waitsSince(now time.Time) time.Time {
	switch {
	case it.ready:
		return it.measured.since
	case !it.due.IsZero() && !now.Before(it.due):
		return it.due
	}
	return time.Time{}
}

// Queue says how many objects wait for their turn, and for how long the one does
// that has waited longest. While we don't lead, none does.
func (e *Engine) Queue() (depth int, oldest time.Duration) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil {
		return 0, 0
	}
	for _, it := range e.items {
		if since := it.waitsSince(now); !since.IsZero() {
			depth++
			oldest = max(oldest, now.Sub(since))
		}
	}
	return depth, oldest
}

// observeTerm begins a time of leading: what happened in the time before isn't
// measured across it, nor is it known how others left the objects. The engine is locked.
func (e *Engine) observeTerm() {
	for _, it := range e.items {
		it.measured, it.good = measured{since: time.Now()}, good{}
	}
}

// observeStart tells that the object has its turn now. The engine is locked.
func (e *Engine) observeStart(it *item) {
	if e.opts.Observer == nil {
		return
	}
	now := time.Now()
	e.opts.Observer.Waited(now.Sub(it.waitsSince(now)))
}

// turn is one turn of a key, measured. Nobody else has the key meanwhile, so what
// the turn leaves in its account is still there.
func (e *Engine) turn(ctx context.Context, r *run, key plan.Key) {
	o := e.opts.Observer
	if o == nil {
		e.reconcile(ctx, r, key)
		return
	}
	began := time.Now()
	e.reconcile(ctx, r, key)
	action := r.it.action
	if action == plan.Noop && r.wrote != "" {
		action = r.wrote
	}
	o.Reconciled(report.Action(action), time.Since(began))
	if r.it.failing && r.class != "" {
		o.Failed(r.class)
	}
}

// observeFailure tells of an error that isn't one object's.
func (e *Engine) observeFailure(class string) {
	if e.opts.Observer != nil {
		e.opts.Observer.Failed(class)
	}
}

// observeHealed tells of a write that puts back what somebody else had changed.
func (e *Engine) observeHealed(d *plan.Decision) {
	if e.opts.Observer == nil {
		return
	}
	if d.Step.Kind == plan.StepApply {
		e.opts.Observer.Healed(healedWebService)
	} else {
		e.opts.Observer.Healed(healedConfigMap)
	}
}

// observeChanges notes when it was noticed that the files of these objects had
// changed. An earlier change that an object hasn't followed yet is overtaken by that,
// and what isn't to be followed isn't measured. The engine is locked.
func (e *Engine) observeChanges(changed []plan.Key, noticed time.Time) {
	for _, key := range changed {
		it := e.items[key]
		if it == nil {
			continue
		}
		it.measured.noticed = time.Time{}
		if d := e.desired[key]; !d.broken && d.asks() {
			it.measured.noticed = noticed
		}
	}
}

// observeDone tells that an object has become what its file says. Where it is ready for
// its next turn, its file may have changed again. The engine is locked.
func (e *Engine) observeDone(r *run, d *plan.Decision) {
	noticed := &r.it.measured.noticed
	if e.opts.Observer == nil || noticed.IsZero() || r.it.ready || d.Suspended || !r.in.Live.Exists() || r.in.Desired == nil || r.in.Broken {
		return
	}
	e.opts.Observer.Done(time.Since(*noticed))
	*noticed = time.Time{}
}

// observeCycle tells of the cycle that has just ended. The engine is locked.
func (e *Engine) observeCycle() {
	if e.opts.Observer != nil {
		e.opts.Observer.Cycled(e.current.finished.Sub(e.current.started))
	}
}
