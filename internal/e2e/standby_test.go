package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

func standsBy(holder string) fits {
	return func(r *report.Report) error {
		if r.Role != report.RoleStandby || r.Holder != holder {
			return fmt.Errorf("role %s, holder %s", r.Role, r.Holder)
		}
		return nil
	}
}

// ready wants an answer of 200 from /readyz.
func (d *daemon) ready() error {
	d.Helper()
	if code, body := d.get("/readyz"); code != http.StatusOK {
		return fmt.Errorf("readyz: %d %s", code, body)
	}
	return nil
}

// unready wants one of 503 that says all this, while the process itself is well.
func (d *daemon) unready(parts ...string) error {
	d.Helper()
	if code, body := d.get("/healthz"); code != http.StatusOK {
		return fmt.Errorf("healthz: %d %s", code, body)
	}
	code, body := d.get("/readyz")
	if code != http.StatusServiceUnavailable {
		return fmt.Errorf("readyz: %d %s", code, body)
	}
	return says(body, parts...)
}

// Who stands by is ready: it has read files and cluster, and needs only the lease. So
// it takes over once that of a crashed one is over, and lists nothing for it.
func TestAStandbyTakesOverFromACrashedOneWithoutListingAnything(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	l.writeServices("nginx:1.27", "checkout", "billing")
	first := l.run()
	first.converges()
	other := l.beside()
	other.writeServices("nginx:1.28", "checkout", "billing")
	// An account of its own, by which its requests are told from those of others.
	other.kubeconfig, other.http = l.revocable(), "--http-addr=127.0.0.1:0"
	second := other.run()
	second.reports(convergeLimit, unconverged, standsBy(first.identity()))
	labtest.Eventually(t, convergeLimit, second.ready)

	mark := l.cluster.Audit().Mark(t)
	began := time.Now()
	first.kill()
	second.reports(leaseOver, active)
	took := time.Since(began)
	t.Logf("taken over %s after the crash", took.Round(10*time.Millisecond))
	// The last renewal was up to 2 s before the crash, and is seen up to 1.2 s later.
	if took < leaseDuration-3*time.Second || took > leaseDuration+5*time.Second {
		t.Errorf("that isn't about %s", leaseDuration)
	}
	labtest.Eventually(t, convergeLimit, func() error { return l.allDone("nginx:1.28", "checkout", "billing") })
	second.converges()
	if err := second.ready(); err != nil {
		t.Error(err)
	}
	looks := 0
	for _, r := range l.cluster.Audit().Requests(t, "webservice-controller/", mark) {
		if !strings.HasSuffix(r.User, ":"+l.namespace+":revocable") {
			continue
		}
		if looks++; r.Verb == "list" || strings.Contains(r.URI, "sendInitialEvents=true") {
			t.Errorf("it has listed: %s", r.URI)
		}
	}
	if looks == 0 {
		t.Error("no request of it is on record")
	}
}

// Nobody is ready before there is anything to work with, and who can't reach the
// server isn't ready any more, standing by or not.
func TestReadinessSaysWhoCouldWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "checkout")
	first := l.run()
	first.converges()
	other := l.beside()
	second := other.run()
	labtest.Eventually(t, convergeLimit, func() error { return second.unready("holds no WebService") })
	other.writeServices("nginx:1.27", "checkout")
	labtest.Eventually(t, convergeLimit, second.ready)
	second.reports(convergeLimit, unconverged, standsBy(first.identity()))

	proxy.Down()
	const away = "the API server can't be reached"
	labtest.Eventually(t, recovery, func() error { return errors.Join(first.unready(away), second.unready(away)) })
	for _, d := range []*daemon{first, second} {
		d.reports(recovery, unconverged, waitsFor(away))
	}
	proxy.Up(t)
	labtest.Eventually(t, recovery, func() error { return errors.Join(first.ready(), second.ready()) })
	labtest.Eventually(t, recovery, func() error {
		one, err := first.report()
		if err != nil {
			return err
		}
		two, err := second.report()
		if err != nil {
			return err
		}
		if (converged(one) == nil) == (converged(two) == nil) {
			return fmt.Errorf("one must have converged: %q, %q", one.WaitingFor, two.WaitingFor)
		}
		return nil
	})
}
