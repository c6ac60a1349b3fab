package promcheck

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrape is what one process served at a moment.
type scrape struct {
	at      time.Time
	samples model.Vector
	// frozen is when the process wrote its last report, in the time of the film; zero
	// where it goes on writing them.
	frozen time.Time
}

// frame is what Prometheus gets at one round of scraping, by instance.
type frame map[string]scrape

// film is a run as Prometheus has it in store: frames a minute apart. What took seconds
// in the real run takes minutes here; times that a scrape tells of move along with it,
// so that each is as long ago as it really was.
type film []frame

const step = time.Minute

// begin is the time of the first frame.
func begin() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func (f film) at(i int) time.Time { return begin().Add(time.Duration(i) * step) }

func (f film) end() time.Time { return f.at(len(f) - 1) }

// minutes is more than the longest time for which an alert waits.
const minutes = 20

// hold is a film of one frame that stays so for that long.
func hold(f frame) film { return slices.Repeat(film{f}, minutes) }

// of is a film of one process.
func of(scrapes ...scrape) film {
	var f film
	for _, s := range scrapes {
		f = append(f, frame{"a": s})
	}
	return f
}

// stored is a film as series, the way that Prometheus stores them: with a mark where
// a series ends.
type stored []storage.Series

func (f film) store() stored {
	points := map[string][]chunks.Sample{}
	sets := map[string]labels.Labels{}
	for i, shown := range f {
		now := f.at(i)
		seen := map[string]bool{}
		for instance, s := range shown {
			for _, sample := range s.samples {
				set := labelsOf(sample, instance)
				key := set.String()
				sets[key], seen[key] = set, true
				points[key] = append(points[key], point{now.UnixMilli(), moved(sample, s, now)})
			}
		}
		for key, all := range points {
			if last := all[len(all)-1]; !seen[key] && !value.IsStaleNaN(last.F()) {
				points[key] = append(all, point{now.UnixMilli(), math.Float64frombits(value.StaleNaN)})
			}
		}
	}
	var series stored
	for key, set := range sets {
		series = append(series, storage.NewListSeries(set, points[key]))
	}
	slices.SortFunc(series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return series
}

func labelsOf(sample *model.Sample, instance string) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	for name, value := range sample.Metric {
		b.Set(string(name), string(value))
	}
	return b.Set("job", "webservice-controller").Set("instance", instance).Labels()
}

// moved is a sample's value in the film.
func moved(sample *model.Sample, s scrape, now time.Time) float64 {
	v := float64(sample.Value)
	if !s.frozen.IsZero() {
		now = s.frozen
	}
	if v == 0 || !strings.HasSuffix(string(sample.Metric[model.MetricNameLabel]), "_timestamp_seconds") {
		return v
	}
	return v + now.Sub(s.at).Seconds()
}

// Querier makes it a storage.Queryable.
func (s stored) Querier(_, _ int64) (storage.Querier, error) { return s, nil }

// Select finds the series that match.
func (s stored) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, series := range s {
		set := series.Labels()
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(set.Get(m.Name)) }) {
			found.series = append(found.series, series)
		}
	}
	return found
}

func (stored) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (stored) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (stored) Close() error { return nil }

// set goes over series; the first Next leads to the first.
type set struct {
	series []storage.Series
	next   int
}

func (s *set) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.next-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// point is a value at a time in milliseconds.
type point struct {
	at int64
	v  float64
}

func (p point) T() int64                      { return p.at }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.v }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }

func promParser() parser.Parser { return parser.NewParser(parser.Options{}) }

// engine evaluates as Prometheus does with its default settings.
func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, Parser: promParser(),
	})
}

// query evaluates an expression at one time.
func query(t testing.TB, e *promql.Engine, s stored, expr string, at time.Time) promql.Vector {
	t.Helper()
	q, err := e.NewInstantQuery(t.Context(), s, nil, expr, at)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	result := q.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return slices.Clone(vector)
}
