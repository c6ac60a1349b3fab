package engine

import (
	"slices"

	"labhub.io/webservice-controller/internal/source"
)

// mostProblems is how many problems of one snapshot are logged. The report has
// all of them.
const mostProblems = 20

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
