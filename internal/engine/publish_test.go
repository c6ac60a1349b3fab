package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPacer: how long it is until the next report.
func TestPacer(t *testing.T) {
	t.Parallel()
	const now, idle = 0, reportLook
	for _, c := range []struct {
		name               string
		since              time.Duration // since the last report
		news               bool
		wasConverged       bool
		lasting, converged bool
		want               time.Duration
	}{
		{name: "a cycle lasts", since: 500 * time.Millisecond, lasting: true, want: 1500 * time.Millisecond},
		{name: "a cycle lasts, and there is news", since: 500 * time.Millisecond, news: true, lasting: true, want: 1500 * time.Millisecond},
		{name: "a cycle has begun long after the last report", since: time.Minute, news: true, wasConverged: true, lasting: true, want: -58 * time.Second},
		{name: "nothing is new", since: time.Minute, want: idle},
		{name: "nothing is new and all is converged", since: time.Minute, wasConverged: true, converged: true, want: idle},
		{name: "a cycle has ended, as before", since: 300 * time.Millisecond, news: true, wasConverged: true, converged: true, want: 700 * time.Millisecond},
		{name: "a cycle has ended, and all is converged now", since: 300 * time.Millisecond, news: true, converged: true, want: now},
		{name: "a cycle has ended, and all isn't any more", since: 300 * time.Millisecond, news: true, wasConverged: true, want: now},
		{name: "a cycle has ended long after the last report", since: time.Minute, news: true, want: -59 * time.Second},
	} {
		last := time.Unix(1000, 0)
		p := pacer{news: c.news, last: last, converged: c.wasConverged}
		if got := p.wait(last.Add(c.since), c.lasting, c.converged); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if p := (&pacer{}); p.wait(time.Unix(1000, 0), true, false) > 0 {
		t.Error("the first report isn't due at once")
	}
}

// stamps are the reports since the last call: when each came, in seconds since
// began, and what it said.
func (r *rig) stamps(began time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for i, rep := range r.reports {
		out = append(out, fmt.Sprintf("%.1f cycle %d %t", r.times[i].Sub(began).Seconds(), rep.Cycle, rep.Converged))
	}
	r.reports, r.times = nil, nil
	return out
}

func (r *rig) wantStamps(began time.Time, want ...string) {
	r.t.Helper()
	if got := r.stamps(began); !slices.Equal(got, want) {
		r.t.Errorf("reports %q, want %q", got, want)
	}
}

func TestPublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := background(t, r.Publishing)
		began := time.Now()
		synctest.Wait()
		r.wantStamps(began, "0.0 cycle 0 false")

		// A cycle that lasts five seconds, since the watch is behind.
		r.cluster.lag(true)
		r.Take(snapshot(file(checkout, "a")))
		stopLeading := r.lead()
		pass(5 * time.Second)
		r.cluster.lag(false)
		pass(time.Minute)
		r.wantStamps(began, "2.0 cycle 1 false", "4.0 cycle 1 false", "5.0 cycle 1 true")

		// Ten cycles within two seconds, and all of them converged.
		began = time.Now()
		for range 10 {
			r.Changed(checkout)
			pass(200 * time.Millisecond)
		}
		pass(time.Minute)
		got := r.stamps(began)
		if len(got) > 5 || got[len(got)-1] != "2.0 cycle 11 true" && got[len(got)-1] != "3.0 cycle 11 true" {
			t.Errorf("ten short cycles: %q", got)
		}

		// Something else changes what the report says.
		began = time.Now()
		r.cluster.setState(errAway, true)
		pass(time.Second)
		if got := r.stamps(began); got[0] != "0.0 cycle 11 false" || len(got) > 2 {
			t.Errorf("when the cluster is away: %q", got)
		}
		r.cluster.setState(nil, true)
		pass(time.Minute)
		if got := r.stamps(began); len(got) == 0 || got[len(got)-1][4:] != "cycle 12 true" {
			t.Errorf("after it is back: %q", got)
		}

		stopLeading()
		pass(time.Minute)
		r.stamps(began)
		began = time.Now()
		stop()
		r.wantStamps(began, "0.0 cycle 12 true")
	})
}

// TestPublishingCutOff: a cycle that nobody works on any more isn't reported on
// again and again.
func TestPublishingCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer background(t, r.Publishing)()
		r.cluster.lag(true)
		r.Take(snapshot(file(checkout, "a")))
		stop := r.lead()
		pass(time.Second)
		stop()
		r.SetHolder("pod-b_2", true)
		pass(5 * time.Second)
		r.stamps(time.Now())
		pass(10 * time.Minute)
		if got := r.stamps(time.Now()); len(got) > 0 {
			t.Errorf("%d reports while standing by", len(got))
		}
	})
}
