package engine

import (
	"maps"
	"slices"

	"labhub.io/webservice-controller/internal/plan"
)

// mostRests is how many objects that wait are logged at the end of a cycle. The
// report has all of them.
const mostRests = 20

// noteRest keeps for the log that an object rests otherwise than was last told. It
// is told when the cycle ends: what an object waits for while others are worked on
// is often over before anybody has read of it. The engine is locked.
func (e *Engine) noteRest(key plan.Key, it *item) {
	if restOf(it) != it.told {
		e.untold[key] = true
	}
}

// restOf is how the log tells of an object that waits, or that is left alone though
// it may differ from its file; "" for all others. That something fails is told at
// once, and of held deletions as a whole.
func restOf(it *item) string {
	switch {
	case it.suspended:
		return MsgSuspended
	case !it.judged, it.action != plan.Requeue, it.failing, it.guarded && it.removal == plan.RemovalHeld:
		return ""
	}
	return it.reason
}

// tellRests logs which objects have come to wait, or are suspended. That they wait for
// the source to be read isn't told of each. The engine is locked.
func (e *Engine) tellRests() {
	if !e.known || len(e.untold) == 0 {
		return
	}
	more := 0
	for i, key := range slices.SortedFunc(maps.Keys(e.untold), before) {
		it := e.items[key]
		if it == nil {
			continue
		}
		if i < mostRests {
			e.tellRest(key, it)
		} else if restOf(it) != it.told {
			more++
		}
		it.told = restOf(it)
	}
	if more > 0 {
		e.opts.Log.Info("more objects wait, or don't any more; the report has all of them", "count", more)
	}
	clear(e.untold)
}

func (e *Engine) tellRest(key plan.Key, it *item) {
	log := e.opts.Log.With("object", key.String())
	switch now := restOf(it); {
	case now == it.told:
	case now == MsgSuspended:
		log.Info(MsgSuspended, "reason", it.reason)
	case now != "":
		log.Info(MsgWaits, "reason", now)
	case it.told == MsgSuspended:
		log.Info("no longer suspended")
	}
}
