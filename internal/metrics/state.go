package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"labhub.io/webservice-controller/internal/report"
)

// state is what is so at the moment of a scrape: what the last report says, and what
// is asked for.
type state struct {
	queue func() (depth int, oldest time.Duration)
	ready func() bool

	mu   sync.Mutex
	last *report.Report // nil before the first
	// reported is when the last report came, converged until when all was converged;
	// zero: never, or it still is.
	reported, converged time.Time

	depthDesc, oldestDesc, readyDesc      *prometheus.Desc
	leaderDesc, convergedDesc, lastDesc   *prometheus.Desc
	reportedDesc, objectsDesc, heldDesc   *prometheus.Desc
	problemsDesc, warningsDesc, watchDesc *prometheus.Desc
	scanDesc                              *prometheus.Desc
}

// The values of labels that come of the report.
const (
	objectDone      = "done"
	objectWaiting   = "waiting"
	objectFailing   = "failing"
	objectSuspended = "suspended"

	modeWatch = "watch"
	modePoll  = "poll"
)

func newState(queue func() (int, time.Duration), ready func() bool) *state {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+name, help, labels, nil)
	}
	return &state{
		queue: queue, ready: ready,
		depthDesc:     desc("queue_depth", helpDepth),
		oldestDesc:    desc("queue_oldest_seconds", helpOldest),
		readyDesc:     desc("ready", helpReady),
		leaderDesc:    desc("leader", helpLeader),
		convergedDesc: desc("converged", helpConverged),
		lastDesc:      desc("last_converged_timestamp_seconds", helpLastConverged),
		reportedDesc:  desc("report_timestamp_seconds", helpReported),
		objectsDesc:   desc("objects", helpObjects, "state"),
		heldDesc:      desc("held_deletions", helpHeld),
		problemsDesc:  desc("source_problems", helpProblems),
		warningsDesc:  desc("source_warnings", helpWarnings),
		watchDesc:     desc("source_watch_mode", helpWatchMode, "mode"),
		scanDesc:      desc("source_scan_interval_seconds", helpScanInterval),
	}
}

// Publish makes r the report by which the metrics go. It is only read.
func (m *Metrics) Publish(r *report.Report) { m.state.publish(r, time.Now()) }

func (s *state) publish(r *report.Report, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.last.Converged {
		s.converged = now // until this very report
	}
	s.last, s.reported = r, now
}

// Describe tells of every metric of the state.
func (s *state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		s.depthDesc, s.oldestDesc, s.readyDesc, s.leaderDesc, s.convergedDesc, s.lastDesc, s.reportedDesc,
		s.objectsDesc, s.heldDesc, s.problemsDesc, s.warningsDesc, s.watchDesc, s.scanDesc,
	} {
		ch <- d
	}
}

// Collect tells how things stand.
func (s *state) Collect(ch chan<- prometheus.Metric) {
	g := gauges{ch}
	depth, oldest := s.queue()
	g.set(s.depthDesc, float64(depth))
	g.set(s.oldestDesc, oldest.Seconds())
	g.set(s.readyDesc, truth(s.ready()))
	s.mu.Lock()
	r, reported, converged := s.last, s.reported, s.converged
	s.mu.Unlock()
	if r == nil {
		return
	}
	if r.Converged {
		converged = time.Now()
	}
	g.set(s.reportedDesc, unix(reported))
	g.set(s.lastDesc, unix(converged))
	s.collectReport(g, r)
}

func (s *state) collectReport(g gauges, r *report.Report) {
	g.set(s.leaderDesc, truth(r.Role == report.RoleActive))
	g.set(s.convergedDesc, truth(r.Converged))
	counts := countObjects(r.Items)
	for _, state := range []string{objectDone, objectWaiting, objectFailing, objectSuspended} {
		g.set(s.objectsDesc, float64(counts[state]), state)
	}
	g.set(s.heldDesc, float64(len(r.Held)))
	g.set(s.problemsDesc, float64(len(r.Problems)))
	g.set(s.warningsDesc, float64(len(r.Warnings)))
	for _, mode := range []string{modeWatch, modePoll} {
		g.set(s.watchDesc, truth(r.Source.WatchMode == mode), mode)
	}
	g.set(s.scanDesc, r.Source.ScanIntervalSeconds)
}

// countObjects counts each item once, by what a reader asks for first.
func countObjects(items []report.Item) map[string]int {
	counts := map[string]int{}
	for i := range items {
		item := &items[i]
		switch {
		case item.Failed():
			counts[objectFailing]++
		case item.Suspended:
			counts[objectSuspended]++
		case item.Action == report.ActionRequeue:
			counts[objectWaiting]++
		default:
			counts[objectDone]++
		}
	}
	return counts
}

// gauges sends values.
type gauges struct{ ch chan<- prometheus.Metric }

func (g gauges) set(d *prometheus.Desc, value float64, labels ...string) {
	g.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is the time in seconds since 1970; 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}
