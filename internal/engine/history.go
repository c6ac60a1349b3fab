package engine

import (
	"slices"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// How much is remembered for people who look.
const (
	keptDecisions = 8
	keptCycles    = 120
	keptSpans     = 60
)

// decided is a step that was taken, or a verdict that was another than the last one.
// There are many of them, so it has no more than it must.
type decided struct {
	at      int64 // nanoseconds of the Unix time
	action  plan.Action
	reason  string
	target  plan.Target
	failing bool
}

// decisions are the last ones of an object. Nothing is kept, and nothing allocated,
// while they stay the same.
type decisions struct {
	ring []decided
	next int // where the oldest is, once the ring is full
}

// last is the newest one; nil where there is none.
func (d *decisions) last() *decided {
	if len(d.ring) == 0 {
		return nil
	}
	return &d.ring[(d.next+len(d.ring)-1)%len(d.ring)]
}

func (d *decisions) add(entry decided) {
	if len(d.ring) < keptDecisions {
		d.ring = append(d.ring, entry)
		return
	}
	d.ring[d.next] = entry
	d.next = (d.next + 1) % keptDecisions
}

// newest lists them, the newest first.
func (d *decisions) newest(key plan.Key) []report.Decision {
	out := make([]report.Decision, 0, len(d.ring))
	for i := range d.ring {
		e := &d.ring[(d.next+len(d.ring)-1-i)%len(d.ring)]
		out = append(out, report.Decision{
			At: time.Unix(0, e.at).UTC(), Action: report.Action(e.action), Reason: e.reason,
			Target: e.target.Name(key), IsError: e.failing,
		})
	}
	return out
}

// noteVerdict remembers the verdict that the object has come to, unless it is the one
// that it had. The engine is locked.
func (it *item) noteVerdict() {
	last := it.decisions.last()
	if last != nil && last.action == it.action && last.reason == it.reason && last.target == it.target && last.failing == it.failing {
		return
	}
	it.decisions.add(decided{time.Now().UnixNano(), it.action, it.reason, it.target, it.failing})
}

// noteStep remembers a step that was taken, and whether that took back what somebody
// else had done. The engine is locked.
func (e *Engine) noteStep(r *run, d *plan.Decision) {
	it := r.it
	it.decisions.add(decided{r.in.Now.UnixNano(), d.Action, d.Reason, d.Target, false})
	if it.good.undone(r, d) {
		e.observeHealed(d)
		if it.healed != e.current.number {
			it.healed = e.current.number
			e.current.healed++
		}
	}
}

// history is what the last cycles came to.
type history struct {
	cycles []report.Cycle
	spans  []report.Span
}

// noteCycle remembers the cycle that has just ended. The engine is locked.
func (e *Engine) noteCycle() {
	a := &e.current
	h := &e.history
	if len(h.cycles) == keptCycles {
		h.cycles = slices.Delete(h.cycles, 0, 1)
	}
	h.cycles = append(h.cycles, report.Cycle{
		Cycle: a.number, Trigger: a.trigger, Started: a.started.UTC(), DurationSeconds: a.finished.Sub(a.started).Seconds(),
		Reads: a.sentReads, Writes: a.sentWrites, Healed: a.healed,
	})
}

// noteConverged remembers what the report of now says.
func (e *Engine) noteConverged(now time.Time, converged bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := &e.history
	lasts := len(h.spans) > 0 && h.spans[len(h.spans)-1].To.IsZero()
	switch {
	case converged && lasts:
		h.spans[len(h.spans)-1].To = now.UTC()
	case !converged && !lasts:
		if len(h.spans) == keptSpans {
			h.spans = slices.Delete(h.spans, 0, 1)
		}
		h.spans = append(h.spans, report.Span{From: now.UTC()})
	}
}

// History is what the last cycles came to.
func (e *Engine) History() report.History {
	e.mu.Lock()
	defer e.mu.Unlock()
	return report.History{Cycles: slices.Clone(e.history.cycles), NotConverged: slices.Clone(e.history.spans)}
}
