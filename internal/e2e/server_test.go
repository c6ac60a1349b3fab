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
	"labhub.io/webservice-controller/manifests"
)

// recovery is how long a daemon may take once what it waited for is there.
const recovery = 15 * time.Second

func TestADefinitionThatComesLaterIsNoticedWithoutARestart(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "checkout")
	l.endsWith(l.once(shortly, "--crd-install=false"), 5, "the CRD webservices.apps.labhub.io is missing", "crd.install")

	d := l.run("--crd-install=false")
	d.reports(convergeLimit, unconverged, waitsFor("the CRD webservices.apps.labhub.io is missing"))
	l.cluster.Apply(t, manifests.CRD())
	began := time.Now()
	d.reports(recovery, converged)
	t.Logf("converged %s after the definition was there", time.Since(began).Round(time.Millisecond))
	l.must(l.done("checkout", "nginx:1.27"))
}

func TestAnOutageOfTheServerIsReportedAndOutlivedWithoutAWrite(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond)
	d.passes(1)
	before := l.states()

	l.cluster.Stop(t)
	d.reports(recovery, unconverged, waitsFor("the API server can't be reached"))
	l.cluster.Restart(t)
	began := time.Now()
	r := d.reports(recovery, converged)
	t.Logf("converged %s after the server was back", time.Since(began).Round(time.Millisecond))
	if r.Requests.Writes != 0 {
		t.Errorf("requests %+v", r.Requests)
	}
	l.equal(before, l.states())
	d.passes(2)
	l.equal(before, l.states())

	// It is at work again, not only at peace.
	l.writeServices("nginx:1.28", "checkout")
	labtest.Eventually(t, recovery, func() error { return l.done("checkout", "nginx:1.28") })
	if log := d.warnings(); strings.Count(log, "\n") > 10 || !strings.Contains(log, "the API server can't be reached") {
		t.Errorf("warnings: %s", log)
	}
}

// A server that takes requests and never answers is as good as none.
func TestAServerThatGivesNoAnswerIsNoticedAndOutlived(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
	d := l.run()
	d.converges()

	proxy.Set(labtest.Delay(time.Hour))
	labtest.Eventually(t, recovery, func() error {
		code, body := d.get("/readyz")
		if code != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz: %d %s", code, body)
		}
		return says(body, "gives no answer")
	})
	// Nobody may take it for the one that writes when its lease is over.
	d.reports(recovery, unconverged, waitsFor("gives no answer"), func(r *report.Report) error {
		if r.Role != report.RoleStandby {
			return errors.New("still active")
		}
		return nil
	})
	proxy.Set(nil)
	d.reports(recovery, converged)
}
