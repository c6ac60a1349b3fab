package engine

import (
	"testing"
	"testing/synctest"

	"labhub.io/webservice-controller/internal/plan"
)

// TestOnly: work on some objects leaves the others alone, and knows of them.
func TestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Only = func(key plan.Key) bool { return key == checkout } })
		defer r.lead()()
		r.Take(snapshot(file(billing, "a"), file(checkout, "a"), file(search, "a")))
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		r.wantConverged()
		if rep := r.Report(); len(rep.Items) != 1 || rep.Items[0].Name != "checkout" {
			t.Errorf("items %+v", rep.Items)
		}

		// What happens to others is no work.
		cycle := r.Report().Cycle
		r.Changed(billing)
		r.Take(snapshot(file(checkout, "a"), file(search, "b")))
		synctest.Wait()
		r.wantSteps()
		if o := r.Wait(t.Context()); !o.Converged {
			t.Errorf("after cycle %d: %+v", cycle, o)
		}
	})
}

// TestOnlyCountsAll: whether the object may be deleted is judged by all that are
// going, though nothing is done about the others.
func TestOnlyCountsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c", "d", "e")
		r = r.restarted(t, func(o *Options) { o.Only = func(key plan.Key) bool { return key == lab("d") } })
		r.files(filesOf("a")...)
		pass(pruneAfter + scanTakes)
		r.wantSteps()
		if it := r.item(lab("d")); it.Action != "requeue" || it.IsError {
			t.Errorf("item %+v: it isn't held", it)
		}
		if held := r.Report().Held; len(held) != 4 {
			t.Errorf("held %+v", held)
		}
	})
}
