package engine

import (
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/metrics"
	"labhub.io/webservice-controller/internal/plan"
)

// measuring has an engine observed by the real metrics.
func measuring(o *Options) {
	o.Observer = metrics.New(metrics.Options{
		ErrorClasses: ErrorClasses(), HealedTargets: HealedTargets(),
		Queue: func() (int, time.Duration) { return 0, 0 }, Ready: func() bool { return true },
	})
}

// TestMeasuredPassAllocatesNothing more than one that isn't measured: nothing.
func TestMeasuredPassAllocatesNothing(t *testing.T) {
	r, _ := converged(t, 2, measuring)
	turn := passOver(r)
	if n := testing.AllocsPerRun(1000, func() { turn(t, lab("s-0000")) }); n > 0 {
		t.Errorf("%v allocations in a measured turn of a converged object", n)
	}
	r.wantSteps()
}

// passOver gives a key its turn as a worker does, from the moment that it is woken.
func passOver(r *rig) func(testing.TB, plan.Key) {
	turn := &run{}
	return func(t testing.TB, key plan.Key) {
		r.mu.Lock()
		r.items[key].wakened()
		r.mu.Unlock()
		r.due(key, nil)
		r.turn(t.Context(), turn, key)
	}
}

// BenchmarkMeasuredTurn measures a turn that finds nothing to do, in pairs: with the
// real metrics, and without. What they cost is the ratio.
func BenchmarkMeasuredTurn(b *testing.B) {
	const n = 1000
	plain, _ := converged(b, n)
	measured, _ := converged(b, n, measuring)
	keys := keysOf(plain.Engine)
	round := func(turn func(testing.TB, plan.Key)) time.Duration {
		began := time.Now()
		for _, key := range keys {
			turn(b, key)
		}
		return time.Since(began)
	}
	without, with := passOver(plain), passOver(measured)
	var a, z time.Duration
	for b.Loop() {
		a += round(without)
		z += round(with)
	}
	rounds := float64(b.N) * n
	b.ReportMetric(float64(a.Nanoseconds())/rounds, "ns/turn")
	b.ReportMetric(float64(z.Nanoseconds())/rounds, "ns/measured-turn")
	b.ReportMetric(float64(z)/float64(a), "ratio")
}
