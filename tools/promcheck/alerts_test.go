package promcheck

import (
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

const (
	alertsFile = "../../examples/monitoring/alerts.yaml"
	alertsPage = "../../examples/monitoring/README.md"
)

// rules are those of the file, which Prometheus finds nothing wrong with.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.LegacyValidation, promParser(), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	var all []rulefmt.Rule
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// alert is one that fires, and what it says.
type alert struct {
	labels  string
	summary string
}

// fires evaluates a rule at each frame, as Prometheus does, and returns the alerts
// that fire at the end.
func fires(t *testing.T, rule rulefmt.Rule, f film) []alert {
	t.Helper()
	e, series := engine(), f.store()
	since := map[string]time.Time{}
	var last promql.Vector
	for i := range f {
		last = query(t, e, series, rule.Expr, f.at(i))
		now := map[string]time.Time{}
		for _, s := range last {
			key := s.Metric.String()
			now[key] = f.at(i)
			if began, known := since[key]; known {
				now[key] = began
			}
		}
		since = now
	}
	var firing []alert
	for _, s := range last {
		if f.end().Sub(since[s.Metric.String()]) >= time.Duration(rule.For) {
			firing = append(firing, alert{s.Metric.String(), expand(t, rule, s, f.end())})
		}
	}
	return firing
}

// expand fills in the summary, as Prometheus does.
func expand(t *testing.T, rule rulefmt.Rule, s promql.Sample, at time.Time) string {
	t.Helper()
	data := template.AlertTemplateData(s.Metric.Map(), nil, "", s)
	text := "{{$labels := .Labels}}{{$value := .Value}}" + rule.Annotations["summary"]
	summary, err := template.NewTemplateExpander(t.Context(), text, rule.Alert, data, model.TimeFromUnixNano(at.UnixNano()), nil, &url.URL{}, nil).Expand()
	if err != nil {
		t.Errorf("%s: %v", rule.Alert, err)
	}
	return summary
}

// firing are the names of all alerts that fire at a film's end.
func firing(t *testing.T, all []rulefmt.Rule, f film) []string {
	t.Helper()
	names := map[string]bool{}
	for _, rule := range all {
		for _, a := range fires(t, rule, f) {
			names[strings.TrimPrefix(rule.Alert, "WebServiceController")] = true
			t.Logf("%s %s: %s", rule.Alert, a.labels, a.summary)
			if strings.Contains(a.summary, "no value") || strings.Contains(a.summary, "{{") || strings.Contains(a.summary, "  ") {
				t.Errorf("%s: the summary isn't filled in: %s", rule.Alert, a.summary)
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestExamples holds alerts and dashboard against one run of a real controller.
func TestExamples(t *testing.T) {
	f := record(t)
	t.Run("alerts", func(t *testing.T) { testAlerts(t, f) })
	t.Run("names", func(t *testing.T) { testNames(t, f) })
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, f) })
}

func testAlerts(t *testing.T, f *footage) {
	all := rules(t)
	// The one that stands by has nothing to report.
	standby := f.standby
	standby.frozen = begin()
	healthy := hold(frame{"a": f.healthy, "b": standby})
	fired := map[string]bool{}
	for _, c := range []struct {
		name    string
		trouble film
		want    string
	}{
		{"all is well", healthy, ""},
		{"files change all the time", of(slices.Concat(f.busy, f.busy[5:])...), ""},
		{"the one that leads is gone", hold(frame{"b": standby}), "NoLeader"},
		{"nobody is left", hold(frame{}), "NoLeader"},
		{"deletions are held", hold(frame{"a": f.held}), "DeletionsHeld NotConverged"},
		{"a file has a problem", hold(frame{"a": f.problems}), "NotConverged SourceProblems"},
		{"the API server fails", of(f.failing...), "APIErrors NotConverged ReconcileErrors"},
		{"the API server is away", of(f.away...), "APIErrors NoLeader NotReady"},
		{"there are no hints", hold(frame{"a": f.polling()}), "Polling"},
		{"no report is written", hold(frame{"a": f.hanging(healthy.end())}), "ReportStale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := slices.Concat(healthy, c.trouble)
			want := strings.Fields(c.want)
			if got := firing(t, all, whole); !slices.Equal(got, want) {
				t.Errorf("firing %q, want %q", got, want)
			}
			for _, name := range want {
				fired[name] = true
			}
			// What lasts a minute wakes nobody, and what is over is over.
			early := firing(t, all, slices.Concat(healthy, c.trouble[:2]))
			if len(early) > 0 {
				t.Errorf("firing after a minute: %q", early)
			}
			if late := firing(t, all, slices.Concat(whole, healthy)); len(late) > 0 {
				t.Errorf("firing although all is well again: %q", late)
			}
		})
	}
	for _, rule := range all {
		if !fired[strings.TrimPrefix(rule.Alert, "WebServiceController")] {
			t.Errorf("%s has fired nowhere", rule.Alert)
		}
	}
}

// everything is a film in which every metric has moved.
func (f *footage) everything() film { return of(slices.Concat(f.away, f.failing, f.busy)...) }

// testNames: each metric that an alert names is there, with each label that it asks
// for, and each value.
func testNames(t *testing.T, f *footage) {
	series := f.everything().store()
	for _, rule := range rules(t) {
		for _, selector := range selectors(t, rule.Expr) {
			wantThere(t, series, rule.Alert, selector)
		}
	}
}

// selectors are the parts of an expression that choose series.
func selectors(t *testing.T, expr string) []*parser.VectorSelector {
	t.Helper()
	parsed, err := promParser().ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var all []*parser.VectorSelector
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			all = append(all, s)
		}
		return nil
	})
	if len(all) == 0 {
		t.Errorf("%s chooses nothing", expr)
	}
	return all
}

// wantThere wants some series for a selector, and the labels that it matches on all of
// that metric.
func wantThere(t *testing.T, series stored, who string, s *parser.VectorSelector) {
	t.Helper()
	found := series.Select(t.Context(), false, nil, s.LabelMatchers...)
	if !found.Next() {
		t.Errorf("%s: the controller has nothing for %s", who, s)
	}
	metric := labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, s.Name)
	for all := series.Select(t.Context(), false, nil, metric); all.Next(); {
		for _, m := range s.LabelMatchers {
			if all.At().Labels().Get(m.Name) == "" {
				t.Errorf("%s: %s has no label %s", who, s.Name, m.Name)
			}
		}
	}
}

// TestAlertsSayWhatToDo: each has a severity, a time to wait and a summary, and a row
// in the page beside it.
func TestAlertsSayWhatToDo(t *testing.T) {
	page, err := os.ReadFile(alertsPage)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `WebServiceController") {
			cells := strings.Split(line, " | ")
			rows = append(rows, strings.Trim(cells[0], "| `")+" "+cells[1]+" "+cells[2])
		}
	}
	var want []string
	for _, rule := range rules(t) {
		if rule.For == 0 || rule.Labels["severity"] == "" || len(rule.Annotations["summary"]) < 40 {
			t.Errorf("%s: for %s, labels %v, annotations %v", rule.Alert, rule.For, rule.Labels, rule.Annotations)
		}
		want = append(want, fmt.Sprintf("%s %s %s", rule.Alert, rule.Labels["severity"], rule.For))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the page's table has\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
