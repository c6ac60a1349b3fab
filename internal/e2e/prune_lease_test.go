package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// leaseOver is more than a lease lasts that nobody renews.
const leaseOver = 40 * time.Second

func active(r *report.Report) error {
	if r.Role != report.RoleActive {
		return fmt.Errorf("role %s, holder %s", r.Role, r.Holder)
	}
	return nil
}

// isLost kills the daemon and lets its lease end early, which would take a quarter
// of a minute otherwise.
func (d *daemon) isLost() {
	d.Helper()
	d.kill()
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	d.must(d.in(account).patch(d.Context(), leases, "webservice-source-"+d.name, `{"spec": {"leaseDurationSeconds": 1}}`))
}

// acquired is when the lease was taken by who holds it.
func (l *lab) acquired() time.Time {
	l.Helper()
	lease, err := l.core.CoordinationV1().Leases(account).Get(l.Context(), "webservice-source-"+l.name, metav1.GetOptions{})
	l.must(err)
	return lease.Spec.AcquireTime.Time
}

// Two machines have the same source, and one of them is behind or ahead of the
// other. When the one that wrote is lost, the other doesn't delete at once what
// its own files lack.
func TestNothingIsDeletedSoonAfterALeaseWasTakenOver(t *testing.T) {
	t.Parallel()
	const grace = 6 * time.Second
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	first := l.prunes()
	first.converges()
	mark := l.mark()
	other := l.beside()
	other.writeServices("nginx:1.28", "a", "b", "c")
	second := other.prunes("--prune-after-takeover=" + grace.String())
	r := second.reports(convergeLimit, func(r *report.Report) error {
		if r.Role != report.RoleStandby {
			return fmt.Errorf("role %s", r.Role)
		}
		return nil
	})
	second.reports(convergeLimit, unconverged, scannedAfter(r.Source.LastScan.Add(3*time.Second)))
	l.wantUntouched(mark) // who stands by deletes nothing, and has nothing to approve
	l.endsWith(other.approve(strings.Repeat("0", 64)), 1, "stands by", first.identity())

	first.isLost()
	second.reports(leaseOver, active, held([]string{"d"}, "taken from another holder"), unapprovable, listed(func(i report.Item) bool {
		return i.AfterSeconds <= int64(grace/time.Second)
	}, "d"))
	l.must(l.done("d", "nginx:1.27"))
	labtest.Eventually(t, convergeLimit, func() error { return l.allDone("nginx:1.28", "a", "b", "c") }) // the rest goes on
	l.goes("d")
	second.converges(items("a", "b", "c"), nothingHeld)
	took := l.wantDeleted(mark, "d").deleted[0].Time.Sub(l.acquired())
	t.Logf("deleted %s after the lease was taken", took.Round(time.Millisecond))
	if took < grace || took > grace+prompt {
		t.Errorf("that is not about %s", grace)
	}
}

// once learns that it takes the lease from somebody only when it would write.
func TestOnceDeletesNothingSoonAfterItHasTakenTheLease(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	d := l.prunes()
	d.converges()
	d.isLost()
	mark := l.mark()
	other := l.beside()
	other.writeServices("nginx:1.27", "a", "b", "c")
	// While the lease isn't over, it is somebody else's.
	labtest.Eventually(t, leaseOver, func() error {
		r := other.once(append(pruning(), "--prune-after-takeover=1h")...)
		return r.is(4, "1 held deletion", "taken from another holder")
	})
	l.holds(other.lastReport(), unconverged, active, held([]string{"d"}, "taken from another holder"), unapprovable)
	l.wantUntouched(mark)
	l.must(l.done("d", "nginx:1.27"))
}

// once lets go of the lease at its end. Who has it next, itself or another, knows all
// the same that it was taken from somebody a short time ago.
func TestOnceTwiceIsNoWayRoundTheTimeAfterATakeover(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	d := l.prunes()
	d.converges()
	d.isLost()
	mark := l.mark()
	one, two := l.beside(), l.beside()
	one.writeServices("nginx:1.27", "a", "b", "c")
	two.writeServices("nginx:1.27", "a", "b", "c")
	args := append(pruning(), "--prune-after-takeover=1h")
	labtest.Eventually(t, leaseOver, func() error {
		r := one.once(args...)
		return r.is(4, "1 held deletion", "taken from another holder")
	})
	for _, again := range []*lab{one, two} {
		r := again.once(args...)
		l.must(r.is(4, "1 held deletion", "taken from another holder"))
		l.holds(again.lastReport(), unconverged, active, held([]string{"d"}, "taken from another holder"), unapprovable)
	}
	if r := one.exec(append(append([]string{"plan"}, one.flags()...), args...)...); r.code != 2 || !strings.Contains(r.stdout, "taken from another holder") {
		t.Errorf("plan: exit code %d\n%s", r.code, r.stdout)
	}
	daemon := two.prunes("--prune-after-takeover=1h")
	daemon.reports(convergeLimit, unconverged, active, held([]string{"d"}, "taken from another holder"))
	daemon.stop()
	l.wantUntouched(mark)
	l.must(l.done("d", "nginx:1.27"))

	// It counts from the take-over, and not from each start.
	l.goesBy(time.Second)
	one.onceOK(append(pruning(), "--prune-after-takeover=1s")...)
	l.goes("d")
	l.wantDeleted(mark, "d")
}

// Who takes over and crashes comes back to a lease that is its own. That it was
// another's a short time ago isn't forgotten over that.
func TestACrashDoesntShortenTheTimeAfterATakeover(t *testing.T) {
	t.Parallel()
	const grace = 15 * time.Second
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	first := l.prunes()
	first.converges()
	mark := l.mark()
	other := l.beside()
	other.writeServices("nginx:1.27", "a", "b", "c")
	settings := "--prune-after-takeover=" + grace.String()
	second := other.prunes(settings)
	second.reports(convergeLimit, unconverged, standsBy(first.identity()))
	first.isLost()
	second.reports(leaseOver, active)
	second.kill()
	second = other.prunes(settings)
	second.reports(convergeLimit, unconverged, active, held([]string{"d"}, "taken from another holder"))
	l.goes("d")
	second.converges(items("a", "b", "c"), nothingHeld)
	took := l.wantDeleted(mark, "d").deleted[0].Time.Sub(l.acquired())
	t.Logf("deleted %s after the lease was taken", took.Round(time.Millisecond))
	if took < grace || took > grace+prompt {
		t.Errorf("that is not about %s", grace)
	}
}

// A lease that was let go in order isn't taken from anybody.
func TestALeaseThatWasReleasedIsNoTakeover(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	first := l.prunes()
	first.converges()
	mark := l.mark()
	other := l.beside()
	other.writeServices("nginx:1.27", "a", "b", "c")
	second := other.prunes()
	second.reports(convergeLimit, unconverged, waitsFor(first.identity()))
	first.stop()
	began := time.Now()
	l.goes("d")
	t.Logf("gone %s after the first has stopped", time.Since(began).Round(time.Millisecond))
	second.converges(active, items("a", "b", "c"), nothingHeld)
	l.wantDeleted(mark, "d")
}

// What needs a deletion can't be done beside the one who holds the lease.
func TestOnceBesideADaemonDeletesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	d := l.prunes()
	d.converges()
	mark := l.mark()
	other := l.beside()
	other.writeServices("nginx:1.27", "a", "b", "c")
	l.endsWith(other.once(pruning()...), 1, d.identity())
	l.wantUntouched(mark)
	d.stop()
	other.onceOK(pruning()...)
	l.goes("d")
	l.wantDeleted(mark, "d")
}
