package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// swap is a lab whose directory is a link, to be turned to another that has
// other objects: 12 new ones for 8 old ones, and one that is in both.
type swap struct {
	*lab
	old, new []string
}

const (
	inBoth  = "stays"
	refusal = "8 of 9 objects would be deleted, more than half"
)

func (l *lab) newSwap() *swap {
	l.Helper()
	s := &swap{lab: l, old: numbered("old", 8), new: numbered("new", 12)}
	l.writeServices("nginx:1.27", append(s.old, inBoth)...)
	l.must(os.Rename(l.source, filepath.Join(l.home, "before")))
	l.must(os.Mkdir(l.source, 0o755))
	l.writeServices("nginx:1.27", s.new...)
	l.writeServices("nginx:1.28", inBoth)
	l.must(os.Rename(l.source, filepath.Join(l.home, "after")))
	l.point(l.source, "before")
	return s
}

// turn does it.
func (s *swap) turn() {
	s.Helper()
	s.point(s.source, "after")
}

// waiting is what each report says while the deletions are held: the new ones wait
// as well, and what else there is has been done.
func (s *swap) waiting() []fits {
	return []fits{settled, held(s.old, refusal), approvable, listed(waitsBecause("waits for held deletions"), s.new...),
		func(*report.Report) error { return s.done(inBoth, "nginx:1.28") }}
}

// approved finds out, after a person's word, that exactly the held ones go, after
// all of the new ones have come.
func (s *swap) approved(d *daemon, mark labtest.Mark) {
	s.Helper()
	r := d.reports(convergeLimit, s.waiting()...)
	s.approveOK(r)
	s.allGone(s.old...)
	d.converges(nothingHeld, items(append(s.new, inBoth)...))
	s.must(s.allDone("nginx:1.27", s.new...))
	s.wantDeleted(mark, s.old...).wantOrder(s.lab)
	if created := namesOf(s.since(mark).created); len(created) != len(s.new) {
		s.Errorf("created were %q", created)
	}
}

func TestADirectorySwappedForAnotherIsHeldAndNothingIsCreatedMeanwhile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := l.newSwap()
	d := l.prunes()
	d.converges()
	mark, h := l.mark(), l.follow()
	s.turn()
	d.reports(convergeLimit, s.waiting()...)
	d.scanned(3, s.waiting()...)
	for range 2 {
		d.stop()
		d = l.prunes()
		d.reports(convergeLimit, s.waiting()...)
		d.scanned(2, s.waiting()...)
	}

	// What is in both goes on being looked after.
	l.edit(configmaps(), inBoth+"-desired", `{"data": {"image": "evil:1"}}`)
	labtest.Eventually(t, convergeLimit, func() error { return l.done(inBoth, "nginx:1.28") })
	l.write(map[string]string{inBoth + ".yaml": service(inBoth, "nginx:1.29")})
	labtest.Eventually(t, convergeLimit, func() error { return l.done(inBoth, "nginx:1.29") })
	l.write(map[string]string{inBoth + ".yaml": service(inBoth, "nginx:1.28")})
	d.reports(convergeLimit, s.waiting()...)
	for _, text := range []string{"ADDED ", "DELETED "} {
		if events := h.of(text); len(events) > 0 {
			t.Errorf("what happened: %v", events)
		}
	}
	l.wantUntouched(mark)
	s.approved(d, mark)
}

// However often the process is killed, and whatever it is at then, it neither
// creates nor deletes before a person has said so.
func TestAProcessKilledWhileItTakesASwapInHoldsAllTheSame(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := l.newSwap()
	l.onceOK()
	mark, h := l.mark(), l.follow()
	d := l.prunes()
	d.converges()
	paced(quiet/2, s.turn)
	d.kill()
	for n, moment := range moments(100*time.Millisecond, 2*time.Second, 9) {
		if n%3 == 2 { // the swap is done anew under its eyes
			l.point(l.source, "before")
			paced(moment, func() { d = l.prunes() }, s.turn)
		} else {
			paced(moment, func() { d = l.prunes() })
		}
		d.kill()
	}
	d = l.prunes()
	d.scanned(2, s.waiting()...)
	for _, text := range []string{"ADDED ", "DELETED "} {
		if events := h.of(text); len(events) > 0 {
			t.Errorf("what happened: %v", events)
		}
	}
	l.wantUntouched(mark)

	// Killed at its work it begins where it was: what is gone doesn't water down
	// what is left, and each goes only by a word that includes it.
	s.approveOK(d.reports(convergeLimit, s.waiting()...))
	d.kill()
	s.finish(mark)
}

// finish goes on approving after each kill until the swap is done.
func (s *swap) finish(mark labtest.Mark) {
	s.Helper()
	for n, moment := range moments(300*time.Millisecond, 2*time.Second, 6) {
		var d *daemon
		paced(moment, func() { d = s.prunes() })
		if r, err := s.report(); err == nil && r.HeldDigest != "" && n%2 == 1 {
			s.approve(r.HeldDigest)
		}
		d.kill()
	}
	d := s.prunes()
	labtest.Eventually(s, convergeLimit, func() error {
		r, err := s.report()
		if err != nil || r.Started.Before(d.started) {
			return fmt.Errorf("no report: %w", err)
		}
		if r.HeldDigest != "" {
			s.approve(r.HeldDigest)
		}
		return converged(r)
	})
	s.allGone(s.old...)
	d.converges(nothingHeld, items(append(s.new, inBoth)...))
	// A request that was under way when the process was killed may have been carried
	// out or not, and may have been sent again.
	r := s.since(mark)
	r.wantOrder(s.lab)
	for _, name := range namesOf(slices.Concat(r.deleted, r.refused)) {
		if !slices.Contains(s.old, name) {
			s.Errorf("%s was to be deleted", name)
		}
	}
}
