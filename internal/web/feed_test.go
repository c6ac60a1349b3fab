package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

// fedFeed is a feed whose latest report is set by hand.
type fedFeed struct {
	feed
	t      *testing.T
	report *report.Report
}

func newFeed(t *testing.T) *fedFeed {
	f := &fedFeed{t: t}
	f.latest, f.view = func() *report.Report { return f.report }, func() View { return nil }
	f.begin()
	return f
}

// ask is what a page that has seen id is told; nil is nothing.
func (f *fedFeed) ask(id string) (*frame, string) {
	f.t.Helper()
	data, now, err := f.since(id)
	if err != nil {
		f.t.Fatal(err)
	}
	if data == nil {
		return nil, now
	}
	var m frame
	if err := json.Unmarshal(data, &m); err != nil {
		f.t.Fatal(err)
	}
	return &m, now
}

// TestFeedTellsWhatChanged, and nothing of what didn't.
func TestFeedTellsWhatChanged(t *testing.T) {
	t.Parallel()
	waits := func(after int64, isError bool) func(*report.Report) {
		return func(r *report.Report) {
			r.Items[1].Action, r.Items[1].Requeue = report.ActionRequeue, &report.Requeue{AfterSeconds: after, IsError: isError}
		}
	}
	nothing := func(*report.Report) {}
	for _, c := range []struct {
		name        string
		before, now func(*report.Report)
		items, gone int
		lists       bool
	}{
		{"nothing", nothing, nothing, 0, 0, false},
		{"a reason", nothing, func(r *report.Report) { r.Items[0].Reason = "x" }, 1, 0, false},
		{"a version", nothing, func(r *report.Report) { r.Items[0].ResourceVersions.ConfigMap.After = "x" }, 1, 0, false},
		{"suspended", nothing, func(r *report.Report) { r.Items[0].Suspended = true }, 1, 0, false},
		{"it waits now", nothing, waits(5, false), 1, 0, false},
		{"it waits a second less", waits(5, false), waits(4, false), 0, 0, false},
		{"it waits much longer", waits(5, false), waits(60, false), 1, 0, false},
		{"it waited, and fails", waits(5, false), waits(5, true), 1, 0, false},
		{"an object comes", func(r *report.Report) { r.Items = r.Items[:3] }, nothing, 1, 0, false},
		{"an object goes", nothing, func(r *report.Report) { r.Items = r.Items[:3] }, 0, 1, false},
		{"the first goes and another changes", nothing, func(r *report.Report) { r.Items = r.Items[1:]; r.Items[0].Reason = "x" }, 1, 1, false},
		{"all go", nothing, func(r *report.Report) { r.Items = nil }, 0, 4, false},
		{"a problem comes", nothing, func(r *report.Report) { r.Problems = []report.Problem{{Path: "x"}} }, 0, 0, true},
		{"a hold comes", nothing, func(r *report.Report) { r.Held = []report.Held{{Name: "x"}} }, 0, 0, true},
		{"an object is held", nothing, func(r *report.Report) {
			r.Held = []report.Held{{Namespace: r.Items[2].Namespace, Name: r.Items[2].Name}}
		}, 1, 0, true},
		{"a file can't be used", nothing, func(r *report.Report) { r.Items[0].Unusable = true }, 1, 0, false},
		{"a warning goes", func(r *report.Report) { r.Warnings = []report.Problem{{Path: "x"}} }, nothing, 0, 0, true},
	} {
		f := newFeed(t)
		f.report = aReport(4)
		c.before(f.report)
		if all, _ := f.ask(""); all == nil || !all.Full {
			t.Fatalf("%s: not all at first", c.name)
		}
		_, seen := f.ask("")
		f.report = aReport(4)
		c.now(f.report)
		m, now := f.ask(seen)
		if m == nil || m.Full || len(m.Items) != c.items || len(m.Gone) != c.gone || (m.Lists != nil) != c.lists {
			t.Errorf("%s: %+v", c.name, m)
		}
		if again, _ := f.ask(now); again != nil {
			t.Errorf("%s: told twice", c.name)
		}
	}
}

// TestFeedForgets: a page that has missed the end of too many objects begins anew.
func TestFeedForgets(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	f.report = aReport(keptGone + 10)
	_, seen := f.ask("")
	f.report = aReport(0)
	if m, _ := f.ask(seen); m == nil || !m.Full || len(m.Items) != 0 || len(m.Gone) != 0 {
		t.Errorf("after %d have gone: %+v", keptGone+10, m)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.gone) != keptGone {
		t.Errorf("%d are remembered", len(f.gone))
	}
}

// TestFeedOverTime: a page that follows with breaks ends up with what is true, as one
// that never looked away does.
func TestFeedOverTime(t *testing.T) {
	t.Parallel()
	f := newFeed(t)
	pages := make([]struct {
		seen string
		has  map[key]string
	}, 4)
	for round := range 200 {
		r := aReport(20)
		for i := range r.Items {
			r.Items[i].Reason = fmt.Sprint((round + i) / 7)
		}
		from := round % 13
		r.Items = append(r.Items[:from:from], r.Items[min(20, from+round%5):]...)
		f.report = r
		for i := range pages {
			if p := &pages[i]; round%(i*i+1) == 0 {
				m, now := f.ask(p.seen)
				if m.Full {
					p.has = map[key]string{}
				}
				for _, k := range m.Gone {
					delete(p.has, k)
				}
				for _, it := range m.Items {
					p.has[key{it.Namespace, it.Name}] = it.Reason
				}
				p.seen = now
				if len(p.has) != len(r.Items) {
					t.Fatalf("round %d, page %d: %d objects, want %d", round, i, len(p.has), len(r.Items))
				}
				for _, it := range r.Items {
					if p.has[key{it.Namespace, it.Name}] != it.Reason {
						t.Fatalf("round %d, page %d: %s is stale", round, i, it.Name)
					}
				}
			}
		}
	}
}

func BenchmarkFeedOf10000(b *testing.B) {
	reports := []*report.Report{aReport(10_000), aReport(10_000)}
	reports[1].Items[77].Reason = "changed"
	at := 0
	f := &feed{latest: func() *report.Report { return reports[at%2] }, view: func() View { return nil }}
	f.begin()
	_, seen, err := f.since("")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		at++
		if _, seen, err = f.since(seen); err != nil {
			b.Fatal(err)
		}
	}
}
