package engine

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// Report says how things stand.
func (e *Engine) Report() *report.Report {
	status := e.opts.SourceStatus()
	state := e.cluster.State()
	e.mu.Lock()
	defer e.mu.Unlock()
	facts := e.facts(state)
	r := &report.Report{
		Cycle: e.current.number, Trigger: e.current.trigger, Started: e.current.started,
		ControllerVersion: e.opts.Version, Role: report.RoleActive, Holder: e.holder,
		Source: e.sourceReport(status), Requests: e.requests(),
		Items: e.reportItems(time.Now()), Held: e.held(),
	}
	// Before it is known whether there is an approval, nobody is asked for one: what
	// was said of an earlier hold may be about to be removed.
	if digest := e.approvable(); digest != "" && !e.unanswered() {
		r.HeldDigest, r.HeldCommand = digest, e.opts.Approvals.Command(digest)
	}
	if e.standby {
		r.Role = report.RoleStandby
	}
	if e.snapshot != nil {
		r.Problems, r.Warnings = Problems(e.snapshot.Problems), Problems(e.snapshot.Warnings)
	}
	if !e.current.finished.IsZero() {
		r.Finish(e.current.finished)
	}
	r.Converged, r.WaitingFor = cycle.Judge(facts)
	r.SourceFailed = e.sourceFailed()
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
	return r
}

// facts are what convergence is judged from. The engine is locked.
func (e *Engine) facts(state error) cycle.Facts {
	h := e.holds()
	f := cycle.Facts{
		Settled: e.tracker.Settled(), Busy: e.tracker.Busy(), Known: e.known,
		Failing: e.tracker.Count(cycle.Failing), Waiting: e.tracker.Count(cycle.Waiting),
		Held: h.count, Blocked: e.tracker.Count(cycle.Blocked),
	}
	if h.count > 0 {
		f.Hold, f.Approvable = e.advice(&h), h.digest != ""
	}
	switch {
	case state != nil && (e.standby || e.prepared == nil):
		f.Cluster = state.Error()
	case e.standby:
		f.Standby = cmp.Or(e.holder, "nobody yet")
	case e.prepared != nil:
		f.Cluster = e.prepared.Error()
	case !e.ready:
		// It has become good just now, and nothing was made runnable by that yet.
		f.Cluster = "the cluster to be looked at"
	}
	if e.snapshot != nil {
		if f.Source = e.sourceFault(); isFinal(e.snapshot.Err) && f.Source != "" {
			f.Cluster = "" // waiting may mend that one
		}
		if f.Problems = len(e.snapshot.Problems); f.Problems > 0 {
			f.Problem = e.snapshot.Problems[0].Error()
		}
	}
	if status := e.opts.SourceStatus(); status.Locked && f.Source == "" {
		f.Source = status.Waiting
	}
	if f.Failing+f.Waiting > 0 {
		f.First = e.first(f.Failing > 0)
	}
	return f
}

// sourceFault says what is wrong with the source as a whole; "" if nothing is.
// The engine is locked.
func (e *Engine) sourceFault() string {
	s := e.snapshot
	switch {
	case s.Err != nil && s.Complete && e.opts.AllowEmpty:
		return ""
	case errors.Is(s.Err, source.ErrEmpty):
		return s.Err.Error() + ": put the files back, mend source.path, or set source.allowEmpty"
	case s.Err != nil:
		return s.Doubt() // which says what to do, too
	case !s.Complete:
		return "the source couldn't be read whole"
	case len(s.Unsettled) > 0:
		return s.Unsettled[0] + " to stop changing"
	}
	return ""
}

// sourceFailed: people have to mend the source as a whole. One that just goes on
// changing is waited for. The engine is locked.
func (e *Engine) sourceFailed() bool {
	s := e.snapshot
	if s == nil || s.Err != nil && s.Complete && e.opts.AllowEmpty {
		return false
	}
	return s.Err != nil || !s.Complete
}

// first says what the first object, by name, that fails or waits does so for.
// The engine is locked.
func (e *Engine) first(failing bool) string {
	var at plan.Key
	var found *item
	for key, it := range e.items {
		if !it.judged || it.action != plan.Requeue || it.failing != failing || it.ready && !failing {
			continue
		}
		if found == nil || before(key, at) < 0 {
			at, found = key, it
		}
	}
	if found == nil {
		return ""
	}
	return at.String() + ": " + found.reason
}

func (e *Engine) sourceReport(status source.Status) report.Source {
	r := report.Source{
		Path: e.opts.SourcePath, Name: e.opts.Policy.SourceName,
		WatchMode: string(status.Mode), WatchReason: status.Reason,
		LastScan: status.LastScan, ScanIntervalSeconds: status.Interval.Seconds(),
	}
	if s := e.snapshot; s != nil {
		r.Revision, r.Digest, r.Complete = s.Revision, s.Digest, s.Complete
		r.Files, r.Objects, r.Skipped = s.Files, len(s.Objects), s.Skipped
	}
	return r
}

// requests counts what the cycle has sent, and the events since the report before. The engine is locked.
func (e *Engine) requests() report.Requests {
	if !e.current.finished.IsZero() {
		return report.Requests{Reads: e.current.sentReads, Writes: e.current.sentWrites, Events: e.eventsSent()}
	}
	reads, writes := e.cluster.Requests()
	return report.Requests{Reads: reads - e.current.reads, Writes: writes - e.current.writes, Events: e.eventsSent()}
}

// reportItems are the accounts of all objects that belong into the report, in
// order. Who stands by has none: it decides nothing. The engine is locked.
func (e *Engine) reportItems(now time.Time) []report.Item {
	if e.yields() {
		return []report.Item{}
	}
	listed := maps.Clone(e.gone)
	for key, it := range e.items {
		if it.judged && it.listed {
			listed[key] = it
		}
	}
	items := make([]report.Item, 0, len(listed))
	for _, key := range slices.SortedFunc(maps.Keys(listed), before) {
		items = append(items, e.reportItem(key, listed[key], now))
	}
	return items
}

func (e *Engine) reportItem(key plan.Key, it *item, now time.Time) report.Item {
	action, reason, target := it.action, e.reason(key, it), it.target
	thisCycle := it.cycle == e.current.number
	if action == plan.Noop && it.wrote && thisCycle {
		action, reason, target = it.first.action, it.first.reason, it.first.target
	}
	before := it.before
	if !thisCycle {
		before = it.after
	}
	r := report.Item{
		Namespace: key.Namespace, Name: key.Name,
		Action: report.Action(action), Reason: reason, Target: target.Name(key),
		Generation: it.generation, ObservedGeneration: it.observed, Suspended: it.suspended,
		ResourceVersions: report.ResourceVersions{
			WebService: report.Versions{Before: before.webservice, After: it.after.webservice},
			ConfigMap:  report.Versions{Before: before.configmap, After: it.after.configmap},
		},
	}
	want := e.desired[key]
	r.Unusable = want.broken
	if want.object != nil {
		r.Source = want.file + ":" + strconv.Itoa(want.line)
	}
	if action == plan.Requeue {
		seconds := math.Ceil(it.due.Sub(now).Seconds())
		r.Requeue = &report.Requeue{AfterSeconds: max(1, int64(seconds)), IsError: it.failing}
	}
	if it.failing {
		r.Error = it.reason
	}
	return r
}

// reason is what the last verdict on the object says. Where that is the guard's
// word, the numbers in it may have changed since by others' turns. The engine is
// locked.
func (e *Engine) reason(key plan.Key, it *item) string {
	a := e.ledger.going[key]
	if a == nil || !it.guarded {
		return it.reason
	}
	ruling := e.guard(e.uncreated())
	if r := ruling.Of(a); r.State == it.removal {
		return r.Reason
	}
	return it.reason
}

// Problems puts problems or warnings of the source into the form that reports have.
// The list is never nil.
func Problems(in []source.Problem) []report.Problem {
	out := make([]report.Problem, 0, len(in))
	for _, p := range in {
		out = append(out, report.Problem{
			Path: p.Path, Document: p.Document, Line: p.Line, Column: p.Column, Field: p.Field, Message: p.Message,
		})
	}
	return out
}
