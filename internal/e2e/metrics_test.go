package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// samples are the values of a scrape, by what Prometheus writes before them, our
// prefix left out: objects{state="done"}.
type samples map[string]float64

// scrape reads the daemon's metrics as Prometheus does.
func (d *daemon) scrape() (samples, error) {
	d.Helper()
	code, body := d.get("/metrics")
	if code != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %d %s", code, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	vector, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.Now()}, slices.Collect(maps.Values(families))...)
	if err != nil {
		return nil, err
	}
	s := samples{}
	for _, sample := range vector {
		s[strings.TrimPrefix(sample.Metric.String(), "webservice_controller_")] = float64(sample.Value)
	}
	return s, nil
}

// measures waits for metrics that have these values, and returns all.
func (d *daemon) measures(want samples) samples {
	d.Helper()
	var found samples
	labtest.Eventually(d, convergeLimit, func() (err error) {
		if found, err = d.scrape(); err != nil {
			return err
		}
		return found.has(want)
	})
	return found
}

func (s samples) has(want samples) error {
	for name, value := range want {
		if got, known := s[name]; !known || got != value {
			return fmt.Errorf("%s is %v (there: %t), want %v", name, got, known, value)
		}
	}
	return nil
}

// matches waits until metrics and report tell the same.
func (d *daemon) matches() {
	d.Helper()
	labtest.Eventually(d, convergeLimit, func() error {
		before, err := d.report()
		if err != nil {
			return err
		}
		s, err := d.scrape()
		if err != nil {
			return err
		}
		if now, err := d.report(); err != nil || now.Cycle != before.Cycle || now.Converged != before.Converged {
			return fmt.Errorf("the report has moved on: %w", err)
		}
		return s.has(saidBy(before))
	})
}

// saidBy is what metrics are where that is the report.
func saidBy(r *report.Report) samples {
	truth := map[bool]float64{true: 1}
	done := r.Summary.Total - r.Summary.Requeue - r.Summary.Suspended
	return samples{
		"converged": truth[r.Converged], "leader": truth[r.Role == report.RoleActive],
		"held_deletions": float64(len(r.Held)), "source_problems": float64(len(r.Problems)), "source_warnings": float64(len(r.Warnings)),
		`objects{state="done"}`: float64(done), `objects{state="failing"}`: float64(r.Summary.Errors),
		`objects{state="waiting"}`:        float64(r.Summary.Requeue - r.Summary.Errors),
		`objects{state="suspended"}`:      float64(r.Summary.Suspended),
		`source_watch_mode{mode="watch"}`: truth[r.Source.WatchMode == "watch"],
		`source_watch_mode{mode="poll"}`:  truth[r.Source.WatchMode == "poll"],
		"source_scan_interval_seconds":    r.Source.ScanIntervalSeconds,
	}
}

// Metrics tell what the report tells, and of requests what the server's own log does.
func TestMetricsAgreeWithTheReportAndTheServersLog(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t)) // a log that has nobody else's requests
	l.http = "--http-addr=127.0.0.1:0"
	all := numbered("web", 5)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes()
	d.converges()
	d.matches()
	first := d.measures(samples{
		"ready": 1, "converged": 1, "queue_depth": 0, "queue_oldest_seconds": 0,
		`objects{state="done"}`: 5, `reconciles_total{action="create"}`: 5,
		`drift_healed_total{target="webservice"}`: 0, `drift_healed_total{target="configmap"}`: 0,
		// The start is no change.
		"file_change_to_ready_seconds_count": 0,
	})
	if cycles, waits := first["cycle_duration_seconds_count"], first["queue_wait_seconds_count"]; cycles < 1 || waits < 5 {
		t.Errorf("%v cycles, and %v turns waited for", cycles, waits)
	}

	l.writeServices("nginx:1.28", all[0])
	labtest.Eventually(t, convergeLimit, func() error { return l.done(all[0], "nginx:1.28") })
	updated := d.measures(samples{"file_change_to_ready_seconds_count": 1})
	if took := updated["file_change_to_ready_seconds_sum"]; took < 0.1 || took > convergeLimit.Seconds() {
		t.Errorf("Ready %v s after the change, which has to rest for source.quiet, 0.1 s", took)
	}
	l.edit(webservices(), all[1], `{"spec": {"replicas": 9}}`)
	// Only what has come to rest can drift.
	const updates = `reconciles_total{action="update"}`
	d.measures(samples{`drift_healed_total{target="webservice"}`: 1, `drift_healed_total{target="configmap"}`: 0, updates: updated[updates] + 1})
	l.remove(configmaps(), all[1]+"-desired")
	d.measures(samples{`drift_healed_total{target="webservice"}`: 1, `drift_healed_total{target="configmap"}`: 1})
	d.converges()
	d.matches()

	l.withdraw(all[2:]...)
	d.measures(samples{"held_deletions": 3, "converged": 0})
	d.matches()
	l.write(map[string]string{"bad.yaml": bare("bad", "", "image: 1.20")})
	d.measures(samples{"source_problems": 1})
	d.matches()
	l.must(os.Remove(filepath.Join(l.source, "bad.yaml")))
	l.write(map[string]string{"lost.yaml": bare("lost", ", annotations: {webservice.labhub.io/depends-on: nobody}", "image: nginx:1")})
	d.measures(samples{"source_problems": 0, `objects{state="waiting"}`: 4})
	d.matches()
	d.wantRequestsAsLogged()

	l.writeServices("nginx:1.27", all[2:]...)
	l.must(os.Remove(filepath.Join(l.source, "lost.yaml")))
	d.converges()
	last := d.measures(samples{"converged": 1, "held_deletions": 0})
	if since := time.Since(time.UnixMicro(int64(last["last_converged_timestamp_seconds"] * 1e6))); since > convergeLimit {
		t.Errorf("converged, and last %s ago", since)
	}
	if errs := last.sum("errors_total", ""); errs != 0 {
		t.Errorf("%v errors, and nothing has failed", errs)
	}
	d.wantRequestsAsLogged()
}

// wantRequestsAsLogged waits until the metrics have exactly the requests that the
// server's log has of us: reads and writes of steps, lists and watches (each when it
// begins), and the lease's. Nothing is left out on either side.
func (d *daemon) wantRequestsAsLogged() {
	d.Helper()
	labtest.Eventually(d, convergeLimit, func() error {
		logged := samples{}
		for _, r := range d.cluster.Audit().Requests(d, "webservice-controller/", 0) {
			if r.Resource == "" {
				r.Resource = "other"
			}
			logged[fmt.Sprintf(`api_requests_total{code="%d", resource="%s", verb="%s"}`, r.Code, r.Resource, r.Verb)]++
		}
		s, err := d.scrape()
		if err != nil {
			return err
		}
		counted := s.only("api_requests_total")
		if !maps.Equal(counted, logged) {
			return fmt.Errorf("counted %v, and the server logged %v", counted, logged)
		}
		if len(logged) < 8 {
			return fmt.Errorf("only %v was logged", logged)
		}
		d.Logf("the server logged the same: %v", logged)
		return nil
	})
}

// only are the samples of one metric.
func (s samples) only(name string) samples {
	some := samples{}
	for key, value := range s {
		if strings.HasPrefix(key, name+"{") {
			some[key] = value
		}
	}
	return some
}

// sum adds the samples of one metric whose labels have that text.
func (s samples) sum(name, with string) float64 {
	sum := 0.0
	for key, value := range s.only(name) {
		if strings.Contains(key, with) {
			sum += value
		}
	}
	return sum
}

// A pass over objects that are as they should be is told as one, and moves no counter
// of requests but the lease's. That a watch is begun anew has nothing to do with it.
func TestAPassMovesNoCounterOfRequests(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.http = "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", numbered("web", 3)...)
	d := l.run(everySecond)
	d.passes(1)
	before, err := d.scrape()
	l.must(err)
	d.passes(3)
	after, err := d.scrape()
	l.must(err)
	requests := func(s samples) samples {
		s = s.only("api_requests_total")
		maps.DeleteFunc(s, func(key string, _ float64) bool {
			return strings.Contains(key, `resource="leases"`) || strings.Contains(key, `verb="watch"`)
		})
		return s
	}
	if a, b := requests(before), requests(after); len(a) < 3 || !maps.Equal(a, b) {
		t.Errorf("requests have become\n%v\nof\n%v", b, a)
	}
	const noop, lease = `reconciles_total{action="noop"}`, `api_requests_total{code="200", resource="leases", verb="update"}`
	if turns := after[noop] - before[noop]; turns < 9 {
		t.Errorf("%v turns of 3 objects in 3 passes", turns)
	}
	if after[lease] <= before[lease] {
		t.Errorf("the lease was renewed %v times, and then %v", before[lease], after[lease])
	}
	changed := []string{}
	for _, name := range []string{"errors_total", "drift_healed_total", "reconciles_total"} {
		for key, value := range after.only(name) {
			if value != before[key] {
				changed = append(changed, key)
			}
		}
	}
	if !slices.Equal(changed, []string{noop}) {
		t.Errorf("changed: %q", changed)
	}
}

// The one that stands by says so, and that it isn't ready for nothing.
func TestMetricsOfTheOneThatStandsBy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.http = "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	d.measures(samples{"leader": 1, "converged": 1})
	other := l.beside()
	other.writeServices("nginx:1.27", "checkout")
	second := other.run()
	second.measures(samples{"leader": 0, "converged": 0, "queue_depth": 0})
	second.matches()
	d.stop()
	second.measures(samples{"leader": 1, "converged": 1})
	second.matches()
}

// Names don't make series, however many and whatever they are.
func TestSeriesDontGrowWithObjects(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.http = "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	d.converges()
	series := func() int {
		s, err := d.scrape()
		l.must(err)
		ours := 0
		for key := range s {
			if !strings.HasPrefix(key, "go_") && !strings.HasPrefix(key, "process_") && !strings.HasPrefix(key, "api_requests_total") {
				ours++
			}
		}
		return ours
	}
	before := series()
	files := map[string]string{}
	for i := range 50 {
		name := fmt.Sprintf("%s%d", strings.Repeat("x", 200), i)
		files[strconv.Itoa(i)+".yaml"] = bare(name, "", "image: 'nginx:1', tier: \"a\\\"}{b\"")
	}
	files["bad.yaml"] = bare("'\"}evil{a='", "", "image: x")
	l.write(files)
	d.reports(convergeLimit, func(r *report.Report) error {
		if r.Summary.Total != 51 || r.Summary.Requeue > 0 || r.Summary.Problems == 0 {
			return errors.New(r.WaitingFor)
		}
		return nil
	})
	d.matches()
	if after := series(); after != before {
		t.Errorf("%d series have become %d", before, after)
	}
}
