package engine

import (
	"slices"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// Messages of the log that are told of an object, which those who write the log for
// people know: that something was written, that it waits, and that it is left alone.
const (
	MsgReconciled = "reconciled"
	MsgWaits      = "waits"
	MsgSuspended  = "suspended"
)

// logStep tells of a step that was done. What was cleaned up of a deleted object
// is told in one line, when the last of it is done. follows: something else was
// written to the object before, in the same cycle; that its status follows isn't
// worth a line then, nor is one that says what the object waits for, which has a line
// of its own.
func (e *Engine) logStep(r *run, d *plan.Decision, follows bool) {
	log := e.opts.Log.With("object", r.key.String())
	switch {
	case d.Step.Kind == plan.StepWriteStatus && (follows || !d.Step.Ready()):
		log.Debug(MsgReconciled, "action", string(d.Action), "target", d.Target.Name(r.key), "reason", d.Reason)
	case d.Step.Kind == plan.StepDropFinalizer:
		log.Info("cleaned up", "removed", r.it.removed, "finalizer", v1.CleanupFinalizer, "left", d.Step.Finalizers, "reason", d.Reason)
		if e.opts.Evidence != nil {
			e.opts.Evidence.Cleaned(r.key, r.in.Live, r.it.removed, d.Step.Finalizers)
		}
		r.it.removed = ""
	case d.Step.Kind == plan.StepDeleteChild && r.in.Live.Terminating():
		r.it.removed = d.Target.Name(r.key)
	default:
		log.Info(MsgReconciled, "action", string(d.Action), "target", d.Target.Name(r.key), "reason", d.Reason)
	}
}

// logPrepared tells what was done to the CRD.
func (e *Engine) logPrepared(done plan.Action) {
	switch done {
	case plan.Create:
		e.opts.Log.Info(MsgReconciled, "action", string(done), "target", "crd/"+v1.CRDName, "reason", "WebServices need it")
	case plan.Update:
		e.opts.Log.Info(MsgReconciled, "action", string(done), "target", "crd/"+v1.CRDName, "reason", "it is of an earlier version of ours")
	}
}

// mostProblems is how many problems of one snapshot are logged. The report has
// all of them.
const mostProblems = 20

// logWarnings tells what is worth a look in the source, and wasn't there in the
// snapshot before.
func (e *Engine) logWarnings(before, now *source.Snapshot) {
	known := make(map[source.Problem]bool, len(before.Warnings))
	for _, p := range before.Warnings {
		known[p] = true
	}
	told := 0
	for _, p := range now.Warnings {
		if known[p] {
			continue
		}
		if told++; told <= mostProblems {
			e.opts.Log.Info("noticed", "at", p.Error())
		}
	}
	if more := told - mostProblems; more > 0 {
		e.opts.Log.Info("more warnings are in the report", "count", more)
	}
}

// logSource tells what has become wrong in the source since the snapshot before,
// and that all is mended. before is nil for the first snapshot.
func (e *Engine) logSource(before, now *source.Snapshot) {
	if before == nil {
		before = &source.Snapshot{}
	}
	known := make(map[source.Problem]bool, len(before.Problems))
	for _, p := range before.Problems {
		known[p] = true
	}
	fresh := slices.DeleteFunc(slices.Clone(now.Problems), func(p source.Problem) bool { return known[p] })
	for _, p := range fresh[:min(len(fresh), mostProblems)] {
		e.opts.Log.Warn("problem", "at", p.Error())
	}
	if more := len(fresh) - mostProblems; more > 0 {
		e.opts.Log.Warn("more problems are in the report", "count", more)
	}
	e.logWarnings(before, now)
	if len(now.Problems) == 0 && len(before.Problems) > 0 {
		e.opts.Log.Info("the problems in the source are mended")
	}
	switch {
	case now.Err != nil && (before.Err == nil || before.Err.Error() != now.Err.Error()):
		e.opts.Log.Warn("the source can't be used", "err", now.Err)
	case now.Err == nil && before.Err != nil:
		e.opts.Log.Info("the source can be used again")
	}
}
