//go:build soak

package e2e

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// With its settings as they come, and for as long as a bad deployment of a webhook
// may last.
func TestSoakAServerThatTakesNoWritesForFiveMinutes(t *testing.T) {
	t.Parallel()
	const during, files = 5 * time.Minute, 20
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	var names []string
	for n := range files {
		names = append(names, fmt.Sprintf("service-%02d", n))
	}
	l.writeServices("nginx:1.27", names...)
	d := l.run()
	d.converges()

	// The lease is renewed meanwhile, and counts.
	var sent, steps atomic.Int64
	refuse := labtest.When(isStep, overloaded(&steps))
	proxy.Set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !labtest.IsWatch(r) {
			sent.Add(1)
		}
		refuse(w, r, next)
	})
	l.writeServices("nginx:1.28", names...)
	l.goesBy(during)
	d.reports(convergeLimit, unconverged, func(r *report.Report) error {
		if r.Summary.Errors != files {
			return fmt.Errorf("summary %+v", r.Summary)
		}
		return nil
	})
	rate := float64(sent.Load()) / during.Seconds()
	t.Logf("%.2f requests a second, of which %.2f are writes that failed", rate, float64(steps.Load())/during.Seconds())
	if rate >= 1 {
		t.Error("that is too many")
	}
	proxy.Set(nil)
	d.reports(2*time.Minute, converged) // the longest backoff is a minute
}

// Whoever fights for long gets the field no more often, and no other answer.
func TestSoakAFightOfThreeMinutes(t *testing.T) {
	t.Parallel()
	const during = 3 * time.Minute
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	mark := l.cluster.Audit().Mark(t)
	other := l.opposes("checkout", "evil:1")
	l.goesBy(during)
	d.reports(convergeLimit, unconverged, item("checkout", func(i report.Item) bool {
		return failing(i) && says(i.Reason, otherManager, "spec.image") == nil
	}))
	other.end()
	d.reports(2*time.Minute, converged)
	l.must(l.done("checkout", "nginx:1.27"))
	taken := l.taken("checkout", mark)
	t.Logf("taken %d times in all", len(taken))
	for i := 5; i < len(taken); i++ {
		if apart := taken[i].Time.Sub(taken[i-5].Time); apart < time.Minute-time.Second {
			t.Errorf("taken 6 times within %s", apart)
		}
	}
}
