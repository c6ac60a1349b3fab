package engine

import (
	"errors"
	"time"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// ruled is what of the guard's word concerns objects whose turn isn't now. Its
// reasons, with their numbers, don't: reports ask for those anew.
type ruled struct {
	held, approvable, creating, takenOver bool
	fault                                 string
}

// judgeRemoval fills in what the guard says of the object that has its turn, and of
// making it ours where it isn't there yet or is nobody's. The engine is locked.
func (e *Engine) judgeRemoval(in *plan.Input, it *item) {
	switch {
	case in.Desired != nil && in.Live.BelongsTo(in.Policy.SourceName) == plan.Nobodys && !in.Live.Terminating():
		e.refresh()
		in.CreationHeld = len(e.ledger.going) > 0 && e.guard("").Size != ""
	case in.Live.Exists() && in.Desired == nil && !in.Broken:
		e.refresh()
		if a := e.ledger.going[in.Key]; a != nil && a.UID == in.Live.UID {
			in.Removal = e.removal(a)
		}
	}
	it.removal, it.blocked = in.Removal.State, in.CreationHeld
}

// guard has all deletions judged together. uncreated is what has to be created
// first; "" is nothing. The engine is locked, and the ledger up to date.
func (e *Engine) guard(uncreated string) plan.Ruling {
	fault, empty := e.doubt()
	return plan.Guard(plan.GuardInput{
		Going: len(e.ledger.going), Total: e.ledger.total(),
		Fault: fault, Empty: empty, Approved: e.ledger.approved != nil,
		TakenOver: e.opts.TakenOver(), Uncreated: uncreated,
		Now: time.Now(), Policy: &e.opts.Policy.Prune,
	})
}

// doubt says why it means nothing that a file is gone, and whether the only reason
// is that all are. The engine is locked.
func (e *Engine) doubt() (fault string, empty bool) {
	s := e.snapshot
	if s == nil || !s.Complete || !errors.Is(s.Err, source.ErrEmpty) {
		return s.Doubt(), false
	}
	if e.opts.AllowEmpty {
		return "", false
	}
	return s.Doubt(), true
}

// removal is the guard's word on one absence, with what the engine knows beside:
// whether the source is at work, and when it is worth asking again.
func (e *Engine) removal(a *plan.Absence) plan.Removal {
	ruling := e.guard(e.uncreated())
	r := ruling.Of(a)
	switch r.State {
	case plan.RemovalAllowed:
		if e.opts.SourceStatus().Locked {
			return plan.Removal{State: plan.RemovalDue, Reason: "its file is gone; it is deleted once the git command at work is over", After: time.Second}
		}
	case plan.RemovalDue:
		if free := e.guard(""); free.Of(a).State != plan.RemovalDue {
			r.After = e.opts.Policy.Prune.Recheck // what it waits for wakes it
		} else if over := a.Since.Add(e.opts.Policy.Prune.After); a.Scans == 0 || !time.Now().Before(over) {
			e.rescan() // only scans are lacking
		}
	}
	return r
}

// rescan asks for another scan, once until it comes. The engine is locked.
func (e *Engine) rescan() {
	if !e.rescanning {
		e.rescanning = true
		e.opts.Rescan()
	}
}

// uncreated says which object has to be created first, and what for it waits; "" is
// none. The engine is locked.
func (e *Engine) uncreated() string {
	key, ok := e.ledger.missing.first()
	if !ok {
		return ""
	}
	if it := e.items[key]; it != nil && it.judged {
		return key.String() + ": " + it.reason
	}
	return key.String()
}

// countScan counts the snapshot that has just come for what is going, and wakes
// those whose time has come with it. The engine is locked.
func (e *Engine) countScan() {
	e.rescanning = false
	e.refresh()
	fault, empty := e.doubt()
	e.ledger.scanned(e.known && (fault == "" || empty), empty, time.Now())
	e.review(report.TriggerFiles, true)
}

// review wakes those whose deletion or creation the guard judges otherwise than at
// their last turn. Where nothing has changed that concerns others than the object
// that has its turn, it looks at none of them, unless all is true. The engine is
// locked.
func (e *Engine) review(trigger report.Trigger, all bool) {
	e.refresh()
	e.ledger.moved = false
	e.tellVoid()
	if len(e.ledger.going) == 0 && e.ruled == (ruled{}) {
		return
	}
	some := "" // which one it is makes no difference to the state
	if len(e.ledger.missing.keys) > 0 {
		some = "some"
	}
	ruling := e.guard(some)
	now := e.ruledBy(&ruling)
	if now == e.ruled && !all {
		return
	}
	e.ruled, e.tidy = now, e.tidy || now != e.ruled
	signal(e.news)
	signal(e.question)
	free := e.guard("")
	for key, a := range e.ledger.going {
		e.wakeJudged(key, ruling.Of(a), free.Of(a), trigger)
	}
	if now.held {
		return
	}
	for key, it := range e.items {
		if it.blocked {
			e.wake(key, trigger)
		}
	}
}

func (e *Engine) ruledBy(r *plan.Ruling) ruled {
	if len(e.ledger.going) == 0 {
		return ruled{}
	}
	fault, _ := e.doubt()
	return ruled{
		held: r.Size != "", approvable: r.Approvable, creating: len(e.ledger.missing.keys) > 0,
		takenOver: e.takenOver(), fault: fault,
	}
}

// takenOver says whether the lease was taken from another holder so recently that
// nothing is deleted. The engine may be locked.
func (e *Engine) takenOver() bool {
	at := e.opts.TakenOver()
	return !at.IsZero() && time.Since(at) < e.opts.Policy.Prune.AfterTakeover
}

// wakeJudged wakes an object that is going where its removal is judged otherwise
// now, or where its time, by which free judges it, comes sooner than its turn.
func (e *Engine) wakeJudged(key plan.Key, r, free plan.Removal, trigger report.Trigger) {
	it := e.items[key]
	if it == nil || it.ready || !it.judged {
		return
	}
	sooner := free.State == plan.RemovalDue && it.failures == 0 && it.due.After(time.Now().Add(free.After))
	if r.State != it.removal || sooner {
		e.wake(key, trigger)
	}
}

// waitsAs is what it means for convergence that an object waits. What depends on one
// that isn't created while deletions are held waits for a person as that does. The
// engine is locked.
func (e *Engine) waitsAs(in *plan.Input, d *plan.Decision) cycle.Standing {
	switch {
	case d.Held:
		return cycle.Held
	case in.CreationHeld && placed(in):
		return cycle.Blocked
	}
	for i := range in.Dependencies {
		if it := e.items[in.Dependencies[i].Key]; it != nil && it.blocked && !in.CreationHeld {
			return cycle.Blocked
		}
	}
	return cycle.Waiting
}

// placed says whether nothing but the guard keeps the object from being created.
func placed(in *plan.Input) bool {
	switch in.Namespace {
	case plan.NamespaceMissing:
		return in.CRD.Ready && in.Policy.CreateNamespaces
	case plan.NamespaceTerminating:
		return false
	default:
		return in.CRD.Ready
	}
}
