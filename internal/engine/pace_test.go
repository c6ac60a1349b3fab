package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// TestPace: a server that fails whatever it is asked for isn't asked more often the
// more objects there are, nor are those held up that have nothing to do with it; and
// all are tried again within the longest wait once it works.
func TestPace(t *testing.T) {
	for _, objects := range []int{20, 500} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const during = 5 * time.Minute
				var tries atomic.Int64
				var fails atomic.Bool
				fails.Store(true)
				r := newRig(t)
				r.cluster.fail = func(_ context.Context, key plan.Key, _ *plan.Step) error {
					if key == billing || !fails.Load() {
						return nil
					}
					tries.Add(1)
					return unavailable(0)
				}
				defer r.lead()()
				var files []source.Object
				for n := range objects {
					files = append(files, file(plan.Key{Namespace: "lab", Name: fmt.Sprintf("web-%03d", n)}, "nginx:1.27"))
				}
				r.Take(snapshot(files...))
				pass(during)
				// Each is tried once, and then one every 4 s.
				if n := tries.Load() - int64(objects); n < 60 || n > int64(during/mostPace)+10 {
					t.Errorf("%d objects were tried again %d times in %s", objects, n, during)
				}
				r.Take(snapshot(append(files, file(billing, "nginx:1.27"))...))
				synctest.Wait()
				if it := r.item(billing); it.Action != report.ActionCreate {
					t.Errorf("the object that doesn't fail: %+v", it)
				}
				fails.Store(false)
				pass(time.Minute + time.Minute/5 + mostPace)
				r.wantConverged()
			})
		})
	}
}

// TestPaceSteps: the distances between tries, from one that fails to one that doesn't.
func TestPaceSteps(t *testing.T) {
	t.Parallel()
	b := Backoff{Initial: time.Second, Max: time.Minute}
	now := time.Unix(0, 0)
	var p pace
	for i, want := range []time.Duration{1 * time.Second, 2 * time.Second, mostPace, mostPace} {
		if wait := p.wait(now, b); wait != 0 {
			t.Fatalf("try %d: has to wait %s", i+1, wait)
		}
		p.failed()
		if wait := p.wait(now, b); wait != want {
			t.Errorf("after try %d: %s, want %s", i+1, wait, want)
		}
		now = now.Add(want)
	}
	p.wait(now, b)
	p.answered()
	if wait := p.wait(now, b); wait != 0 {
		t.Errorf("after an answer: %s", wait)
	}
}
