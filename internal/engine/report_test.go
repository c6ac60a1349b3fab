package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// TestCycles: what begins a cycle, and what only joins one or changes nothing.
func TestCycles(t *testing.T) {
	problem := source.Problem{Path: "a.yaml", Line: 1, Message: "x"}
	for _, c := range []struct {
		name    string
		event   func(*rig)
		began   bool
		trigger report.Trigger
	}{
		{"the same snapshot", func(r *rig) { r.Take(snapshot(file(checkout, "a"))) }, false, report.TriggerStart},
		{"a new revision of the same files", func(r *rig) {
			s := snapshot(file(checkout, "a"))
			s.Revision = "abc"
			r.Take(s)
		}, false, report.TriggerStart},
		{"a file changes", func(r *rig) { r.Take(snapshot(file(checkout, "b"))) }, true, report.TriggerFiles},
		{"only a problem is new", func(r *rig) {
			s := snapshot(file(checkout, "a"))
			s.Problems = []source.Problem{problem}
			r.Take(s)
		}, true, report.TriggerFiles},
		{"a pass", func(r *rig) { r.Take(interval(snapshot(file(checkout, "a")))) }, true, report.TriggerInterval},
		{"an event", func(r *rig) { r.Changed(checkout) }, true, report.TriggerCluster},
		{"the lease changes hands in name only", func(r *rig) { r.SetHolder("me again", false) }, false, report.TriggerStart},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.Take(snapshot(file(checkout, "a")))
				defer r.lead()()
				before := r.Report()
				if before.Cycle != 1 || before.Trigger != report.TriggerStart {
					t.Fatalf("cycle %d, trigger %s", before.Cycle, before.Trigger)
				}
				c.event(r)
				synctest.Wait()
				after := r.Report()
				if began := after.Cycle == 2; began != c.began || after.Trigger != c.trigger || after.Cycle > 2 {
					t.Errorf("cycle %d, trigger %s", after.Cycle, after.Trigger)
				}
				if after.Finished.IsZero() || after.DurationSeconds == nil {
					t.Error("the cycle hasn't ended")
				}
			})
		})
	}
}

// TestTriggerOnce: a command that is one cycle to its user says so.
func TestTriggerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Trigger = report.TriggerOnce })
		if got := r.Report().Trigger; got != report.TriggerStart {
			t.Errorf("trigger %s before the first cycle", got)
		}
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a")))
		synctest.Wait()
		r.Changed(checkout)
		synctest.Wait()
		got := r.Report()
		if got.Trigger != report.TriggerOnce || got.Cycle != 1 || got.Finished.IsZero() || got.Requests.Writes != 3 {
			t.Errorf("trigger %s, cycle %d, finished %s, requests %+v", got.Trigger, got.Cycle, got.Finished, got.Requests)
		}
		// Another look changes nothing of what the command has done.
		if it := r.item(checkout); it.Action != report.ActionCreate || it.ResourceVersions.ConfigMap.Before != "" {
			t.Errorf("item %+v", it)
		}
	})
}

// TestItem: an object's action is its last verdict if that isn't noop, else its
// first write of the cycle, else noop; its versions are those around the cycle.
func TestItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.Take(snapshot(file(checkout, "a")))
		defer r.lead()()
		synctest.Wait()

		first := r.item(checkout)
		versions := first.ResourceVersions
		if first.Action != report.ActionCreate || first.Target != "webservice/checkout" || first.Source != "checkout.yaml:1" {
			t.Errorf("created: %+v", first)
		}
		if versions.WebService.Before != "" || versions.ConfigMap.Before != "" || versions.WebService.After == "" || versions.ConfigMap.After == "" {
			t.Errorf("created: versions %+v", versions)
		}
		if first.Generation != 1 || first.ObservedGeneration != 1 {
			t.Errorf("created: generation %d, observed %d", first.Generation, first.ObservedGeneration)
		}
		if req := r.Report().Requests; req.Writes != 3 {
			t.Errorf("created: %d writes", req.Writes)
		}

		r.Changed(checkout)
		synctest.Wait()
		second := r.item(checkout)
		want := report.Versions{Before: versions.WebService.After, After: versions.WebService.After}
		if second.Action != report.ActionNoop || second.ResourceVersions.WebService != want {
			t.Errorf("next cycle: %+v", second)
		}
		if req := r.Report().Requests; req != (report.Requests{}) {
			t.Errorf("next cycle: requests %+v", req)
		}

		r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Status = v1.WebServiceStatus{} })
		synctest.Wait()
		third := r.item(checkout)
		if third.Action != report.ActionUpdate || third.ResourceVersions.ConfigMap.Before != versions.ConfigMap.After ||
			third.ResourceVersions.WebService.Before == third.ResourceVersions.WebService.After {
			t.Errorf("status mended: %+v", third)
		}

		r.cluster.set(func(c *fakeCluster) { c.fail = (&tries{err: unavailable(0)}).fail })
		r.Take(snapshot(file(checkout, "b")))
		synctest.Wait()
		if failed := r.item(checkout); failed.Action != report.ActionRequeue || failed.Requeue == nil || failed.Requeue.AfterSeconds != 1 {
			t.Errorf("failed: %+v", failed)
		}
	})
}

// TestUntouched: an object that has no turn in a cycle has the versions of its
// last one, before and after.
func TestUntouched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		defer r.lead()()
		r.Take(snapshot(file(checkout, "b"), file(billing, "a")))
		synctest.Wait()
		it := r.item(billing)
		if v := it.ResourceVersions.WebService; it.Action != report.ActionNoop || v.Before != v.After || v.After == "" {
			t.Errorf("item %+v", it)
		}
		rep := r.Report()
		if s := rep.Summary; s.Total != 2 || s.Update != 1 || s.Noop != 1 {
			t.Errorf("summary %+v", s)
		}
		if rep.Items[0].Name != "billing" || rep.Items[1].Name != "checkout" {
			t.Errorf("order %s, %s", rep.Items[0].Name, rep.Items[1].Name)
		}
	})
}

// TestLists: whose objects belong into the report.
func TestLists(t *testing.T) {
	for _, c := range []struct {
		name       string
		label      string
		owned      bool
		inFile     bool
		unlabelled bool
		want       bool
	}{
		{name: "ours", label: "default", owned: true, want: true},
		{name: "nobody's", want: false},
		{name: "nobody's, and those are ours to reconcile", unlabelled: true, want: true},
		{name: "another source's", label: "other", unlabelled: true, want: false},
		{name: "another source's that our file names", label: "other", inFile: true, want: true},
		{name: "our label set by somebody else", label: "default", want: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(o *Options) { o.Policy.Unlabelled = c.unlabelled })
				live := plan.Live{WebService: &v1.WebService{}}
				live.Namespace, live.Name, live.UID, live.ResourceVersion = "lab", "checkout", "u", "5"
				live.Spec.Image = "a"
				if c.label != "" {
					live.Labels = map[string]string{v1.SourceLabel: c.label}
				}
				if c.owned {
					live.Fields.Labels = []string{v1.SourceLabel}
				}
				r.cluster.world.live[checkout] = live
				s := snapshot()
				if c.inFile {
					s = snapshot(file(checkout, "a"))
				}
				r.Take(s)
				defer r.lead()()
				items := r.Report().Items
				if got := len(items) == 1; got != c.want {
					t.Errorf("%d items", len(items))
				}
				if c.inFile && (items[0].Requeue == nil || !items[0].Requeue.IsError) {
					t.Errorf("item %+v", items[0])
				}
			})
		})
	}
}

// TestCaughtUp: a cycle isn't over before the watches have told of all that it
// wrote.
func TestCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.lag(true)
		r.Take(snapshot(file(checkout, "a")))
		defer r.lead()()
		pass(5 * time.Second)
		r.wantWaiting("the watch to catch up with our own writes")
		if !r.Report().Finished.IsZero() {
			t.Error("the cycle has ended")
		}
		r.cluster.lag(false)
		r.wantConverged()
		if r.Report().Cycle != 1 {
			t.Error("that began another cycle")
		}
	})
}

// TestSource: what keeps a source as a whole from being converged on.
func TestSource(t *testing.T) {
	for _, c := range []struct {
		name     string
		allow    bool
		snapshot func() *source.Snapshot
		want     string // "" is converged
	}{
		{"read whole", false, func() *source.Snapshot { return snapshot(file(checkout, "a")) }, ""},
		{"empty", false, func() *source.Snapshot { s := snapshot(); s.Err = source.ErrEmpty; return s },
			"holds no WebService: put the files back, mend source.path, or set source.allowEmpty"},
		{"empty, which is allowed", true, func() *source.Snapshot { s := snapshot(); s.Err = source.ErrEmpty; return s }, ""},
		{"missing, where empty is allowed", true, func() *source.Snapshot {
			return &source.Snapshot{Err: source.ErrMissing}
		}, "doesn't exist: put it back, or mend source.path"},
		{"not read whole", false, func() *source.Snapshot { return &source.Snapshot{} }, "the source couldn't be read whole"},
		{"still changing", false, func() *source.Snapshot {
			s := snapshot(file(checkout, "a"))
			s.Unsettled = []string{"b.yaml"}
			return s
		}, "b.yaml to stop changing"},
		{"with a problem", false, func() *source.Snapshot {
			s := snapshot(file(checkout, "a"))
			s.Problems = []source.Problem{{Path: "b.yaml", Message: "x"}}
			return s
		}, "1 problem in the source to be mended: b.yaml: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(o *Options) { o.AllowEmpty = c.allow })
				defer r.lead()()
				r.Take(snapshot(file(checkout, "a")))
				synctest.Wait()
				r.Take(c.snapshot())
				synctest.Wait()
				rep := r.Report()
				if rep.Converged != (c.want == "") || rep.WaitingFor != c.want {
					t.Errorf("converged %t, waiting for %q, want %q", rep.Converged, rep.WaitingFor, c.want)
				}
				if mend := slices.Contains([]string{"empty", "missing, where empty is allowed", "not read whole"}, c.name); rep.SourceFailed != mend {
					t.Errorf("the source as a whole is to be mended: %t", rep.SourceFailed)
				}
			})
		})
	}
}

// TestFirst: of several failing objects the first by name is named, and failing
// ones come before waiting ones.
func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.fail = func(_ context.Context, key plan.Key, _ *plan.Step) error {
			switch key {
			case billing:
				return outdated()
			case checkout, search:
				return errors.New(key.Name + " has failed")
			}
			return nil
		}
		r.Take(snapshot(file(checkout, "a"), file(billing, "a"), file(search, "a")))
		defer r.lead()()
		r.wantWaiting("2 failing objects: lab/checkout: checkout has failed")
	})
}
