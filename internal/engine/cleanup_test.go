package engine

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// deletes is what somebody does who deletes an object with these finalizers.
func (r *rig) deletes(key plan.Key, finalizers ...string) {
	r.cluster.edit(key, func(ws *v1.WebService) {
		now := metav1.Now()
		ws.DeletionTimestamp, ws.Finalizers = &now, finalizers
	})
	synctest.Wait()
}

// TestCleanUp: an object that is deleted takes its ConfigMap with it, and one that
// a file names comes back in the same turn. Its account is of the first write.
func TestCleanUp(t *testing.T) {
	cleaned := []string{"delete the ConfigMap checkout", "drop the finalizer checkout"}
	for _, c := range []struct {
		name  string
		named bool
		left  []string
		want  []string
	}{
		{"without a file", false, nil, cleaned},
		{"with its file", true, nil, append(created("checkout"), cleaned...)},
		{"with its file, and another's finalizer", true, []string{"example.com/hold"}, cleaned},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
				defer r.lead()()
				if !c.named {
					r.Take(snapshot(file(billing, "a")))
					synctest.Wait()
				}
				r.cluster.taken()
				r.deletes(checkout, append(c.left, v1.CleanupFinalizer)...)
				r.wantSteps(c.want...)
				r.wantCleanedUp(c.named, len(c.left) > 0)
				pass(time.Minute)
				r.wantSteps()
			})
		})
	}
}

func (r *rig) wantCleanedUp(named, waits bool) {
	r.t.Helper()
	log := r.log.String()
	if strings.Count(log, "cleaned up") != 1 || !strings.Contains(log, "removed=configmap/checkout-desired finalizer=webservice.labhub.io/cleanup") ||
		strings.Contains(log, "action=delete") {
		r.t.Errorf("log: %s", log)
	}
	switch {
	case waits:
		r.wantWaiting("waits for the finalizer example.com/hold")
		if it := r.item(checkout); it.Action != report.ActionRequeue || it.Requeue.IsError {
			r.t.Errorf("item %+v", it)
		}
		return
	case named:
		if it := r.item(checkout); it.Action != report.ActionDelete || it.Target != "configmap/checkout-desired" {
			r.t.Errorf("item %+v", it)
		}
	default:
		if n := len(r.Report().Items); n != 1 {
			r.t.Errorf("%d items", n)
		}
	}
	r.wantConverged()
}

// TestCleanUpOfWhatIsntWatched: a ConfigMap that lost its label isn't in the
// mirror. The look before the finalizer goes finds it; somebody else's stays.
func TestCleanUpOfWhatIsntWatched(t *testing.T) {
	for _, c := range []struct {
		name  string
		label string
		want  []string
	}{
		{"ours", v1.Manager, []string{"drop the finalizer checkout", "delete the ConfigMap checkout", "drop the finalizer checkout"}},
		{"somebody else's", "", []string{"drop the finalizer checkout", "drop the finalizer checkout"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
				defer r.lead()()
				r.Take(snapshot(file(billing, "a")))
				synctest.Wait()
				r.cluster.taken()
				r.cluster.set(func(f *fakeCluster) {
					delete(f.world.children, checkout)
					f.unseen[checkout] = plan.Child{UID: "unseen", Managed: true, Labels: map[string]string{v1.ManagedByLabel: c.label}}
				})
				r.deletes(checkout, v1.CleanupFinalizer)
				r.wantSteps(c.want...)
				r.wantConverged()
			})
		})
	}
}

// TestCleanUpThatWaits: a ConfigMap that others hold is waited for, and the one
// line tells of it when it is over.
func TestCleanUpThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		defer r.lead()()
		r.Take(snapshot(file(billing, "a")))
		synctest.Wait()
		r.cluster.taken()
		r.cluster.set(func(f *fakeCluster) { f.holds = true })
		r.deletes(checkout, v1.CleanupFinalizer)
		pass(time.Minute)
		r.wantSteps("delete the ConfigMap checkout")
		r.wantWaiting("its ConfigMap waits for its own finalizers")
		if strings.Contains(r.log.String(), "cleaned up") {
			t.Error("it isn't cleaned up yet")
		}
		r.cluster.set(func(f *fakeCluster) { delete(f.world.children, checkout) })
		r.Changed(checkout)
		synctest.Wait()
		r.wantSteps("drop the finalizer checkout")
		r.wantCleanedUp(false, false)
	})
}

// TestCleanUpForAnotherSource: what another source's controller doesn't let go within
// a minute is cleaned up by the next pass.
func TestCleanUpForAnotherSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		defer r.lead()()
		r.Take(snapshot(file(billing, "a")))
		synctest.Wait()
		r.cluster.taken()
		r.cluster.edit(checkout, func(ws *v1.WebService) {
			now := metav1.Now()
			ws.Labels = map[string]string{v1.SourceLabel: "other"}
			ws.DeletionTimestamp, ws.Finalizers = &now, []string{v1.CleanupFinalizer}
		})
		pass(50 * time.Second)
		r.Take(interval(snapshot(file(billing, "a"))))
		synctest.Wait()
		r.wantSteps()
		pass(11 * time.Second)
		r.Take(interval(snapshot(file(billing, "a"))))
		synctest.Wait()
		r.wantSteps("delete the ConfigMap checkout", "drop the finalizer checkout")
		r.wantConverged()
	})
}
