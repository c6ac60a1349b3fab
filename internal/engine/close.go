package engine

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// rest closes the turn with a verdict.
func (e *Engine) rest(r *run, d *plan.Decision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	it := r.it
	standing := cycle.Done
	switch {
	case d.Error:
		standing, r.class = cycle.Failing, cmp.Or(r.class, errorObject)
		it.failures++
		d.After = max(e.opts.Backoff.delay(it.failures, rand.Float64()), e.contestLeft(r))
	case d.Action == plan.Requeue:
		standing = e.waitsAs(&r.in, d)
		it.failures = 0
		d.After = e.recheck(r, d, standing)
	default:
		it.failures, it.memory = 0, nil
		e.observeDone(r, d)
		it.good.note(&r.in, d)
	}
	if d.Action == plan.Requeue {
		it.due = time.Now().Add(d.After)
	}
	if d.Error && it.reason != d.Reason {
		e.opts.Log.Warn("failing", "object", r.key.String(), "reason", d.Reason)
	}
	it.judged, it.of, it.action, it.reason, it.target = true, e.fileOf(r.key), d.Action, d.Reason, d.Target
	it.failing, it.unanswered, it.suspended = d.Error, false, d.Suspended
	it.guarded = d.Action == plan.Requeue && d.Reason == r.in.Removal.Reason
	e.noteRest(r.key, it)
	e.tellVerdict(r, d)
	e.follow(r)
	e.close(r, standing)
}

// fail closes the turn after a step that didn't come through.
func (e *Engine) fail(r *run, target plan.Target, err error) {
	f := &plan.Failure{Err: err, Phrase: "failed"}
	errors.As(err, &f)
	switch {
	case errors.Is(err, context.Canceled):
		e.interrupted(r, target)
		return
	case f.Class == plan.NotWriter:
		e.wait(r, err, leaseRecheck)
		return
	}
	e.failed(r, target, f)
	e.witness(r)
}

// failed closes the turn after a step that failed by itself.
func (e *Engine) failed(r *run, target plan.Target, f *plan.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	it := r.it
	standing := cycle.Failing
	r.class = errorUnavailable
	it.failures++
	delay := max(e.opts.Backoff.delay(it.failures, rand.Float64()), f.RetryAfter)
	it.failing = f.Class == plan.Unavailable
	if it.failing && it.unanswered {
		e.pace.failed()
	}
	it.unanswered = it.failing
	reason := f.Error()
	if !it.failing {
		standing, reason = cycle.Waiting, f.Phrase
	}
	it.due = time.Now().Add(delay)
	e.tellFailure(r, f)
	if it.reason != reason {
		e.opts.Log.Warn("failed", "object", r.key.String(), "err", f, "retry_in", delay.Round(time.Millisecond))
	}
	it.judged, it.action, it.reason, it.target, it.suspended, it.guarded = true, plan.Requeue, reason, target, false, false
	it.of = e.fileOf(r.key)
	it.told = restOf(it) // which has just been told
	r.decision = plan.Decision{Action: plan.Requeue, Reason: reason, Target: target, After: delay, Error: it.failing, Held: r.decision.Held}
	e.close(r, standing)
}

// interrupted closes a turn that was cut off since we are stopping. What was known
// of the object before is still the best that is known.
func (e *Engine) interrupted(r *run, target plan.Target) {
	e.mu.Lock()
	defer e.mu.Unlock()
	it := r.it
	it.due = time.Now().Add(leaseRecheck)
	if !it.judged {
		it.judged, it.action, it.target, it.reason = true, plan.Requeue, target, "stopped before it was done"
	}
	e.close(r, cycle.Waiting)
}

// leaseRecheck is how long a key waits that wants to be written to while the
// lease isn't ours: a renewal may have been late. Asking sends nothing.
const leaseRecheck = 2 * time.Second

// unready closes the turn since the cluster can't be worked on. When it can be
// again, every key is made runnable, even if that is the case already, unless the
// key has been made runnable meanwhile.
func (e *Engine) unready(r *run, why error) {
	e.mu.Lock()
	if !r.it.ready {
		e.ready = false
	}
	e.mu.Unlock()
	signal(e.state)
	if !e.keeps(r, why) {
		e.wait(r, why, e.opts.ScanInterval)
	}
}

// keeps closes the turn with the verdict that there was before, where it is of the file
// that the object has now: what was last known is worth more than that nothing can be
// known. What the object waits for is said once, for all of them.
func (e *Engine) keeps(r *run, why error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	it := r.it
	if !it.judged || it.of != e.fileOf(r.key) || denied(why) {
		return false
	}
	it.due = time.Now().Add(e.opts.ScanInterval)
	e.close(r, cycle.Waiting)
	return true
}

// fileOf is the digest of the file that the object has; "" where none can be used. The
// engine is locked.
func (e *Engine) fileOf(key plan.Key) string {
	if want := e.desired[key]; want.object != nil && !want.broken {
		return want.object.Digest
	}
	return ""
}

// wait closes the turn without a decision, for a reason that isn't the object's.
func (e *Engine) wait(r *run, why error, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noteFatal(why)
	it := r.it
	it.due = time.Now().Add(after)
	it.judged, it.action, it.reason, it.target = true, plan.Requeue, why.Error(), plan.WebService
	it.failing, it.suspended, it.guarded = denied(why), false, false
	standing := cycle.Waiting
	if it.failing {
		standing, r.class = cycle.Failing, errorDenied
	}
	e.close(r, standing)
}

// denied says whether we aren't allowed to do our work. That is a failure: a
// person has to mend it.
func denied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// answered says whether the server itself has said that a step failed, and isn't
// just overloaded.
func answered(f *plan.Failure) bool {
	var status apierrors.APIStatus
	return errors.As(f.Err, &status) && status.Status().Code != http.StatusTooManyRequests && !denied(f.Err)
}

// noteFatal keeps an error that no waiting ends. The engine is locked.
func (e *Engine) noteFatal(err error) {
	var f *plan.Failure
	if errors.As(err, &f) && f.Class == plan.NotWriter && e.fatal == nil {
		e.fatal = err
	}
}

// close notes where the object stands, and when its next turn is unless
// something happens before. The engine is locked.
func (e *Engine) close(r *run, standing cycle.Standing) {
	it := r.it
	it.after = versionsOf(&r.in)
	it.generation, it.observed = 0, 0
	if r.in.Live.Exists() {
		it.generation, it.observed = r.in.Live.Generation, r.in.Live.Status.ObservedGeneration
	}
	it.listed = e.lists(&r.in)
	it.noteVerdict()
	if e.ledger.moved {
		e.review(report.TriggerCluster, false)
	}
	e.tellFollowers(r.key, &r.in.Live)
	if it.ready {
		// Something happened meanwhile: the key is in the queue again.
		return
	}
	switch {
	case !it.listed && !it.failing:
		e.drop(r)
	default:
		e.tracker.Rest(r.key, standing)
		if !it.due.IsZero() && e.queue != nil {
			e.queue.AddAfter(r.key, time.Until(it.due))
		}
	}
	e.settle()
}

// lists says whether the object belongs into the report.
func (e *Engine) lists(in *plan.Input) bool {
	if in.Desired != nil {
		return true
	}
	if !in.Live.Exists() {
		return false
	}
	switch in.Live.BelongsTo(e.opts.Policy.SourceName) {
	case plan.Ours:
		return true
	case plan.Nobodys:
		return e.opts.Policy.Unlabelled || in.Broken
	}
	return false
}

// drop closes the account of an object that isn't ours to tell of. One that we have
// deleted is still told of in the report of the cycle. The engine is locked.
func (e *Engine) drop(r *run) {
	it := r.it
	e.tracker.Drop(r.key)
	delete(e.items, r.key)
	e.unfollow(r.key, it)
	if it.wrote && it.cycle == e.current.number && it.first.action == plan.Delete && it.first.target == plan.WebService {
		e.gone[r.key] = it
	}
	r.gone = e.ready && !r.in.Live.Exists()
}
