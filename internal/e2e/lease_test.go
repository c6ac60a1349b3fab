package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

func TestASecondDaemonOfTheSameSourceStandsByUntilTheFirstStops(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	first := l.run()
	first.converges()
	other := l.beside()
	other.writeServices("nginx:1.28", "checkout")
	second := other.run()

	holder := first.identity()
	r := second.reports(convergeLimit, unconverged, func(r *report.Report) error {
		if r.Role != report.RoleStandby || r.Holder != holder || !strings.Contains(r.WaitingFor, holder) {
			return fmt.Errorf("role %s, holder %s, waiting for %q", r.Role, r.Holder, r.WaitingFor)
		}
		return nil
	})
	if r.Summary.Total != 0 {
		t.Errorf("standing by, it judged: %+v", r.Items)
	}
	l.must(l.done("checkout", "nginx:1.27"))

	stopped := time.Now()
	first.stop()
	labtest.Eventually(t, 5*time.Second, func() error { return l.done("checkout", "nginx:1.28") })
	t.Logf("taken over %s after SIGTERM", time.Since(stopped).Round(time.Millisecond))
	second.converges(func(r *report.Report) error {
		if r.Role != report.RoleActive || r.Holder != second.identity() {
			return fmt.Errorf("role %s, holder %s", r.Role, r.Holder)
		}
		return nil
	})
}

// identity is who the daemon is to the lease.
func (d *daemon) identity() string {
	d.Helper()
	host, err := os.Hostname()
	d.must(err)
	id, err := os.ReadFile(filepath.Join(d.out, "identity"))
	d.must(err)
	return host + "_" + strings.TrimSpace(string(id))
}

func TestASecondProcessOnTheSameOutDirectoryEndsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	r := l.once()
	l.endsWith(r, 1, l.out+" is in use by process "+fmt.Sprint(d.cmd.Process.Pid))
	d.holds(d.converges(), converged)
}

func TestOnceBesideADaemonLooksButMayNotWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	other := l.beside()

	other.writeServices("nginx:1.27", "checkout")
	other.onceOK()
	l.holds(other.lastReport(), converged, idle)

	other.writeServices("nginx:1.28", "checkout")
	before := l.states()
	l.endsWith(other.once(), 1, d.identity())
	l.equal(before, l.states())

	// With the lease free again, the same command may.
	d.stop()
	other.onceOK()
	l.must(l.done("checkout", "nginx:1.28"))
}

func TestTheVariablesOfAServiceOfOurNameDontStopTheStart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.environ = []string{
		"WEBSERVICE_CONTROLLER_SERVICE_HOST=10.0.0.7", "WEBSERVICE_CONTROLLER_SERVICE_PORT=8080",
		"WEBSERVICE_CONTROLLER_SERVICE_PORT_HTTP=8080", "WEBSERVICE_CONTROLLER_PORT=tcp://10.0.0.7:8080",
		"WEBSERVICE_CONTROLLER_PORT_8080_TCP=tcp://10.0.0.7:8080", "WEBSERVICE_CONTROLLER_PORT_8080_TCP_PROTO=tcp",
		"WEBSERVICE_CONTROLLER_PORT_8080_TCP_PORT=8080", "WEBSERVICE_CONTROLLER_PORT_8080_TCP_ADDR=10.0.0.7",
	}
	l.onceOK()
	l.must(l.done("checkout", "nginx:1.27"))
}

func TestARestartAfterACrashTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	d.kill()
	l.writeServices("nginx:1.28", "checkout")
	l.run()
	began := time.Now()
	labtest.Eventually(t, 10*time.Second, func() error { return l.done("checkout", "nginx:1.28") })
	t.Logf("at work again after %s", time.Since(began).Round(time.Millisecond))
}

// endsWith wants an exit code, one line that says why and nothing like a crash.
func (l *lab) endsWith(r result, code int, parts ...string) {
	l.Helper()
	if err := r.is(code, parts...); err != nil {
		l.Errorf("%v; stderr:\n%s", err, r.stderr)
	}
}

func (r result) is(code int, parts ...string) error {
	lines := r.errorLines()
	switch {
	case r.code != code:
		return fmt.Errorf("exit code %d, want %d", r.code, code)
	case len(lines) != 1:
		return fmt.Errorf("%d error lines, want one", len(lines))
	case strings.Contains(r.stderr, "goroutine ") || strings.Contains(r.stderr, "panic"):
		return errors.New("a stack trace")
	case r.stdout != "":
		return fmt.Errorf("on stdout: %s", r.stdout)
	}
	for _, part := range parts {
		if !strings.Contains(lines[0], part) {
			return fmt.Errorf("the error doesn't say %q", part)
		}
	}
	return nil
}
