package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/report"
)

// source.allowEmpty makes an empty directory a valid source. That all goes is
// held all the same.
func TestAnEmptySourceThatIsAllowedIsHeldByItsSize(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b")
	l.onceOK()
	mark := l.mark()
	l.withdraw("a", "b")
	empty := append(pruning(), "--source-allow-empty")
	l.endsWith(l.once(empty...), 4, "2 held deletions", "all that this source owns", "approve")
	r := l.lastReport()
	l.holds(r, held([]string{"a", "b"}, "2 objects would be deleted, and that is all"), approvable)
	l.wantUntouched(mark)
	l.approveOK(r)
	l.onceOK(empty...)
	l.holds(l.lastReport(), converged, nothingHeld, listed(removes, "a", "b"))
	l.allGone("a", "b")
	l.wantDeleted(mark, "a", "b")
	l.onceOK(empty...)
	l.holds(l.lastReport(), converged, nothingHeld, items())
}

// With another name of the source all that is there is another source's: it is
// neither deleted nor taken over, with files or without.
func TestAnotherNameOfTheSourceDeletesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	l.onceOK()
	before, mark := l.states(), l.mark()
	renamed := *l
	renamed.name += "-renamed"
	d := renamed.prunes()
	d.reports(convergeLimit, unconverged, nothingHeld, listed(func(i report.Item) bool {
		return failing(i) && says(i.Error, `belongs to the source "`+l.name+`"`, v1.SourceLabel) == nil
	}, "a", "b", "c"))
	renamed.withdraw("b", "c")
	renamed.writeServices("nginx:1.27", "d")
	d.reports(convergeLimit, items("a", "d"))
	d.scanned(4, items("a", "d"), nothingHeld)
	l.wantDeleted(mark)
	for name, now := range l.states() {
		if was, there := before[name]; there && now != was {
			t.Errorf("%s was written: %s", name, now)
		}
	}
}

// What lies outside namespaces.only isn't ours to judge, files or no files.
func TestNamespacesThatAreLeftOutLoseNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	there := l.in(l.cluster.Namespace(t))
	l.writeServices("nginx:1.27", "a", "b", "c")
	l.write(map[string]string{"there.yaml": service("there", "nginx:1.27", "namespace: "+there.namespace)})
	l.onceOK()
	before, mark := there.states(), l.mark()
	d := l.prunes("--namespaces-only=" + l.namespace)
	l.withdraw("c")
	d.scanned(4, unconverged, func(r *report.Report) error {
		if len(r.Problems) != 1 {
			return fmt.Errorf("problems %+v", r.Problems)
		}
		return nil
	})
	l.wantUntouched(mark) // there is a problem in the source
	l.withdraw("there")
	l.goes("c")
	d.converges(items("a", "b"))
	d.scanned(4, converged)
	there.equal(before, there.states())
	there.must(there.done("there", "nginx:1.27"))
	if r := l.since(mark, there.namespace); len(r.deleted) != 1 || len(r.created) > 0 {
		t.Errorf("created %q, deleted %q", namesOf(r.created), namesOf(r.deleted))
	}
}

// A file that asks for nothing is in no deletion's way: one whose object is
// suspended from the start is never created.
func TestASuspendedFileKeepsNoDeletionWaiting(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.write(map[string]string{"never.yaml": service("never", "nginx:1.27", "annotations: {webservice.labhub.io/reconcile: disabled}")})
	l.withdraw("c")
	l.goes("c")
	d.converges(suspended(1), nothingHeld)
	l.wantDeleted(mark, "c")
}

// Of a hold, a problem and a wait the exit code tells what to look at first.
func TestOnceTellsWhatToLookAtFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more func(l *lab)
		code int
		says []string
	}{
		"a hold": {func(*lab) {}, 4, []string{"3 held deletions", "approve"}},
		"a hold and a problem": {func(l *lab) { l.write(map[string]string{"broken.yaml": "{[}\n"}) },
			3, []string{"1 problem in the source to be mended", "broken.yaml"}},
		"a hold and a wait": {func(l *lab) {
			l.write(map[string]string{"later.yaml": service("later", "nginx:1.27", "namespace: "+l.namespace+"-later")})
		}, 5, []string{"3 held deletions"}},
		"a hold and a failure": {func(l *lab) {
			l.remove(configmaps(), "a-desired")
			l.create(configmaps(), configMap("a-desired"))
		}, 1, []string{"1 failing object", "belongs to someone else"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "a", "b", "c", "d")
			l.onceOK()
			mark := l.mark()
			l.withdraw("b", "c", "d")
			c.more(l)
			l.endsWith(l.once(append(pruning(), shortly, "--namespaces-create=false")...), c.code, c.says...)
			l.holds(l.lastReport(), unconverged, held([]string{"b", "c", "d"}, "3 of 4 objects"))
			l.wantUntouched(mark)
		})
	}
}

// Somebody was quicker: what is gone already needs no deletion.
func TestWhatIsDeletedByHandIsntDeletedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	d := l.run(everySecond, "--prune-after=3s")
	d.converges()
	mark := l.mark()
	l.withdraw("c")
	d.reports(convergeLimit, item("c", waitsBecause("its file is gone")))
	l.remove(webservices(), "c")
	l.goes("c")
	d.converges(items("a", "b"))
	d.scanned(8, converged)
	l.wantUntouched(mark)
}

// The out directory keeps no word that nobody needs: one for a set that isn't held
// is taken away, and what else lies there is left alone.
func TestWordsAboutNothingAreTakenAway(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 5)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.withdraw(all[1:]...)
	r := d.reports(convergeLimit, held(all[1:]), approvable)
	l.writeServices("nginx:1.27", all...)
	d.converges(nothingHeld)
	d.stop()
	dir := filepath.Join(l.out, "approvals")
	l.must(os.MkdirAll(dir, 0o755))
	for _, name := range []string{r.HeldDigest, "notes.txt"} {
		l.must(os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}

	// The word was given while nothing was held, so it isn't one for later.
	d = l.prunes()
	d.converges()
	d.scanned(2, converged)
	if got := l.approvals(); fmt.Sprint(got) != "[notes.txt]" {
		t.Errorf("approvals %q", got)
	}
	l.withdraw(all[1:]...)
	d.reports(convergeLimit, held(all[1:]), approvable)
	d.scanned(4, held(all[1:]))
	l.wantUntouched(mark)

	// A file of the digest's name is all that it takes.
	l.must(os.WriteFile(filepath.Join(dir, r.HeldDigest), nil, 0o644))
	l.allGone(all[1:]...)
	l.wantDeleted(mark, all[1:]...)
}
