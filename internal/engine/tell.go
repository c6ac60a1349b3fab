package engine

import (
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/plan"
)

// Events tells people in the cluster what has become of their objects. Its methods
// are called from any goroutine and return at once: sending is its own affair.
type Events interface {
	// Note takes a fact. It isn't sent before the cycle that it is of has ended.
	Note(event plan.Event)
	// Release says that the cycle has ended: what was noted may go out.
	Release()
	// Sent counts the requests that were sent for events so far.
	Sent() int64
}

// turnOf is what events need to know of a turn. Asked before the step is noted.
func (r *run) turnOf() plan.Turn {
	it, live := r.it, &r.in.Live
	t := plan.Turn{Told: r.told, Applied: it.applied, Removed: it.removed, Made: r.made}
	t.Rested = r.last == plan.StepNone && live.Exists() && it.rested == generation{live.UID, live.Generation}
	return t
}

// tellStep notes what a step that was done has changed. It comes before the step
// counts as written, since what was written before is what tells drift from news.
func (e *Engine) tellStep(r *run, d *plan.Decision, answer *plan.Answer) {
	if e.opts.Events == nil || answer.Unsent {
		return
	}
	turn := r.turnOf()
	if event := plan.StepEvent(&r.in, d, &turn); event.Reason != "" {
		event.UID = uidAfter(event.UID, answer)
		e.opts.Events.Note(event)
		r.told = r.told || d.Step.Kind == plan.StepApply
	}
	if d.Step.Kind == plan.StepDeleteChild && !r.in.Live.Terminating() {
		r.made = d.Reason
	}
}

// uidAfter is the object's uid, which one that was just created has from the answer.
func uidAfter(before types.UID, answer *plan.Answer) types.UID {
	if before == "" && answer.Live.Exists() {
		return answer.Live.UID
	}
	return before
}

// tellVerdict notes a failure each time, and a hold when it begins. The engine is
// locked.
func (e *Engine) tellVerdict(r *run, d *plan.Decision) {
	it := r.it
	it.rested = generation{}
	if d.Action == plan.Noop && !d.Suspended && r.in.Live.Exists() {
		it.rested = generation{r.in.Live.UID, r.in.Live.Generation}
	}
	held := it.heldTold
	it.heldTold = d.Held && (held || !d.Error)
	if e.opts.Events == nil || !d.Error && (!d.Held || held) {
		return
	}
	if event := plan.VerdictEvent(&r.in, d); event.Reason != "" {
		e.opts.Events.Note(event)
	}
}

// tellFailure notes a step that failed by itself. While nothing answers, there is
// nobody to tell. The engine is locked.
func (e *Engine) tellFailure(r *run, f *plan.Failure) {
	r.it.rested = generation{}
	if e.opts.Events == nil || !answered(f) {
		return
	}
	if event := plan.FailureEvent(&r.in, &r.decision, f); event.Reason != "" {
		e.opts.Events.Note(event)
	}
}

// release lets the events of the cycle go, which has ended.
func (e *Engine) release() {
	if e.opts.Events != nil {
		e.opts.Events.Release()
	}
}

// eventsSent counts the requests for events since the report before. The engine is
// locked.
func (e *Engine) eventsSent() int64 {
	if e.opts.Events == nil {
		return 0
	}
	return e.opts.Events.Sent() - e.eventsReported
}

// noteReported notes that a report was published that counts so many events. Where all
// cycles have one account, each report of it counts all of them.
func (e *Engine) noteReported(events int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opts.Trigger == "" {
		e.eventsReported += events
	}
}
