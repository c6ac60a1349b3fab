package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// TestAnOutageKeepsThePicture: what was last known of the objects is still told while
// the server is away, with what is held; only of a file that has changed since nothing
// is known.
func TestAnOutageKeepsThePicture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c", "d", "e")
		r.shows(other(filesOf("a", "b")...))
		r.wantHeld("3 of 5 objects would be deleted", "c", "d", "e")
		before := r.Report()
		r.cluster.setState(errAway, true)
		pass(2 * time.Minute) // and four passes
		r.wantWaiting(errAway.Error())
		during := r.Report()
		if during.Summary != before.Summary || len(during.Held) != 3 || during.HeldDigest != before.HeldDigest {
			t.Errorf("summary %+v, before %+v; held %d, digest %q", during.Summary, before.Summary, len(during.Held), during.HeldDigest)
		}
		// The lease isn't renewed meanwhile, and nobody is known to have it.
		r.stop()
		r.stop = func() {}
		r.SetHolder("", true)
		if lost := r.Report(); lost.Summary != before.Summary || len(lost.Held) != 3 || lost.Converged {
			t.Errorf("without the lease: summary %+v, held %d", lost.Summary, len(lost.Held))
		}
		// Another process has it: what becomes of the objects is its business.
		r.cluster.setState(nil, true)
		r.SetHolder("another", true)
		if standby := r.Report(); len(standby.Items)+len(standby.Held) > 0 || standby.HeldDigest != "" {
			t.Errorf("standing by: %d items, %d held", len(standby.Items), len(standby.Held))
		}
	})
}

func TestAChangedFileInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		synctest.Wait()
		r.wantConverged()
		r.cluster.setState(errors.New("the API server can't be reached"), true)
		pass(time.Second)
		r.Take(snapshot(file(checkout, "b"), file(billing, "a")))
		pass(time.Minute)
		if it := r.item(checkout); it.Action != report.ActionRequeue || it.Reason != "the API server can't be reached" {
			t.Errorf("the changed one: %+v", it)
		}
		if it := r.item(billing); it.Action == report.ActionRequeue {
			t.Errorf("the other one: %+v", it)
		}
		r.cluster.setState(nil, true)
		pass(time.Minute)
		r.wantConverged()
	})
}
