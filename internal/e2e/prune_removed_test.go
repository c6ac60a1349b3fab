package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// wantDeletedAfter wants one deletion of an object, no earlier than prune.after
// over from when its file went, and not much later.
func (l *lab) wantDeletedAfter(mark labtest.Mark, name string, removed time.Time, after time.Duration) {
	l.Helper()
	r := l.wantDeleted(mark, name)
	if l.Failed() {
		l.FailNow()
	}
	took := r.deleted[0].Time.Sub(removed)
	l.Logf("%s was deleted %s after its file, where prune.after is %s", name, took.Round(time.Millisecond), after)
	if took < after || took > after+prompt {
		l.Errorf("that is not about %s", after)
	}
}

// saysDeleted wants the log to tell once that an object was deleted, and why. The
// report of a daemon may be over before anybody has read it.
func (d *daemon) saysDeleted(name string) {
	d.Helper()
	line := fmt.Sprintf(`msg=reconciled object=%s/%s action=delete target=webservice/%[2]s reason="its file is gone"`, d.namespace, name)
	if n := strings.Count(d.stderr.String(), line); n != 1 {
		d.Errorf("the log tells %d times: %s", n, line)
	}
}

// deletedInIt is true of the report of the cycle that deleted an object, which still
// tells of it.
func deletedInIt(name string, all ...string) fits {
	return func(r *report.Report) error {
		if err := items(all...)(r); err != nil {
			return err
		}
		i := slices.IndexFunc(r.Items, func(i report.Item) bool { return i.Name == name })
		if r.Items[i].Action != report.ActionDelete || r.Summary.Delete != 1 {
			return fmt.Errorf("item %+v, summary %+v", r.Items[i], r.Summary)
		}
		return nil
	}
}

func TestAnObjectGoesOnceItsFileIsGoneForLongEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		scans string
		// left are the items in the end. What was deleted is one of them until the next
		// cycle, which a pass begins.
		left fits
	}{
		"scans come often":         {2 * time.Second, everySecond, items("billing", "checkout")},
		"no scan comes by itself":  {soon, onHintsAlone, deletedInIt("search", "billing", "checkout", "search")},
		"scans come less often":    {soon, "--source-scan-interval=3s", items("billing", "checkout")},
		"sooner than a scan lasts": {time.Millisecond, everySecond, items("billing", "checkout")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout", "billing", "search")
			d := l.run(c.scans, "--prune-after="+c.after.String())
			d.converges()
			before, mark := l.states(), l.mark()
			removed := l.withdraw("search")
			l.goes("search") // with its ConfigMap
			d.saysDeleted("search")
			d.converges(c.left, nothingHeld)
			l.wantDeletedAfter(mark, "search", removed, c.after)
			delete(before, "webservices/search")
			delete(before, "configmaps/search-desired")
			l.equal(before, l.states())
		})
	}
}

// While the time runs the object is due, which is neither a hold nor an error,
// and everything about it goes on.
func TestAnObjectWhoseFileIsBackInTimeStays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	d := l.run(everySecond, "--prune-after=5s")
	d.converges()
	before, mark := l.states(), l.mark()
	for range 2 {
		l.withdraw("search")
		d.reports(convergeLimit, unconverged, waitsFor("search"), nothingHeld, item("search", waitsBecause("its file is gone")))
		l.must(l.done("billing", "nginx:1.27"))
		l.writeServices("nginx:1.27", "search")
		d.converges(items("billing", "checkout", "search"))
	}
	l.equal(before, l.states())

	// Back under another name, and with another content.
	l.withdraw("search")
	d.reports(convergeLimit, item("search", waitsBecause("its file is gone")))
	l.write(map[string]string{"found.yaml": service("search", "nginx:1.28")})
	d.converges(func(*report.Report) error { return l.done("search", "nginx:1.28") })
	d.scanned(12, converged) // longer than it had to be absent
	l.wantUntouched(mark)
}

// What is due is still looked after.
func TestTheConfigMapOfAnObjectThatIsDueIsMended(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond, "--prune-after=1h")
	d.converges()
	mark := l.mark()
	l.withdraw("checkout")
	d.reports(convergeLimit, item("checkout", waitsBecause("its file is gone")))
	l.edit(configmaps(), "checkout-desired", `{"data": {"image": "evil:1"}}`)
	labtest.Eventually(t, convergeLimit, func() error {
		cm, err := l.child("checkout")
		if err != nil || cm.Data["image"] != "nginx:1.27" {
			return fmt.Errorf("%w: %v", err, cm)
		}
		return nil
	})
	l.wantUntouched(mark)
}

func TestWhatWentWhileNobodyLookedGoesAfterTheStart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	l.onceOK()
	mark := l.mark()
	l.withdraw("d")
	started := time.Now()
	d := l.prunes()
	l.goes("d")
	d.saysDeleted("d")
	d.converges(items("a", "b", "c"))
	l.wantDeletedAfter(mark, "d", started, soon)

	// A second daemon, a restart and a once find nothing more to do.
	d.stop()
	l.prunes().scanned(3, converged, items("a", "b", "c"))
	l.wantDeleted(mark, "d")
}

// A restart begins the time anew: what was seen before it isn't known any more.
func TestARestartWithinTheTimeBeginsItAnew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	d := l.run(everySecond, "--prune-after=3s")
	d.converges()
	mark := l.mark()
	l.withdraw("c")
	d.reports(convergeLimit, item("c", waitsBecause("its file is gone")))
	d.kill()
	restarted := time.Now()
	d = l.run(everySecond, "--prune-after=3s")
	l.goes("c")
	d.saysDeleted("c")
	l.wantDeletedAfter(mark, "c", restarted, 3*time.Second)
}

func TestOnceDeletesWhatHasNoFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	l.onceOK()
	mark := l.mark()
	l.withdraw("c")
	// It waits for prune.after, and for the second look.
	started := time.Now()
	l.onceOK("--prune-after=2s")
	l.goes("c") // the collector may still be at the ConfigMap
	r := l.lastReport()
	l.holds(r, converged, nothingHeld, listed(removes, "c"), listed(stays(), "a", "b"))
	if r.Summary.Delete != 1 || r.Summary.Total != 3 || r.Trigger != report.TriggerOnce {
		t.Errorf("summary %+v, trigger %s", r.Summary, r.Trigger)
	}
	l.wantDeletedAfter(mark, "c", started, 2*time.Second)
	l.onceOK()
	l.holds(l.lastReport(), converged, idle, items("a", "b"))
}

// once can't wait longer than it is told to.
func TestOnceEndsWithinTheTimeThatObjectsMustBeAbsent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	l.onceOK()
	mark := l.mark()
	l.withdraw("c")
	l.endsWith(l.once(shortly, "--prune-after=1h"), 5, "c", "its file is gone")
	l.holds(l.lastReport(), unconverged, nothingHeld, item("c", waits))
	l.wantUntouched(mark)
}

func TestOnceSaysWhatItHolds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 5)
	l.writeServices("nginx:1.27", all...)
	l.onceOK()
	mark := l.mark()
	l.withdraw(all[2:]...)
	l.writeServices("nginx:1.28", all[0])
	l.endsWith(l.once(pruning()...), 4, "3 held deletions", "approve")
	r := l.lastReport()
	l.holds(r, held(all[2:], "3 of 5 objects would be deleted, more than half"), approvable, unconverged)
	l.must(l.done(all[0], "nginx:1.28"))
	l.wantUntouched(mark)

	l.approveOK(r)
	l.onceOK(pruning()...)
	l.holds(l.lastReport(), converged, nothingHeld, listed(removes, all[2:]...), listed(stays(), all[:2]...))
	l.allGone(all[2:]...)
	l.wantDeleted(mark, all[2:]...)
}

// The directory is there, was read whole, and has nothing in it.
func TestOnceTakesAnEmptyDirectoryForAMistake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 4)
	l.writeServices("nginx:1.27", all...)
	l.onceOK()
	before, mark := l.states(), l.mark()
	l.must(os.RemoveAll(l.source))
	l.must(os.MkdirAll(filepath.Join(l.source, "nothing"), 0o755))
	l.endsWith(l.once(pruning()...), 5, "holds no WebService")
	r := l.lastReport()
	l.holds(r, unconverged, held(all, "4 objects would be deleted, and that is all that this source owns"), approvable)
	l.equal(before, l.states())
	l.wantUntouched(mark)

	// With the word of a person the empty directory is what it looks like.
	l.approveOK(r)
	l.endsWith(l.once(pruning()...), 5, "holds no WebService")
	l.allGone(all...)
	l.wantDeleted(mark, all...)
}
