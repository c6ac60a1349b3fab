package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// converged is an engine that has n objects and nothing to do. What it had to do
// has been done; it doesn't lead any more.
func converged(t testing.TB, n int, change ...func(*Options)) (*rig, []source.Object) {
	t.Helper()
	r := newRig(t, change...)
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

// TestPassAllocatesNothing: a turn in which nothing is to be done costs no memory,
// whatever the object is.
func TestPassAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(*rig)
	}{
		{"plain", func(*rig) {}},
		{"that depends on another", func(r *rig) { r.desired[lab("s-0000")].object.DependsOn = []plan.Key{lab("s-0001")} }},
		{"that was fought for", func(r *rig) {
			it := r.items[lab("s-0000")]
			it.contests, it.fought = &plan.Contests{}, time.Now()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := converged(t, 2, pruning)
			c.prepare(r)
			turn := &run{}
			if n := testing.AllocsPerRun(1000, func() { r.reconcile(t.Context(), turn, lab("s-0000")) }); n > 0 {
				t.Errorf("%v allocations in a turn of a converged object", n)
			}
			r.wantSteps()
			r.wantConverged()
		})
	}
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
