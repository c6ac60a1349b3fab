package engine

import (
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// hold is what is held, in short.
type hold struct {
	count int
	// first is the first one by name, and why its deletion is held.
	first  plan.Key
	reason string
	// digest names the set where a person's approval would let it go; else "".
	digest string
	// version and ruled are of what it was worked out from.
	version int64
	ruled   ruled
}

// yields: another process is known to hold the lease, so that it is its business what
// becomes of the objects. Who has lost the lease since nothing answers stays with what
// it knows. The engine is locked.
func (e *Engine) yields() bool { return e.standby && e.holder != "" }

// held lists the deletions that are held, in order. Who stands by holds nothing.
// The engine is locked.
func (e *Engine) held() []report.Held {
	list := make([]report.Held, 0)
	if e.yields() || !e.known || len(e.ledger.going) == 0 {
		return list
	}
	ruling := e.guard("")
	for _, a := range e.ledger.absences() {
		if r := ruling.Of(&a); r.State == plan.RemovalHeld {
			list = append(list, report.Held{Namespace: a.Key.Namespace, Name: a.Key.Name, Reason: r.Reason})
		}
	}
	return list
}

// approvable is the digest of what an approval would let go; "" where there is
// nothing of that kind. The engine is locked.
func (e *Engine) approvable() string {
	if e.yields() || !e.known || len(e.ledger.going) == 0 {
		return ""
	}
	if ruling := e.guard(""); !ruling.Approvable {
		return ""
	}
	return e.ledger.digestOfGoing()
}

// holds sums up what is held. The engine is locked.
func (e *Engine) holds() hold {
	h := hold{version: e.ledger.version, ruled: e.ruled, digest: e.approvable()}
	for i, held := range e.held() {
		if i == 0 {
			h.first, h.reason = plan.Key{Namespace: held.Namespace, Name: held.Name}, held.Reason
		}
		h.count++
	}
	return h
}

// advice is what to do about a hold, after what it is.
func (e *Engine) advice(h *hold) string {
	text := h.first.String() + ": " + h.reason
	if h.digest != "" {
		text += " (" + e.opts.Approvals.Command(h.digest) + ")"
	}
	return text
}

// tellHold logs that deletions are held, whenever that is another set than was told
// of before, and that none is any more. The engine is locked.
func (e *Engine) tellHold() {
	if e.standby || e.opts.QuietHolds || e.told.version == e.ledger.version && e.told.ruled == e.ruled && !e.ruled.takenOver {
		return
	}
	before := e.told
	e.told = e.holds()
	now := &e.told
	switch {
	case now.count == 0 && before.count > 0:
		e.opts.Log.Info("no deletion is held any more")
	case now.count == 0, before.count > 0 && before.digest == now.digest && before.reason == now.reason:
	case now.digest != "":
		e.opts.Log.Warn("deletions are held", "count", now.count, "first", now.first.String(),
			"reason", now.reason, "approve", e.opts.Approvals.Command(now.digest))
	default:
		e.opts.Log.Warn("deletions are held", "count", now.count, "first", now.first.String(), "reason", now.reason)
	}
}

// tellVoid logs that an approval counts no more. The engine is locked.
func (e *Engine) tellVoid() {
	if e.ledger.voided {
		e.ledger.voided = false
		e.opts.Log.Warn("the approval counts no more: what would be deleted isn't what was approved")
	}
}
