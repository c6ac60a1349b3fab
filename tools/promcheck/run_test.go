package promcheck

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"labhub.io/webservice-controller/internal/labtest"
)

// footage is what a real controller served in its states. A film is cut from it.
type footage struct {
	healthy  scrape   // all is as it should be
	busy     []scrape // and each time a file has changed since the one before
	standby  scrape   // a second one, meanwhile
	held     scrape
	problems scrape
	failing  []scrape // the API server fails at writes; each time there are more errors
	away     []scrape // it can't be reached, and the Lease is lost
}

func record(t *testing.T) *footage {
	t.Helper()
	l := newLab(t)
	names := []string{"billing", "cart", "checkout", "front", "search"}
	for _, name := range names {
		l.write(name, service(name, "nginx:1"))
	}
	c := l.run()
	f := &footage{}
	c.converged()
	f.busy = c.changing(6)
	f.healthy = c.converged()
	second := l.run()
	f.standby = second.when("standing by", func(s scrape) bool { return s.sum("leader") == 0 && s.sum("objects") == 0 && s.sum("ready") == 1 })

	l.remove(names[:3]...)
	f.held = c.when("held", func(s scrape) bool { return s.sum("held_deletions") == 3 })
	for _, name := range names[:3] {
		l.write(name, service(name, "nginx:1"))
	}
	c.converged()

	l.write("bad", service("bad", "nginx:1")+"  more: true\n")
	f.problems = c.when("a problem", func(s scrape) bool { return s.sum("source_problems") > 0 && s.sum("converged") == 0 })
	l.remove("bad")
	c.converged()

	l.proxy.Set(labtest.When(isStep, labtest.Respond(http.StatusInternalServerError, "InternalError")))
	l.write("search", service("search", "nginx:2"))
	f.failing = c.growing(minutes, "errors_total", `class="unavailable"`)
	l.proxy.Set(nil)
	c.converged()

	l.proxy.Down()
	c.when("away", func(s scrape) bool { return s.sum("ready") == 0 && s.sum("leader") == 0 })
	f.away = c.growing(minutes, "api_requests_total", `code="none"`)
	return f
}

// changing changes a file so many times, each once the change before is done.
func (c *controller) changing(n int) []scrape {
	c.Helper()
	var all []scrape
	before, err := c.scrape()
	if err != nil {
		c.Fatal(err)
	}
	for i := range n {
		c.write("checkout", service("checkout", "nginx:1."+string(rune('0'+i))))
		done := before.sum("file_change_to_ready_seconds_count") + float64(i) + 1
		all = append(all, c.when("Ready", func(s scrape) bool { return s.sum("file_change_to_ready_seconds_count") >= done }))
	}
	return all
}

func isStep(r *http.Request) bool {
	return labtest.IsWrite(r) && !strings.Contains(r.URL.Path, "/leases")
}

// polling is the healthy one, but that the file system gives no hints: of that there
// is no way to make sure that harms nobody else on the machine.
func (f *footage) polling() scrape {
	s := scrape{at: f.healthy.at}
	for _, sample := range f.healthy.samples {
		other := *sample
		if sample.Metric[model.MetricNameLabel] == "webservice_controller_source_watch_mode" {
			other.Value = 1 - sample.Value
		}
		s.samples = append(s.samples, &other)
	}
	return s
}

// hanging is the healthy one, but that it writes no report any more from then on.
func (f *footage) hanging(since time.Time) scrape {
	s := f.healthy
	s.frozen = since
	return s
}
