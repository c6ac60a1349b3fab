package metrics

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"labhub.io/webservice-controller/internal/report"
)

// idle are options of a controller that has nothing to do.
func idle() Options {
	return Options{
		Version: "v1.2.3", Commit: "abc", ErrorClasses: []string{"refused"}, HealedTargets: []string{"configmap"},
		Resources: []string{"webservices"}, Verbs: []string{"patch"},
		Queue: func() (int, time.Duration) { return 0, 0 }, Ready: func() bool { return true },
	}
}

// scrape asks the handler, and reads its answer with the parser of Prometheus.
func scrape(t testing.TB, m *Metrics, accept string) (text []byte, families map[string]*dto.MetricFamily) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	text = w.Body.Bytes()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, families
}

// ours are the samples of our own metrics, but those that differ from run to run.
func ours(t testing.TB, m *Metrics) []string {
	t.Helper()
	text, _ := scrape(t, m, "text/plain")
	var lines []string
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), prefix); found {
			lines = append(lines, rest)
		}
	}
	return lines
}

// values are the samples of some metrics that aren't 0.
func values(t testing.TB, m *Metrics, names ...string) string {
	t.Helper()
	var lines []string
	for _, line := range ours(t, m) {
		name := line[:strings.IndexAny(line, "{ ")]
		if slices.Contains(names, name) && !strings.HasSuffix(line, " 0") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestLint: the names, types, units and help texts are those that Prometheus wants.
func TestLint(t *testing.T) {
	t.Parallel()
	m := New(idle())
	m.Publish(&report.Report{})
	m.Requested("webservices", "patch", 200)
	text, families := scrape(t, m, "text/plain")
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for name := range families {
		if !strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("the name %s", name)
		}
	}
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total", "process_start_time_seconds"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestObserved: what is told, and what it comes to.
func TestObserved(t *testing.T) {
	t.Parallel()
	m := New(idle())
	m.Reconciled(report.ActionCreate, 20*time.Millisecond)
	m.Reconciled(report.ActionNoop, time.Millisecond)
	m.Reconciled(report.ActionNoop, 3*time.Millisecond)
	m.Failed("refused")
	m.Failed("never heard of")
	m.Healed("configmap")
	m.Waited(2 * time.Millisecond)
	m.Waited(40 * time.Second)
	m.Cycled(3 * time.Second)
	m.Done(700 * time.Millisecond)
	m.Requested("webservices", "patch", 200)
	m.Requested("webservices", "patch", 200)
	m.Requested("webservices", "patch", 0)
	m.Requested("secrets", "drop", 799)
	for names, want := range map[string]string{
		"build_info":             `build_info{commit="abc",go_version="` + runtime.Version() + `",version="v1.2.3"} 1`,
		"reconciles_total":       "reconciles_total{action=\"create\"} 1\nreconciles_total{action=\"noop\"} 2",
		"errors_total":           "errors_total{class=\"other\"} 1\nerrors_total{class=\"refused\"} 1",
		"drift_healed_total":     `drift_healed_total{target="configmap"} 1`,
		"queue_wait_seconds_sum": "queue_wait_seconds_sum 40.002",
		"queue_wait_seconds_bucket": `queue_wait_seconds_bucket{le="0.005"} 1
queue_wait_seconds_bucket{le="0.01"} 1
queue_wait_seconds_bucket{le="0.025"} 1
queue_wait_seconds_bucket{le="0.05"} 1
queue_wait_seconds_bucket{le="0.1"} 1
queue_wait_seconds_bucket{le="0.25"} 1
queue_wait_seconds_bucket{le="0.5"} 1
queue_wait_seconds_bucket{le="1"} 1
queue_wait_seconds_bucket{le="2.5"} 1
queue_wait_seconds_bucket{le="5"} 1
queue_wait_seconds_bucket{le="10"} 1
queue_wait_seconds_bucket{le="30"} 1
queue_wait_seconds_bucket{le="+Inf"} 2`,
		"reconcile_duration_seconds_sum":                                      "reconcile_duration_seconds_sum{action=\"create\"} 0.02\nreconcile_duration_seconds_sum{action=\"noop\"} 0.004",
		"cycle_duration_seconds_sum cycle_duration_seconds_count":             "cycle_duration_seconds_sum 3\ncycle_duration_seconds_count 1",
		"file_change_to_ready_seconds_sum file_change_to_ready_seconds_count": "file_change_to_ready_seconds_sum 0.7\nfile_change_to_ready_seconds_count 1",
		"api_requests_total": `api_requests_total{code="200",resource="webservices",verb="patch"} 2
api_requests_total{code="none",resource="webservices",verb="patch"} 1
api_requests_total{code="other",resource="other",verb="other"} 1`,
	} {
		if got := values(t, m, strings.Fields(names)...); got != want {
			t.Errorf("%s\n got %s\nwant %s", names, got, want)
		}
	}
}

// TestReported: what a report comes to.
func TestReported(t *testing.T) {
	t.Parallel()
	item := func(action report.Action, failed, suspended bool) report.Item {
		i := report.Item{Action: action, Suspended: suspended}
		if action == report.ActionRequeue {
			i.Requeue = &report.Requeue{AfterSeconds: 1, IsError: failed}
		}
		return i
	}
	o := idle()
	ready := false
	o.Ready = func() bool { return ready }
	o.Queue = func() (int, time.Duration) { return 7, 2500 * time.Millisecond }
	m := New(o)
	if got := values(t, m, "queue_depth", "queue_oldest_seconds", "ready", "leader", "converged", "objects"); got != "queue_depth 7\nqueue_oldest_seconds 2.5" {
		t.Errorf("before the first report:\n%s", got)
	}
	ready = true
	m.Publish(&report.Report{
		Role: report.RoleActive, Converged: true,
		Source: report.Source{WatchMode: "poll", ScanIntervalSeconds: 2},
		Items: []report.Item{
			item(report.ActionNoop, false, false), item(report.ActionCreate, false, false), item(report.ActionUpdate, false, false),
			item(report.ActionRequeue, false, false), item(report.ActionRequeue, true, false), item(report.ActionRequeue, true, false),
			item(report.ActionNoop, false, true),
		},
		Held: make([]report.Held, 3), Problems: make([]report.Problem, 4), Warnings: make([]report.Problem, 5),
	})
	want := `converged 1
held_deletions 3
leader 1
objects{state="done"} 3
objects{state="failing"} 2
objects{state="suspended"} 1
objects{state="waiting"} 1
ready 1
source_problems 4
source_scan_interval_seconds 2
source_warnings 5
source_watch_mode{mode="poll"} 1`
	got := values(t, m, "converged", "held_deletions", "leader", "objects", "ready", "source_problems", "source_scan_interval_seconds",
		"source_warnings", "source_watch_mode")
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	m.Publish(&report.Report{Role: report.RoleStandby, Source: report.Source{WatchMode: "watch"}})
	want = "ready 1\nsource_watch_mode{mode=\"watch\"} 1"
	if got := values(t, m, "converged", "held_deletions", "leader", "objects", "ready", "source_problems", "source_watch_mode"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestLastConverged: it is now while all is converged, and stays when that ends.
func TestLastConverged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(idle())
		began := time.Now().Unix()
		want := func(what string, last, reported int64) {
			t.Helper()
			_, families := scrape(t, m, "text/plain")
			for name, want := range map[string]int64{"last_converged_timestamp_seconds": last, "report_timestamp_seconds": reported} {
				got := families[prefix+name].GetMetric()[0].GetGauge().GetValue()
				if want > 0 {
					got -= float64(began)
				}
				if got != float64(want) {
					t.Errorf("%s: %s is %v, want %v", what, name, got, want)
				}
			}
		}
		go10 := func() { <-time.After(10 * time.Second) }
		go10()
		m.Publish(&report.Report{}) // after 10 s
		go10()
		want("never yet", 0, 10)
		m.Publish(&report.Report{Converged: true}) // after 20 s
		want("just now", 20, 20)
		go10()
		want("it still is", 30, 20)
		m.Publish(&report.Report{Converged: true}) // after 30 s
		go10()
		m.Publish(&report.Report{}) // after 40 s
		go10()
		want("not any more", 40, 40)
		m.Publish(&report.Report{}) // after 50 s
		want("and still not", 40, 50)
	})
}

// TestSeriesHaveABound: names that files and the cluster may have make no series.
func TestSeriesHaveABound(t *testing.T) {
	t.Parallel()
	m := New(idle())
	for code := range 1000 {
		m.Requested("webservices", "patch", code)
		m.Requested("anything", "at all", code)
	}
	m.Publish(&report.Report{})
	before := len(ours(t, m))
	hostile := []string{"checkout", `"}evil{a="`, "new\nline", "\xff\xfe", strings.Repeat("long", 1000), "\\", "{__name__=\"x\"}", ""}
	for i := range 200 {
		name := hostile[i%len(hostile)] + fmt.Sprint(i)
		m.Reconciled(report.Action(name), time.Second)
		m.Failed(name)
		m.Healed(name)
		m.Requested(name, name, i)
		m.Publish(&report.Report{
			Holder: name, Role: report.Role(name), ControllerVersion: name, WaitingFor: name, Trigger: report.Trigger(name),
			Source:   report.Source{Name: name, Path: name, Revision: name, Digest: name, WatchMode: name, WatchReason: name},
			Items:    []report.Item{{Namespace: name, Name: name, Action: report.Action(name), Reason: name, Target: name, Error: name, Source: name}},
			Problems: []report.Problem{{Path: name, Field: name, Message: name}},
			Held:     []report.Held{{Namespace: name, Name: name, Reason: name}}, HeldDigest: name, HeldCommand: name,
		})
	}
	if after := len(ours(t, m)); after != before {
		t.Errorf("%d series have become %d", before, after)
	}
	for _, line := range ours(t, m) {
		for _, name := range hostile[:6] {
			if strings.Contains(line, name) {
				t.Errorf("a series tells of %q: %s", name, line)
			}
		}
	}
}

// TestOpenMetrics is what Prometheus asks for.
func TestOpenMetrics(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	New(idle()).Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, req)
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Errorf("%s\n%s", kind, w.Body)
	}
}

// TestAScrapeThatFails is logged, and is no half of an answer.
func TestAScrapeThatFails(t *testing.T) {
	t.Parallel()
	m := New(idle())
	m.registry.MustRegister(broken{})
	var log bytes.Buffer
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusInternalServerError || strings.Contains(string(body), prefix) {
		t.Errorf("%d %s, %v", w.Code, body, err)
	}
	if !strings.Contains(log.String(), "level=WARN msg=\"a scrape of the metrics failed\"") || !strings.Contains(log.String(), "out of order") {
		t.Errorf("log %s", &log)
	}
}

// broken is a collector that fails.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewDesc("broken", "broken", nil, nil), fmt.Errorf("out of order"))
}

// TestToldAllocatesNothing where the series is there.
func TestToldAllocatesNothing(t *testing.T) {
	m := New(idle())
	n := testing.AllocsPerRun(1000, func() {
		m.Waited(time.Millisecond)
		m.Reconciled(report.ActionNoop, time.Millisecond)
		m.Failed("refused")
		m.Healed("configmap")
		m.Cycled(time.Second)
		m.Done(time.Second)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
