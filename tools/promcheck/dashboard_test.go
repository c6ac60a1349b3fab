package promcheck

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
)

const dashboardFile = "../../examples/monitoring/dashboard.json"

// dashboard is the part of Grafana's model that matters here.
type dashboard struct {
	Panels []struct {
		ID          int
		Title       string
		Description string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ RefID, Expr string }
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

// filled puts values in the place of Grafana's variables.
func filled(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$job", ".+", "$instance", ".+").Replace(expr)
}

// testDashboard: each query is one that Prometheus answers, with something to show.
func testDashboard(t *testing.T, f *footage) {
	data, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	shown := f.everything()
	series, e := shown.store(), engine()
	ids := map[int]bool{}
	for i, panel := range d.Panels {
		if len(panel.Targets) == 0 || panel.Title == "" || panel.Description == "" && panel.Title != "Versions" || ids[panel.ID] {
			t.Errorf("the panel %d, %q, lacks something", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, other := range d.Panels[:i] {
			a, b := panel.GridPos, other.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H || a.X+a.W > 24 {
				t.Errorf("%q lies over %q", panel.Title, other.Title)
			}
		}
		for _, target := range panel.Targets {
			expr := filled(target.Expr)
			for _, selector := range selectors(t, expr) {
				wantThere(t, series, panel.Title, selector)
			}
			result := query(t, e, series, expr, shown.end())
			if !slices.ContainsFunc(result, func(s promql.Sample) bool { return !math.IsNaN(s.F) }) {
				t.Errorf("%s: nothing to show for %s", panel.Title, expr)
			}
		}
	}
	if len(d.Panels) < 10 {
		t.Errorf("%d panels", len(d.Panels))
	}
	for _, variable := range d.Templating.List {
		if strings.Contains(string(data), "$"+variable.Name) || strings.Contains(string(data), "${"+variable.Name+"}") {
			continue
		}
		t.Errorf("nothing uses the variable %s", variable.Name)
	}
}
