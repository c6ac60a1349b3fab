package engine

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// TestTheLogTellsWhoWaits: once, when a cycle ends, and again only where that changes.
func TestTheLogTellsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		waiting := file(checkout, "a")
		waiting.DependsOn = []plan.Key{billing}
		r.Take(snapshot(waiting, suspendedFile(search)))
		pass(2 * time.Minute) // and four passes
		r.wantLog(1, "waits object=lab/checkout reason=", "lab/billing")
		r.wantLog(1, "suspended object=lab/search reason=", "annotation")
		r.Take(snapshot(waiting, file(billing, "a"), file(search, "a")))
		pass(time.Minute)
		r.wantConverged()
		r.wantLog(1, "waits object=")
		r.wantLog(1, `"no longer suspended" object=lab/search`)
		r.Take(snapshot(waiting, suspendedFile(search), file(billing, "a")))
		pass(time.Minute)
		r.wantLog(2, "suspended object=lab/search reason=")
	})
}

// wantLog checks that so many lines of the log have all of these parts.
func (r *rig) wantLog(n int, parts ...string) {
	r.t.Helper()
	found := 0
	for line := range strings.Lines(r.log.String()) {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			found++
		}
	}
	if found != n {
		r.t.Errorf("%d lines with %q, want %d:\n%s", found, parts, n, r.log)
	}
}

// TestTheLogOfManyWhoWait: it isn't flooded.
func TestTheLogOfManyWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		files := filesOf(numbered("s", 100)...)
		for i := range files {
			files[i].DependsOn = []plan.Key{billing}
		}
		r.Take(snapshot(files...))
		pass(2 * time.Minute)
		r.wantLog(mostRests, "waits object=")
		r.wantLog(1, "more objects wait", "count=80")
	})
}

// TestTheLogOfAStatus: that it follows from what was written before isn't worth a line.
// One that was written by itself is.
func TestTheLogOfAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.opts.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a")))
		synctest.Wait()
		r.wantConverged()
		r.wantLog(1, "level=INFO", "target=webservice/checkout")
		r.wantLog(1, "level=DEBUG", "target=webservice/checkout")
		r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Status = v1.WebServiceStatus{} })
		r.Changed(checkout)
		synctest.Wait()
		r.wantLog(2, "level=INFO", "target=webservice/checkout")
	})
}

// TestQuietHolds: who asked for it hears of held deletions in the outcome alone, with
// the command.
func TestQuietHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, func(o *Options) { o.QuietHolds = true }, "a", "b", "c")
		r.shows(other())
		pass(time.Minute)
		r.wantLog(0, "deletions are held")
		o := r.Wait(t.Context())
		if o.Held != 3 || o.Command == "" || !strings.Contains(o.WaitingFor, o.Command) {
			t.Errorf("outcome %+v", o)
		}
	})
}

// TestApprovedHoldsAreNotTold: what is approved already when it is first held is no
// news to who approved it.
func TestApprovedHoldsAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		s := other()
		r.shows(s)
		r.approvals.give(r.Report().HeldDigest)
		r = r.restarted(t, nothing)
		pass(time.Minute)
		r.wantLog(0, "deletions are held")
		r.wantLog(1, "deletions are approved")
	})
}
