package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// told writes the decisions on an object down, the oldest first.
func (r *rig) told(key plan.Key) []string {
	r.t.Helper()
	o, ok := r.Object(key.Namespace, key.Name)
	if !ok {
		r.t.Fatalf("%s isn't known", key)
	}
	var out []string
	for _, d := range slices.Backward(o.Decisions) {
		out = append(out, string(d.Action)+" "+d.Target)
	}
	return out
}

// TestDecisionsAreRemembered: steps and verdicts, as long as they are new, and no more
// than the last few.
func TestDecisionsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a")))
		synctest.Wait()
		want := []string{"create webservice/checkout", "create configmap/checkout-desired", "update webservice/checkout", "noop webservice/checkout"}
		if got := r.told(checkout); !slices.Equal(got[:3], want[:3]) || len(got) != 4 {
			t.Errorf("created: %q, want %q", got, want)
		}
		for range 3 {
			r.Take(interval(snapshot(file(checkout, "a"))))
			synctest.Wait()
		}
		if got := r.told(checkout); len(got) != 4 {
			t.Errorf("passes that change nothing are remembered: %q", got)
		}
		at := time.Now()
		for i := range 5 {
			pass(time.Minute)
			r.Take(snapshot(file(checkout, fmt.Sprint("b", i))))
			synctest.Wait()
		}
		o, _ := r.Object(checkout.Namespace, checkout.Name)
		if len(o.Decisions) != keptDecisions || o.Decisions[0].Action != report.ActionNoop || o.Decisions[0].At.Before(at.Add(5*time.Minute)) {
			t.Errorf("after five changes: %+v", o.Decisions)
		}
		if !slices.IsSortedFunc(o.Decisions, func(a, b report.Decision) int { return b.At.Compare(a.At) }) {
			t.Errorf("not the newest first: %+v", o.Decisions)
		}
	})
}

// TestObject: both sides, who owns what, and what is known of an object that isn't one.
func TestObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if _, ok := r.Object("lab", "checkout"); ok {
			t.Error("known before anything was read")
		}
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a")))
		synctest.Wait()
		r.cluster.set(func(f *fakeCluster) {
			live := f.world.live[checkout]
			live.Fields.ImageBy = "kubectl-edit"
			f.world.live[checkout] = live
		})
		o, ok := r.Object("lab", "checkout")
		if !ok || o.Source != "checkout.yaml:1" || !o.Usable || !o.Exists || !o.ConfigMap || o.UID == "" {
			t.Fatalf("%+v", o)
		}
		image := slices.IndexFunc(o.Fields, func(f report.Field) bool { return f.Path == "spec.image" })
		if f := o.Fields[image]; *f.Desired != "a" || *f.Actual != "a" || f.Differs || !slices.Equal(f.Owners, []string{v1.Manager, "kubectl-edit"}) {
			t.Errorf("image %+v", f)
		}
		if i := slices.IndexFunc(o.Fields, func(f report.Field) bool { return f.Differs }); i >= 0 {
			t.Errorf("%s differs", o.Fields[i].Path)
		}
		r.wantSteps(created("checkout")...)
		r.cluster.handMade(search)
		if o, ok := r.Object("lab", "search"); !ok || o.Source != "" || len(o.Decisions) != 0 {
			t.Errorf("made by hand: %t %+v", ok, o)
		}
		if _, ok := r.Object("lab", "nothing"); ok {
			t.Error("known although it isn't there")
		}
	})
}

// TestHealingIsCounted: what others changed and we brought back, and not what a file
// asks for.
func TestHealingIsCounted(t *testing.T) {
	edit := func(r *rig) { r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "theirs" }) }
	dropChild := func(r *rig) {
		r.cluster.set(func(f *fakeCluster) { delete(f.world.children, checkout) })
		r.Changed(checkout)
	}
	for _, c := range []struct {
		name  string
		event func(*rig)
		want  int
	}{
		{"nothing", func(r *rig) { r.Changed(checkout) }, 0},
		{"another version of the file", func(r *rig) { r.Take(snapshot(file(checkout, "b"), file(billing, "a"))) }, 0},
		{"a new file", func(r *rig) { r.Take(snapshot(file(checkout, "a"), file(billing, "a"), file(search, "a"))) }, 0},
		{"the spec, by hand", edit, 1},
		{"the ConfigMap, deleted", dropChild, 1},
		{"both count once", func(r *rig) { dropChild(r); edit(r) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.lead()()
				r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
				synctest.Wait()
				before := len(r.History().Cycles)
				c.event(r)
				synctest.Wait()
				healed := 0
				for _, cycle := range r.History().Cycles[before:] {
					healed += cycle.Healed
				}
				if healed != c.want {
					t.Errorf("%d healed, want %d", healed, c.want)
				}
			})
		})
	}
}

// TestHistoryIsBounded, and tells of each cycle once.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		for i := range keptCycles + 20 {
			r.Take(snapshot(file(checkout, fmt.Sprint(i))))
			synctest.Wait()
			pass(time.Second)
		}
		h := r.History()
		if len(h.Cycles) != keptCycles {
			t.Fatalf("%d cycles", len(h.Cycles))
		}
		for i, c := range h.Cycles {
			if i > 0 && c.Cycle != h.Cycles[i-1].Cycle+1 || c.Writes == 0 || c.Trigger == "" || c.Started.IsZero() {
				t.Errorf("cycle %+v", c)
			}
		}
	})
}

// TestAStandbyIsNotNotConverged: it has nothing to make converge.
func TestAStandbyIsNotNotConverged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := background(t, r.Publishing)
		defer stop()
		r.Take(snapshot(file(checkout, "a")))
		pass(time.Minute)
		if h := r.History().NotConverged; len(h) != 0 {
			t.Errorf("while it stands by: %+v", h)
		}
		led := time.Now()
		defer r.lead()()
		pass(time.Minute)
		away := time.Now()
		r.cluster.setState(errors.New("the API server is away"), true)
		pass(time.Minute)
		if h := r.History().NotConverged; len(h) == 0 || h[0].From.Before(led) || !h[len(h)-1].From.Equal(away) {
			t.Errorf("it leads since %s, and can't work since %s: %+v", led, away, h)
		}
	})
}

// TestNotConvergedIsRemembered by what reports said.
func TestNotConvergedIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := background(t, r.Publishing)
		defer stop()
		defer r.lead()()
		began := time.Now()
		r.Take(snapshot(file(checkout, "a")))
		pass(10 * time.Second)
		r.cluster.setState(errors.New("the API server is away"), true)
		pass(time.Minute)
		if h := r.History().NotConverged; len(h) != 2 || !h[1].To.IsZero() {
			t.Fatalf("while it lasts: %+v", h)
		}
		r.cluster.setState(nil, true)
		pass(10 * time.Second)
		h := r.History().NotConverged
		if len(h) != 2 || !h[0].From.Equal(began) || h[0].To.Sub(began) > 5*time.Second {
			t.Fatalf("%+v, began %s", h, began)
		}
		if away := h[1].To.Sub(h[1].From); away < 55*time.Second || away > 65*time.Second {
			t.Errorf("away for %s", away)
		}
	})
	r := newRig(t)
	for i := range 4 * keptSpans {
		r.noteConverged(time.Unix(int64(i), 0), i%2 == 1)
	}
	if h := r.History().NotConverged; len(h) != keptSpans || h[0].From.Unix() != 2*keptSpans {
		t.Errorf("%d times are remembered, from %s", len(h), h[0].From)
	}
}
