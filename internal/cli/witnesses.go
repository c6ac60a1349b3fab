package cli

import (
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/plan"
)

// witnesses are told of every decision, one after the other.
type witnesses []engine.Evidence

// Decided passes it on.
func (w witnesses) Decided(in *plan.Input, d *plan.Decision) {
	for _, each := range w {
		each.Decided(in, d)
	}
}

// Cleaned passes it on.
func (w witnesses) Cleaned(key plan.Key, live plan.Live, removed string, left []string) {
	for _, each := range w {
		each.Cleaned(key, live, removed, left)
	}
}

// Gone passes it on.
func (w witnesses) Gone(key plan.Key) {
	for _, each := range w {
		each.Gone(key)
	}
}

// noApprovals gives none, and leaves those that there are for others.
type noApprovals struct{ engine.Approvals }

// Approved is always false.
func (noApprovals) Approved(string) (bool, error) { return false, nil }

// Retain removes nothing.
func (noApprovals) Retain(string) error { return nil }
