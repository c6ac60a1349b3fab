package cli

import (
	"context"
	"time"

	"labhub.io/webservice-controller/internal/plan"
)

// lease is what writes ask for leave.
type lease interface {
	Check(ctx context.Context) error
	// Ours says whether it is ours now. It never takes it.
	Ours() bool
	TakenOver() time.Time
}

// gate lets a write through while the lease is ours. A deletion waits longer after
// the lease was taken from another holder: with once, that is known only when the
// first write asks for it.
func (a *app) gate(ctx context.Context, kind plan.StepKind) error {
	if err := a.lease.Check(ctx); err != nil || kind != plan.StepDelete {
		return err
	}
	at := a.lease.TakenOver()
	if at.IsZero() {
		return nil
	}
	if left := time.Until(at.Add(a.cfg.Prune.AfterTakeover)); left > 0 {
		return &plan.Failure{
			Class: plan.NotReady, RetryAfter: left,
			Phrase: "nothing is deleted so soon after the lease was taken from another holder",
		}
	}
	return nil
}
