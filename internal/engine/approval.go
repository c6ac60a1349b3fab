package engine

import (
	"context"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// approvalLook is how often approvals are looked for, while there is something to
// approve.
const approvalLook = 500 * time.Millisecond

// askApprovals looks for people's words about what is held, and removes those that
// are about nothing at present, until ctx ends.
func (e *Engine) askApprovals(ctx context.Context) {
	a := approver{Engine: e}
	for {
		var again <-chan time.Time
		if a.ask() {
			again = time.After(approvalLook)
		}
		a.tidyUp()
		select {
		case <-ctx.Done():
			return
		case <-e.question:
		case <-again:
		}
	}
}

// approver asks Approvals.
type approver struct {
	*Engine
	// failed is the last error of it, so that it is told once.
	failed string
}

// ask looks whether what is held is approved, where that can be, and says whether
// it is worth another look soon.
func (a *approver) ask() (again bool) {
	q := a.toApprove()
	if q.digest == "" {
		return false
	}
	if q.begins {
		a.tell(a.opts.Approvals.Retain(""))
		a.answer(q, false)
		return true
	}
	approved, err := a.opts.Approvals.Approved(q.digest)
	switch {
	case err != nil:
		approved = false
	case approved:
		approved, err = a.use(q.digest)
	}
	a.tell(err)
	a.answer(q, approved)
	return true
}

// question is whether a set is approved.
type question struct {
	// digest is that of the set; "" where there is nothing to approve.
	digest string
	// version is the ledger's when it was asked.
	version int64
	// begins: the hold is a new one, so that what was approved before was said of
	// another, though it may have been of the same objects. They came back in between,
	// and with that it was void. It isn't so of the first hold since we lead, which
	// may be from before a restart.
	begins bool
}

// use removes the approval of that digest, which is for once: one that stayed would
// allow the same deletions another time. It says whether it is gone; an error may be
// about others.
func (a *approver) use(digest string) (gone bool, err error) {
	if err = a.opts.Approvals.Retain(""); err == nil {
		return true, nil
	}
	left, unsure := a.opts.Approvals.Approved(digest)
	return !left && unsure == nil, err
}

// toApprove is what could be approved now.
func (e *Engine) toApprove() question {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil || e.over || !e.ready {
		return question{}
	}
	e.refresh()
	return question{digest: e.approvable(), version: e.ledger.version, begins: e.begun && e.unanswered()}
}

// answer takes over whether the set is approved, if it is still the one that is held.
func (e *Engine) answer(q question, approved bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun = true
	if e.answered != q.digest || e.answeredOf != q.version {
		e.answered, e.answeredOf = q.digest, q.version
		e.tellChange()
	}
	if e.queue == nil {
		return
	}
	if !approved {
		e.tellHold()
		return
	}
	e.refresh()
	if e.approvable() != q.digest {
		e.opts.Log.Warn("the approval counts no more: what would be deleted isn't what was approved")
		return
	}
	e.ledger.approve()
	e.opts.Log.Info("deletions are approved", "count", len(e.ledger.going), "digest", q.digest)
	e.review(report.TriggerApproval, true)
	if e.tracker.Begin(string(report.TriggerApproval)) {
		e.begin(report.TriggerApproval)
	}
	e.settle()
}

// tidyUp removes approvals that are about another set than the present one, once
// it is certain which one that is.
func (a *approver) tidyUp() {
	digest, due := a.toRetain()
	if !due {
		return
	}
	err := a.opts.Approvals.Retain(digest)
	a.tell(err)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.tidy, a.begun = false, true
	}
}

// toRetain is the digest of the only set that an approval may be about, "" where
// there is none, and whether others are to be removed now.
func (e *Engine) toRetain() (digest string, due bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fault, empty := e.doubt()
	if !e.tidy || e.queue == nil || e.over || !e.ready || !e.known || fault != "" && !empty ||
		!e.tracker.Settled() || len(e.ledger.stale) > 0 || !e.opts.Policy.Prune.Enabled {
		return "", false
	}
	return e.approvable(), true
}

// tell logs an error of Approvals that is new.
func (a *approver) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != a.failed {
		a.opts.Log.Warn("approvals can't be used", "err", err)
	}
	a.failed = text
}

// unanswered says whether it isn't known yet if what is held is approved. The
// engine is locked.
func (e *Engine) unanswered() bool {
	digest := e.approvable()
	return digest != "" && (digest != e.answered || e.ledger.version != e.answeredOf)
}
