package cli

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// scraped are the families that a new controller serves, our own alone.
func scraped(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	a := &app{process: &Process{Version: "v1", Commit: "abc"}}
	a.engine = engine.New(nowhere{}, engine.Options{})
	m := newMetrics(a)
	m.Publish(&report.Report{})
	m.Requested(kube.RequestResources()[0], kube.RequestVerbs()[0], http.StatusOK)
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "webservice_controller_") })
	return families
}

// nowhere is a cluster that can't be worked on.
type nowhere struct{ engine.Cluster }

func (nowhere) State() error { return fmt.Errorf("nowhere") }

// TestReadmeMetrics: the table has each metric with its labels, its type and what it
// says of itself.
func TestReadmeMetrics(t *testing.T) {
	t.Parallel()
	var got, want []string
	for _, cells := range tableRows(section(t, "Metrics"), "metric") {
		got = append(got, strings.Join(cells, " | "))
	}
	families := scraped(t)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		labels := strings.Join(labelsOf(f), ",")
		if labels != "" {
			labels = "{" + labels + "}"
		}
		want = append(want, fmt.Sprintf("`%s%s` | %s | %s", name, labels, strings.ToLower(f.GetType().String()), f.GetHelp()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("metrics; the table should be\n| %s |", strings.Join(want, " |\n| "))
	}
}

func labelsOf(f *dto.MetricFamily) []string {
	var labels []string
	for _, pair := range f.GetMetric()[0].GetLabel() {
		labels = append(labels, pair.GetName())
	}
	return labels
}

// TestReadmeLabels: the text names the values of labels that aren't plain.
func TestReadmeLabels(t *testing.T) {
	t.Parallel()
	named := codeIn(section(t, "Metrics"))
	for _, value := range slices.Concat(engine.ErrorClasses(), engine.HealedTargets(), kube.RequestVerbs(), kube.RequestResources()) {
		if !slices.Contains(named, value) {
			t.Errorf("the section doesn't name %s", value)
		}
	}
}

// TestMetricLabelsAgree: the values that are measured are those that the packages
// speak of, and none of them ends as "other".
func TestMetricLabelsAgree(t *testing.T) {
	t.Parallel()
	families := scraped(t)
	for name, want := range map[string][]string{
		"errors_total{class}":        append(engine.ErrorClasses(), "other"),
		"drift_healed_total{target}": append(engine.HealedTargets(), "other"),
		"source_watch_mode{mode}":    {string(source.ModeWatch), string(source.ModePoll)},
		"reconciles_total{action}":   {"create", "update", "delete", "noop", "requeue", "other"},
	} {
		family, label, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		var got []string
		for _, m := range families["webservice_controller_"+family].GetMetric() {
			for _, pair := range m.GetLabel() {
				if pair.GetName() == label {
					got = append(got, pair.GetValue())
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
