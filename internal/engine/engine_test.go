package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// TestTurn: a key wakes, both sides are gathered, steps are decided on and done,
// and a verdict closes the turn.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		synctest.Wait()

		if got, want := r.cluster.taken(), created("checkout"); !slices.Equal(got, want) {
			t.Errorf("steps %q, want %q", got, want)
		}
		if got := r.cluster.ready(checkout); got != "True Reconciled" {
			t.Errorf("Ready is %s", got)
		}
		r.wantConverged()
	})
}

// TestWoken: what makes which keys runnable, and what they then send.
func TestWoken(t *testing.T) {
	one, other := file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")
	for _, c := range []struct {
		name  string
		event func(*rig)
		looks int // turns that were taken, each with one look where nothing is to be done
		steps []string
	}{
		{"a snapshot that changes nothing", func(r *rig) { r.Take(snapshot(one, other)) }, 0, nil},
		{"only a line moved", func(r *rig) { moved := one; moved.Line = 9; r.Take(snapshot(moved, other)) }, 0, nil},
		{"a pass", func(r *rig) { r.Take(interval(snapshot(one, other))) }, 2, nil},
		{"an event of one object", func(r *rig) { r.Changed(billing) }, 1, nil},
		{"an event of an object that doesn't exist", func(r *rig) { r.Changed(search) }, 1, nil},
		{"an event of the namespace", func(r *rig) { r.NamespaceChanged("lab") }, 2, nil},
		{"an event of another namespace", func(r *rig) { r.NamespaceChanged("other") }, 0, nil},
		{"the watches have caught up", func(r *rig) { r.CaughtUp() }, 0, nil},
		{
			"one of two files changes", func(r *rig) { r.Take(snapshot(file(checkout, "nginx:1.28"), other)) }, 7,
			[]string{"apply the WebService checkout", "update the ConfigMap checkout", "write the status checkout"},
		},
		{
			"somebody edits an object", func(r *rig) { r.cluster.edit(billing, func(ws *v1.WebService) { ws.Spec.Image = "mine" }) }, 5,
			[]string{"apply the WebService billing", "write the status billing"},
		},
		{
			"somebody wipes a status", func(r *rig) {
				r.cluster.edit(billing, func(ws *v1.WebService) { ws.Status = v1.WebServiceStatus{} })
			}, 3, []string{"write the status billing"},
		},
		{"a file goes, which is counted as well", func(r *rig) { r.Take(snapshot(one)) }, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.lead()()
				r.Take(snapshot(one, other))
				synctest.Wait()
				r.cluster.taken()
				r.cluster.looks = 0

				c.event(r)
				synctest.Wait()
				r.wantSteps(c.steps...)
				if r.cluster.looks != c.looks {
					t.Errorf("%d looks, want %d", r.cluster.looks, c.looks)
				}
				r.wantConverged()
			})
		})
	}
}

// TestUnknown: before the source was read whole nothing is created.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		s := snapshot(file(checkout, "nginx:1.27"))
		s.Complete = false
		r.Take(s)
		synctest.Wait()
		r.wantSteps()
		r.wantWaiting("the source")
		if err := r.Ready(); err == nil {
			t.Error("ready, though the source hasn't been read whole")
		}

		r.Take(snapshot(file(checkout, "nginx:1.27")))
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		if err := r.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
	})
}

// TestNamespace is created once it is asked for, and before what is in it.
func TestNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		delete(r.cluster.world.namespaces, "lab")
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		synctest.Wait()
		want := append([]string{"create the namespace checkout"}, created("checkout")...)
		if got := r.cluster.taken(); !slices.Equal(got, want) {
			t.Errorf("steps %q, want %q", got, want)
		}
		if it := r.item(checkout); it.Action != report.ActionCreate || it.Target != "webservice/checkout" {
			t.Errorf("%s of %s, want the creation of the WebService", it.Action, it.Target)
		}
	})
}

// TestMissingNamespace: a thousand objects whose namespace doesn't exist, and isn't
// to be created, send nothing, and come as soon as it does.
func TestMissingNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Policy.CreateNamespaces = false })
		delete(r.cluster.world.namespaces, "lab")
		defer r.lead()()
		r.Take(snapshot(filesOf(numbered("s", 1000)...)...))
		pass(time.Minute)
		r.wantSteps()
		r.wantWaiting("1000 waiting objects: lab/s-0000: the namespace doesn't exist: create it, or switch namespaces.create on")
		r.cluster.set(func(c *fakeCluster) { c.world.namespaces["lab"] = plan.NamespaceActive })
		r.NamespaceChanged("lab")
		synctest.Wait()
		r.wantConverged()
	})
}

// TestWokenWhileWorkedOn: what happens to an object while it has its turn is
// looked at in another turn.
func TestWokenWhileWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		under, goOn := make(chan struct{}), make(chan struct{})
		r.cluster.fail = func(_ context.Context, _ plan.Key, step *plan.Step) error {
			if step.Kind == plan.StepWriteStatus && under != nil {
				close(under)
				<-goOn
				under = nil
			}
			return nil
		}
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		<-under
		r.Take(snapshot(file(checkout, "nginx:1.28")))
		r.Changed(checkout)
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		close(goOn)
		synctest.Wait()
		r.wantSteps("apply the WebService checkout", "update the ConfigMap checkout", "write the status checkout")
		r.wantConverged()
		if n := r.Report().Cycle; n != 2 {
			t.Errorf("cycle %d: it is all one, after the empty one of the start", n)
		}
	})
}

// TestForeignChild is found by trying to create ours, and is neither touched nor
// taken for what the cluster's mirror knows.
func TestForeignChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.unseen[checkout] = plan.Child{UID: "theirs", ResourceVersion: "7", Data: map[string]string{"a": "b"}}
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")))
		synctest.Wait()
		if it := r.item(checkout); it.Requeue == nil || !it.Requeue.IsError || it.Target != "configmap/checkout-desired" {
			t.Errorf("item %+v", it)
		}
		if got := r.cluster.ready(checkout); got != "False NameConflict" {
			t.Errorf("Ready is %s", got)
		}
		if it := r.item(billing); it.Action != report.ActionCreate {
			t.Errorf("the other object: %+v", it)
		}

		r.cluster.mu.Lock()
		delete(r.cluster.unseen, checkout)
		r.cluster.mu.Unlock()
		pass(time.Second)
		if got := r.cluster.ready(checkout); got != "True Reconciled" {
			t.Errorf("after it has gone, Ready is %s", got)
		}
		r.wantConverged()
	})
}

// TestGone: an object that neither a file nor the cluster has leaves the report.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")))
		synctest.Wait()
		r.Take(snapshot(file(billing, "nginx:1.27")))
		synctest.Wait()
		if it := r.item(checkout); it.Source != "" || it.Action != report.ActionNoop {
			t.Errorf("without its file: %+v", it)
		}
		r.cluster.mu.Lock()
		delete(r.cluster.world.live, checkout)
		delete(r.cluster.world.children, checkout)
		r.cluster.mu.Unlock()
		r.Changed(checkout)
		synctest.Wait()
		if items := r.Report().Items; len(items) != 1 || items[0].Name != "billing" {
			t.Errorf("items %+v", items)
		}
		r.wantConverged()
	})
}

// TestProblems don't keep usable documents from being applied, but keep all from
// being converged.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		s := snapshot(file(checkout, "nginx:1.27"))
		problem := source.Problem{Path: "bad.yaml", Line: 3, Message: "not YAML"}
		s.Problems = []source.Problem{problem}
		s.Broken = map[plan.Key]source.Problem{billing: problem}
		r.Take(s)
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		r.wantWaiting("bad.yaml:3: not YAML")
		rep := r.Report()
		if len(rep.Problems) != 1 || rep.Problems[0].Path != "bad.yaml" || rep.Problems[0].Line != 3 || len(rep.Items) != 1 {
			t.Errorf("problems %+v, items %+v", rep.Problems, rep.Items)
		}
	})
}

func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.state = errors.New("the API server can't be reached")
		if err := r.Ready(); err == nil || err.Error() != "the API server can't be reached" {
			t.Errorf("ready: %v", err)
		}
		r.cluster.state = nil
		s := snapshot()
		s.Complete, s.Err = false, source.ErrMissing
		r.Take(s)
		if err := r.Ready(); err == nil || err.Error() != "doesn't exist: put it back, or mend source.path" {
			t.Errorf("ready: %v", err)
		}
	})
}

// keysOf are the keys of the engine's accounts.
func keysOf(e *Engine) []plan.Key {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.items))
}
