package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"labhub.io/webservice-controller/internal/report"
)

// Waited notes how long an object has waited for its turn.
func (m *Metrics) Waited(d time.Duration) { m.waits.Observe(d.Seconds()) }

// Reconciled notes a turn, what came of it and how long it took.
func (m *Metrics) Reconciled(action report.Action, took time.Duration) {
	of(m.reconciles, string(action)).Inc()
	of(m.durations, string(action)).Observe(took.Seconds())
}

// Failed notes an error.
func (m *Metrics) Failed(class string) { of(m.errors, class).Inc() }

// Healed notes a write that put back what somebody else had changed.
func (m *Metrics) Healed(target string) { of(m.healed, target).Inc() }

// Cycled notes how long a cycle took.
func (m *Metrics) Cycled(took time.Duration) { m.cycles.Observe(took.Seconds()) }

// Done notes how long after the change of its file an object was done.
func (m *Metrics) Done(sinceChange time.Duration) { m.done.Observe(sinceChange.Seconds()) }

// Requested notes a request to the API server; code is 0 where there was no answer.
func (m *Metrics) Requested(resource, verb string, code int) { m.requests.note(resource, verb, code) }

// requests counts requests. Its series come with the first request of their kind:
// most of the kinds that could be never are.
type requests struct {
	total            *prometheus.CounterVec
	resources, verbs map[string]string
}

func newRequests(resources, verbs []string) *requests {
	same := func(value string) string { return value }
	return &requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "api_requests_total", Help: helpRequests},
			[]string{"resource", "verb", "code"}),
		resources: each(resources, same), verbs: each(verbs, same),
	}
}

func (r *requests) note(resource, verb string, code int) {
	r.total.WithLabelValues(of(r.resources, resource), of(r.verbs, verb), codeName(code)).Inc()
}

// codeName writes a status as a label. A server may answer with any number; those
// that have a name are few.
func codeName(code int) string {
	switch {
	case code == 0:
		return "none"
	case http.StatusText(code) == "":
		return other
	}
	return strconv.Itoa(code)
}
