package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"labhub.io/webservice-controller/internal/report"
)

// TestRest: what can be done now is done, and what only waits keeps nobody.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Rest(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("before anybody leads: %v", err)
		}
		r.SetHolder("me", false)
		r.Take(snapshot(file(billing, "a"), dependent("checkout", "nowhere")))
		defer background(t, r.Lead)()
		if err := r.Rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if it := r.item(billing); it.Action != report.ActionCreate {
			t.Errorf("billing: %s, %s", it.Action, it.Reason)
		}
		if it := r.item(checkout); it.Action != report.ActionRequeue || it.IsError {
			t.Errorf("checkout: %s, %s", it.Action, it.Reason)
		}
	})
}
