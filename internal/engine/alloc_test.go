package engine

import (
	"fmt"
	"testing"
	"testing/synctest"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// converged is an engine that has n objects and nothing to do. What it had to do
// has been done; it doesn't lead any more.
func converged(t testing.TB, n int) (*rig, []source.Object) {
	t.Helper()
	r := newRig(t)
	var files []source.Object
	for i := range n {
		files = append(files, file(plan.Key{Namespace: "lab", Name: fmt.Sprintf("s-%04d", i)}, "a"))
	}
	r.Take(snapshot(files...))
	r.SetHolder("me", false)
	stop := background(t, r.Lead)
	o := r.Wait(t.Context())
	stop()
	if !o.Converged {
		t.Fatal(o.WaitingFor)
	}
	r.cluster.taken()
	return r, files
}

// TestPassAllocatesNothing: a turn in which nothing is to be done costs no memory.
func TestPassAllocatesNothing(t *testing.T) {
	r, _ := converged(t, 1)
	key := keysOf(r.Engine)[0]
	turn := &run{}
	if n := testing.AllocsPerRun(1000, func() { r.reconcile(t.Context(), turn, key) }); n > 0 {
		t.Errorf("%v allocations in a turn of a converged object", n)
	}
	r.wantSteps()
}

// TestPasses wake every object and send nothing.
func TestPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, files := converged(t, 100)
		defer r.lead()()
		for range 3 {
			r.cluster.looks = 0
			r.Take(interval(snapshot(files...)))
			synctest.Wait()
			if r.cluster.looks != 100 {
				t.Errorf("%d looks", r.cluster.looks)
			}
		}
		r.wantSteps()
		if rep := r.Report(); !rep.Converged || rep.Summary.Noop != 100 || rep.Requests.Writes != 0 {
			t.Errorf("converged %t, summary %+v", rep.Converged, rep.Summary)
		}
		if r.log.Len() == 0 {
			t.Fatal("the creations weren't logged")
		}
		r.log.Reset()
		r.Take(interval(snapshot(files...)))
		synctest.Wait()
		if r.log.Len() > 0 {
			t.Errorf("a pass that changes nothing logs:\n%s", r.log)
		}
	})
}

func BenchmarkConvergedTurn(b *testing.B) {
	r, _ := converged(b, 1000)
	keys := keysOf(r.Engine)
	turn := &run{}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r.reconcile(b.Context(), turn, keys[i%len(keys)])
		i++
	}
}
