package metrics

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"labhub.io/webservice-controller/internal/report"
)

// prefix begins the name of every metric of ours.
const prefix = "webservice_controller_"

// other is the value of a label for what isn't on its list.
const other = "other"

// Options say what is measured, and what the labels' values are.
type Options struct {
	// Version and Commit are those of the program.
	Version, Commit string
	// ErrorClasses, HealedTargets, Resources and Verbs are the values that the
	// Observers' methods are called with.
	ErrorClasses, HealedTargets, Resources, Verbs []string
	// Queue says how many objects wait for their turn, and how long the one has that
	// has waited longest. It is asked at each scrape, and returns soon.
	Queue func() (depth int, oldest time.Duration)
	// Ready says whether the controller can work. It is asked at each scrape too.
	Ready func() bool
}

// Metrics measures one process. Its methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	state    *state

	reconciles map[string]prometheus.Counter
	durations  map[string]prometheus.Observer
	errors     map[string]prometheus.Counter
	healed     map[string]prometheus.Counter
	waits      prometheus.Histogram
	cycles     prometheus.Histogram
	done       prometheus.Histogram
	requests   *requests
}

// New makes the metrics of a process that has done nothing yet.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), state: newState(o.Queue, o.Ready)}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.state,
	)
	m.buildInfo(o.Version, o.Commit)
	actions := []string{
		string(report.ActionCreate), string(report.ActionUpdate), string(report.ActionDelete),
		string(report.ActionNoop), string(report.ActionRequeue),
	}
	m.reconciles = m.counters("reconciles_total", helpReconciles, "action", actions)
	m.durations = m.histograms("reconcile_duration_seconds", helpDuration, turnBuckets(), "action", actions)
	m.errors = m.counters("errors_total", helpErrors, "class", o.ErrorClasses)
	m.healed = m.counters("drift_healed_total", helpHealed, "target", o.HealedTargets)
	m.waits = m.histogram("queue_wait_seconds", helpWait, turnBuckets())
	m.cycles = m.histogram("cycle_duration_seconds", helpCycle, cycleBuckets())
	m.done = m.histogram("file_change_to_ready_seconds", helpDone, cycleBuckets())
	m.requests = newRequests(o.Resources, o.Verbs)
	m.registry.MustRegister(m.requests.total)
	return m
}

// turnBuckets range from a turn that finds nothing to do to one that waits for a
// server that gives no answer.
func turnBuckets() []float64 {
	return []float64{.0001, .001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// cycleBuckets range from one object that is written to thousands, or to one that
// waits for others.
func cycleBuckets() []float64 {
	return []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
}

func (m *Metrics) buildInfo(version, commit string) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "build_info", Help: helpBuild,
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "go_version": runtime.Version()},
	})
	info.Set(1)
	m.registry.MustRegister(info)
}

// counters makes a counter for each value of a label, and one for what isn't any.
// All are there from the start: a series that begins at 1 hides its first step.
func (m *Metrics) counters(name, help, label string, values []string) map[string]prometheus.Counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	m.registry.MustRegister(vec)
	return each(values, func(value string) prometheus.Counter { return vec.WithLabelValues(value) })
}

func (m *Metrics) histograms(name, help string, buckets []float64, label string, values []string) map[string]prometheus.Observer {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, []string{label})
	m.registry.MustRegister(vec)
	return each(values, func(value string) prometheus.Observer { return vec.WithLabelValues(value) })
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func each[T any](values []string, of func(string) T) map[string]T {
	all := map[string]T{other: of(other)}
	for _, value := range values {
		all[value] = of(value)
	}
	return all
}

// of is what stands for a value; what isn't on the list has one place for all of it.
func of[T any](all map[string]T, value string) T {
	if t, ok := all[value]; ok {
		return t
	}
	return all[other]
}
