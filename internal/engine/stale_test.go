package engine

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// TestStaleView: a cluster that doesn't show what was written leads to a few
// writes at growing distances, never to a stream of them, and to none once it
// shows all.
func TestStaleView(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(*rig)
		most  int // writes within ten minutes
	}{
		{"a new object doesn't show", func(r *rig) {
			r.cluster.freeze()
			r.Take(snapshot(file(checkout, "nginx:1.27")))
		}, 20},
		{"a new spec doesn't show", func(r *rig) {
			r.Take(snapshot(file(checkout, "nginx:1.27")))
			synctest.Wait()
			r.cluster.taken()
			r.cluster.freeze()
			r.Take(snapshot(file(checkout, "nginx:1.28")))
		}, 20},
		{"a mended status doesn't show", func(r *rig) {
			r.Take(snapshot(file(checkout, "nginx:1.27")))
			synctest.Wait()
			r.cluster.taken()
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Status = v1.WebServiceStatus{} })
			r.cluster.freeze()
		}, 20},
		{"a new namespace doesn't show", func(r *rig) {
			delete(r.cluster.world.namespaces, "lab")
			r.cluster.freeze()
			r.Take(snapshot(file(checkout, "nginx:1.27")))
		}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.lead()()
				c.setup(r)
				synctest.Wait()
				if n := len(r.cluster.taken()); n > 3 {
					t.Errorf("%d writes in the first turn", n)
				}
				pass(10 * time.Minute)
				if n := len(r.cluster.taken()); n > c.most {
					t.Errorf("%d writes in ten minutes, want at most %d", n, c.most)
				}
				if r.Report().Converged {
					t.Error("converged on a view that is behind")
				}

				r.cluster.thaw()
				pass(2 * time.Minute)
				r.wantConverged()
				r.cluster.taken()
				pass(10 * time.Minute)
				r.wantSteps()
			})
		})
	}
}

// TestCrash: wherever a process dies, the next one goes on from what is there,
// and takes no step twice.
func TestCrash(t *testing.T) {
	all := created("checkout")
	for dead := range len(all) + 1 {
		synctest.Test(t, func(t *testing.T) {
			first := newRig(t)
			taken := 0
			first.cluster.fail = crashAfter(dead, &taken)
			stop := first.lead()
			first.Take(snapshot(file(checkout, "nginx:1.27")))
			synctest.Wait()
			stop()

			second := newRig(t)
			second.cluster.world = first.cluster.world
			second.cluster.version = first.cluster.version
			defer second.lead()()
			second.Take(snapshot(file(checkout, "nginx:1.27")))
			synctest.Wait()
			second.wantSteps(all[dead:]...)
			second.wantConverged()
		})
	}
}
