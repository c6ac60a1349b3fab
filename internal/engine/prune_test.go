package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

const pruneAfter = 3 * time.Second

func pruning(o *Options) {
	o.Policy.Prune = plan.PrunePolicy{Enabled: true, After: pruneAfter, AfterTakeover: 2 * time.Minute, Recheck: 30 * time.Second}
}

// newPruner is an engine that deletes, with a source of its own, at work on these
// files until the test ends.
func newPruner(t *testing.T, change func(*Options), names ...string) *rig {
	t.Helper()
	r := newRig(t, pruning, change)
	r.run(t)
	r.files(filesOf(names...)...)
	r.wantConverged()
	r.cluster.taken()
	return r
}

func nothing(*Options) {}

// run makes the engine lead, and its source run.
func (r *rig) run(t *testing.T) {
	t.Helper()
	stopSource := background(t, func(ctx context.Context) { r.source.run(ctx, r.Take) })
	stop := r.lead()
	r.stop = func() { stopSource(); stop() }
	t.Cleanup(func() { r.stop() })
}

// restarted is another process on the same cluster, files and approvals, once the
// one before has ended. prepare has it before it begins.
func (r *rig) restarted(t *testing.T, change func(*Options), prepare ...func(*rig)) *rig {
	t.Helper()
	r.stop()
	r.stop = func() {}
	next := newRig(t, pruning, change, func(o *Options) { o.Approvals = r.approvals })
	next.approvals = r.approvals
	next.cluster.world, next.cluster.version = r.cluster.world, r.cluster.version
	r.source.mu.Lock()
	now := *r.source.now
	r.source.mu.Unlock()
	for _, p := range prepare {
		p(next)
	}
	next.run(t)
	next.shows(&now)
	return next
}

func deleted(names ...string) []string {
	var steps []string
	for _, name := range names {
		steps = append(steps, "delete the WebService "+name)
	}
	return steps
}

func lab(name string) plan.Key { return plan.Key{Namespace: "lab", Name: name} }

// wantHeld wants exactly these deletions to be held for a reason with that part.
func (r *rig) wantHeld(part string, names ...string) {
	r.t.Helper()
	rep := r.Report()
	items := map[string]report.Item{}
	for _, it := range rep.Items {
		items[it.Name] = it
	}
	var got []string
	for _, h := range rep.Held {
		got = append(got, h.Name)
		if !strings.Contains(h.Reason, part) {
			r.t.Errorf("%s is held: %q, want %q", h.Name, h.Reason, part)
		}
		it := items[h.Name]
		if it.Action != report.ActionRequeue || it.IsError || it.Reason != h.Reason {
			r.t.Errorf("item %+v, requeue %+v", it, it.Requeue)
		}
	}
	if !slices.Equal(got, names) || rep.Summary.Held != len(names) {
		r.t.Errorf("held are %q, want %q; the summary says %d", got, names, rep.Summary.Held)
	}
	if len(names) > 0 && (rep.Converged || !strings.Contains(rep.WaitingFor, part)) {
		r.t.Errorf("converged %t, waiting for %q", rep.Converged, rep.WaitingFor)
	}
}

// approve is a person's word on what the report holds, and the time that it takes to
// be found.
func (r *rig) approve() {
	r.t.Helper()
	digest := r.Report().HeldDigest
	if digest == "" {
		r.t.Fatal("there is nothing to approve")
	}
	r.approvals.give(digest)
	pass(approvalLook)
}

// TestRemoved: an object goes once its file has been gone for prune.after, by two
// scans, of which the second is asked for. Its report tells of it.
func TestRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		r.files(filesOf("a", "b")...)
		if it := r.item(lab("c")); it.Action != report.ActionRequeue || it.IsError || it.AfterSeconds != 3 || !strings.Contains(it.Reason, "its file is gone") {
			t.Errorf("item %+v, requeue %+v", it, it.Requeue)
		}
		r.wantWaiting("lab/c: its file is gone")
		r.wantHeld("")
		pass(pruneAfter - time.Millisecond)
		r.wantSteps()
		if n := r.source.askedFor(); n != 0 {
			t.Errorf("%d scans were asked for before the time was over", n)
		}
		pass(time.Millisecond)
		r.wantSteps() // one scan isn't enough
		pass(scanTakes)
		r.wantSteps(deleted("c")...)
		if n := r.source.askedFor(); n != 1 {
			t.Errorf("%d scans were asked for", n)
		}
		r.wantConverged()
		rep := r.Report()
		if s := rep.Summary; s.Total != 3 || s.Delete != 1 || s.Noop != 2 {
			t.Errorf("summary %+v", s)
		}
		it := r.item(lab("c"))
		if it.Action != report.ActionDelete || it.Target != "webservice/c" || it.Reason != "its file is gone" ||
			it.ResourceVersions.WebService.Before == "" || it.ResourceVersions.WebService.After != "" {
			t.Errorf("item %+v", it)
		}
		if n := strings.Count(r.log.String(), "object=lab/c action=delete"); n != 1 {
			t.Errorf("told %d times", n)
		}

		// The collector's word about the ConfigMap is no cycle, and the next one forgets.
		r.Changed(lab("c"))
		synctest.Wait()
		if now := r.Report(); now.Cycle != rep.Cycle || now.Summary.Delete != 1 {
			t.Errorf("cycle %d, summary %+v", now.Cycle, now.Summary)
		}
		r.Changed(lab("a"))
		synctest.Wait()
		if s := r.Report().Summary; s.Total != 2 || s.Noop != 2 {
			t.Errorf("summary of the next cycle %+v", s)
		}
	})
}

// TestRemovedWithFinalizer: what is deleted is cleaned up in the same turn.
func TestRemovedWithFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Finalizers = []string{v1.CleanupFinalizer} })
		synctest.Wait()
		r.files(filesOf("a", "b")...)
		r.cluster.taken()
		pass(pruneAfter + scanTakes)
		r.wantSteps("delete the WebService c", "delete the ConfigMap c", "drop the finalizer c")
		if it := r.item(lab("c")); it.Action != report.ActionDelete || it.Target != "webservice/c" {
			t.Errorf("item %+v", it)
		}
		r.wantConverged()
	})
}

// TestRemovedThoughItWaits: what an object waits for doesn't keep it.
func TestRemovedThoughItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		r.cluster.edit(lab("c"), func(ws *v1.WebService) {
			ws.Annotations = map[string]string{v1.DependsOnAnnotation: "other/x"}
		})
		r.files(filesOf("a", "b")...)
		r.wantWaiting("lab/c: waits for other/x")
		r.cluster.taken()
		pass(pruneAfter + scanTakes)
		r.wantSteps(deleted("c")...)
		r.wantConverged()
	})
}

// TestScansCount: how long it takes to delete c, by what the source shows after its
// file has gone. Only scans in a row that can be believed count.
func TestScansCount(t *testing.T) {
	ab, abc := filesOf("a", "b"), filesOf("a", "b", "c")
	for _, c := range []struct {
		name  string
		after func(*rig)
		gone  time.Duration // 0 is never
	}{
		{"nothing more", func(*rig) {}, pruneAfter + scanTakes},
		{"another scan in the meantime", func(r *rig) { pass(time.Second); r.files(ab...) }, pruneAfter},
		{"the file is back in time", func(r *rig) { pass(2 * time.Second); r.files(abc...) }, 0},
		{"the file is back, and gone again", func(r *rig) {
			pass(2 * time.Second)
			r.files(abc...)
			r.files(ab...)
		}, 2*time.Second + pruneAfter + scanTakes},
		{"a document that can't be used", func(r *rig) { r.shows(broken(ab...)) }, 0},
		{"one that is mended later", func(r *rig) {
			pass(time.Second)
			r.shows(broken(ab...))
			pass(5 * time.Second)
			r.files(ab...)
		}, 6*time.Second + pruneAfter + scanTakes},
		{"a directory that is away for a moment", func(r *rig) {
			pass(2 * time.Second)
			r.shows(&source.Snapshot{Err: source.ErrMissing, Broken: map[plan.Key]source.Problem{lab("a"): {}, lab("b"): {}}})
			pass(time.Second)
			r.files(ab...)
		}, 3*time.Second + pruneAfter + scanTakes},
		{"files that still change", func(r *rig) {
			pass(2 * time.Second)
			s := snapshot(ab...)
			s.Unsettled = []string{"x.yaml"}
			r.shows(s)
			pass(time.Second)
			r.files(ab...)
		}, 3*time.Second + pruneAfter + scanTakes},
		{"an empty directory, and then files one by one", func(r *rig) {
			r.shows(emptied())
			pass(20 * time.Second)
			r.files(ab...)
		}, 20*time.Second + pruneAfter + scanTakes},
		{"a source that takes its time for another scan", func(r *rig) { r.source.setDeaf() }, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newPruner(t, nothing, "a", "b", "c")
				began := time.Now()
				r.files(ab...)
				c.after(r)
				r.wantGone(began, c.gone)
			})
		})
	}
}

// wantGone wants c to be deleted, and nothing else, that long after began and not a
// moment before.
func (r *rig) wantGone(began time.Time, after time.Duration) {
	r.t.Helper()
	if after == 0 {
		pass(5 * time.Minute)
		r.wantSteps()
		return
	}
	pass(time.Until(began.Add(after)) - time.Millisecond)
	r.wantSteps()
	pass(200 * time.Millisecond) // the queue may add a moment
	r.wantSteps(deleted("c")...)
	r.wantConverged()
}

// TestKept: objects without a file that stay, and with which all is well.
func TestKept(t *testing.T) {
	annotate := func(key, value string) func(*rig) {
		return func(r *rig) {
			r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Annotations = map[string]string{key: value} })
		}
	}
	for _, c := range []struct {
		name   string
		do     func(*rig)
		reason string
	}{
		{"by the annotation prune", annotate(v1.PruneAnnotation, "disabled"), "no file; kept by the annotation webservice.labhub.io/prune"},
		{"by a value of it that nobody knows", annotate(v1.PruneAnnotation, "maybe"), "no file; kept by the annotation webservice.labhub.io/prune"},
		{"suspended", annotate(v1.ReconcileAnnotation, "disabled"), "suspended by the annotation webservice.labhub.io/reconcile on the live object"},
		{"pruning is off", func(*rig) {}, "no file; pruning is off"},
		{"a document that can't be used names it", func(r *rig) {
			s := broken(filesOf("a", "b")...)
			s.Broken = map[plan.Key]source.Problem{lab("c"): s.Problems[0]}
			r.shows(s)
		}, "its file can't be used, so the object is kept as it is"},
		{"let go by its label", func(r *rig) {
			r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Labels = nil })
		}, "no file: made by hand, and its ConfigMap and status are as they should be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newPruner(t, func(o *Options) { o.Policy.Prune.Enabled = c.name != "pruning is off" }, "a", "b", "c")
				if strings.Contains(c.name, "document") {
					c.do(r)
				} else {
					r.files(filesOf("a", "b")...)
					c.do(r)
				}
				pass(5 * time.Minute)
				if steps := r.cluster.taken(); slices.Contains(steps, "delete the WebService c") {
					t.Errorf("steps %q", steps)
				}
				if it := r.item(lab("c")); it.Action != report.ActionNoop || it.Reason != c.reason {
					t.Errorf("%s: %s", it.Action, it.Reason)
				}
				if it := r.item(lab("c")); it.Unusable != strings.Contains(c.name, "document") {
					t.Errorf("its file can't be used: %t", it.Unusable)
				}
				r.wantHeld("")
				if !strings.Contains(c.name, "document") {
					r.wantConverged()
				}
			})
		})
	}
}

// TestGuarded: how many of how many may go, over what is ours and not kept.
func TestGuarded(t *testing.T) {
	for _, c := range []struct {
		all, gone, kept int
		want            string // "" where they go
	}{
		{all: 1, gone: 1, want: "1 object would be deleted, and that is all that this source owns"},
		{all: 3, gone: 2},
		{all: 5, gone: 3, want: "3 of 5 objects would be deleted, more than half"},
		{all: 6, gone: 3},
		{all: 6, gone: 3, kept: 2, want: "3 of 4 objects would be deleted, more than half"},
		{all: 40, gone: 12},
		{all: 39, gone: 12, want: "12 of 39 objects would be deleted, more than 30 %"},
	} {
		t.Run(fmt.Sprintf("%d of %d, %d kept", c.gone, c.all, c.kept), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, pruning)
				r.run(t)
				names := numbered("s", c.all)
				stays, kept, gone := names[:c.all-c.gone-c.kept], names[c.all-c.gone-c.kept:c.all-c.gone], names[c.all-c.gone:]
				files := filesOf(names...)
				for i := range files[len(stays) : c.all-c.gone] {
					files[len(stays)+i].Annotations = map[string]string{v1.PruneAnnotation: v1.Disabled}
				}
				r.files(files...)
				r.cluster.taken()
				r.shows(other(filesOf(stays...)...))
				pass(time.Minute)
				if c.want == "" {
					r.wantSteps(deleted(gone...)...)
					r.wantConverged()
					return
				}
				r.wantSteps()
				r.wantHeld(c.want, gone...)
				if rep := r.Report(); rep.HeldDigest == "" || rep.HeldCommand != "approve "+rep.HeldDigest ||
					!strings.Contains(rep.WaitingFor, rep.HeldCommand) || rep.Summary.Noop != len(stays)+len(kept) {
					t.Errorf("digest %q, command %q, waiting for %q, summary %+v", rep.HeldDigest, rep.HeldCommand, rep.WaitingFor, rep.Summary)
				}
				if n := strings.Count(r.log.String(), "deletions are held"); n != 1 {
					t.Errorf("the hold was told %d times", n)
				}
			})
		})
	}
}

// other is a picture that isn't empty, whatever objects it has.
func other(objects ...source.Object) *source.Snapshot {
	s := snapshot(objects...)
	s.Skipped = 1
	return s
}

func numbered(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", name, i)
	}
	return names
}

// TestHeldIsLookedAfter: a held object has its ConfigMap and its status mended, and
// objects with a file are updated.
func TestHeldIsLookedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		r.shows(other())
		r.wantHeld("that is all that this source owns", "a", "b", "c")
		r.cluster.edit(lab("b"), func(ws *v1.WebService) { ws.Status = v1.WebServiceStatus{} })
		r.cluster.set(func(c *fakeCluster) { delete(c.world.children, lab("c")) })
		r.Changed(lab("c"))
		synctest.Wait()
		r.wantSteps("write the status b", "create the ConfigMap c")
		r.wantHeld("that is all that this source owns", "a", "b", "c")
		r.files(file(lab("a"), "b"))
		r.wantSteps("apply the WebService a", "update the ConfigMap a", "write the status a")
		r.wantHeld("")
		pass(pruneAfter + scanTakes)
		r.wantSteps(deleted("b", "c")...)
		for _, line := range []string{"deletions are held", "no deletion is held any more"} {
			if n := strings.Count(r.log.String(), line); n != 1 {
				t.Errorf("%q was logged %d times", line, n)
			}
		}
	})
}

// TestHeldAtRest: many held objects do nothing between passes.
func TestHeldAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		r := newPruner(t, nothing, numbered("s", n)...)
		r.shows(other(filesOf(numbered("new", n)...)...))
		r.wantHeld("1000 objects would be deleted", numbered("s", n)...)
		pass(time.Second)
		before := r.Report().Cycle
		r.cluster.set(func(c *fakeCluster) { c.looks = 0 })
		pass(10 * time.Second)
		if looks, cycle := r.cluster.lookedAt(), r.Report().Cycle; looks != 0 || cycle != before {
			t.Errorf("%d looks and %d cycles between passes", looks, cycle-before)
		}
		pass(10 * time.Minute)
		if looks := r.cluster.lookedAt(); looks > 20*4*n {
			t.Errorf("%d looks in 20 passes over %d objects", looks, 2*n)
		}
		r.wantSteps()
		if asked := r.approvals.count(); asked < 1200 || asked > 1300 {
			t.Errorf("looked %d times for an approval in 611 s", asked)
		}
	})
}

// TestSwap: where 12 objects come for 8, neither half is done without a person's
// word, through passes and restarts. Then the new ones come before the old ones go.
func TestSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		older, newer := numbered("old", 8), numbered("new", 12)
		r := newPruner(t, nothing, older...)
		for range 3 {
			r.files(filesOf(newer...)...)
			pass(2 * time.Minute)
			r.wantSteps()
			r.wantHeld("8 objects would be deleted, and that is all that this source owns", older...)
			if it := r.item(lab(newer[0])); it.Action != report.ActionRequeue || it.IsError || it.Reason != "waits for held deletions" {
				t.Errorf("item %+v", it)
			}
			r = r.restarted(t, nothing)
		}
		r.approve()
		pass(pruneAfter + scanTakes)
		steps := r.cluster.taken()
		if want := slices.Concat(created(newer...), deleted(older...)); !sameSteps(steps, want) {
			t.Errorf("steps %q", steps)
		}
		r.wantOrder(steps)
		r.wantConverged()
		if rep := r.Report(); rep.Trigger != report.TriggerApproval && rep.Trigger != report.TriggerFiles {
			t.Errorf("trigger %s", rep.Trigger)
		}
		if left := r.approvals.left(); len(left) > 0 {
			t.Errorf("approvals %q are left", left)
		}
		pass(time.Hour)
		r.wantSteps()
	})
}

// TestTakingOverWaits: objects that nobody owned and that the files name now would
// make the share of those that go smaller, as creations would.
func TestTakingOverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		older, found := numbered("old", 9), numbered("found", 12)
		r := newPruner(t, nothing, older...)
		for _, name := range found {
			r.cluster.handMade(lab(name))
			r.Changed(lab(name))
		}
		synctest.Wait()
		r.cluster.taken()
		r.files(filesOf(append(found, older[0])...)...)
		pass(2 * time.Minute)
		r.wantSteps()
		r.wantHeld("8 of 9 objects would be deleted, more than half", older[1:]...)
		if it := r.item(lab(found[0])); it.Action != report.ActionRequeue || it.IsError || it.Reason != "waits for held deletions" {
			t.Errorf("item %+v", it)
		}
		r.approve()
		pass(pruneAfter + scanTakes)
		r.wantConverged()
		for _, name := range found {
			if it := r.item(lab(name)); it.Source == "" || it.Error != "" {
				t.Errorf("item %+v", it)
			}
		}
	})
}

func sameSteps(got, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// wantOrder wants every creation to come before any deletion.
func (r *rig) wantOrder(steps []string) {
	r.t.Helper()
	deleting := false
	for _, step := range steps {
		isDeletion := strings.HasPrefix(step, "delete the WebService")
		deleting = deleting || isDeletion
		if deleting && strings.HasPrefix(step, "apply the WebService") {
			r.t.Errorf("steps %q", steps)
			return
		}
	}
}

// TestMoved: an object whose file names another namespace comes there before it
// goes here.
func TestMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c")
		there := plan.Key{Namespace: "new", Name: "c"}
		began := time.Now()
		r.files(append(filesOf("a", "b"), file(there, "a"))...)
		r.wantSteps(append([]string{"create the namespace c"}, created("c")...)...)
		if it := r.item(there); it.Action != report.ActionCreate {
			t.Errorf("there: %+v", it)
		}
		r.wantGone(began, pruneAfter+scanTakes)
		if it := r.item(lab("c")); it.Action != report.ActionDelete {
			t.Errorf("here: %+v", it)
		}
		if state := r.cluster.world.namespaces["lab"]; state != plan.NamespaceActive {
			t.Errorf("the namespace is %v", state)
		}
	})
}

// TestCreationsFirst: one that fails keeps deletions waiting, and says so at both
// ends, until it is done or isn't asked for any more.
func TestCreationsFirst(t *testing.T) {
	for _, c := range []struct {
		name string
		mend func(*rig, *tries)
		want []string
	}{
		{"it is done", func(_ *rig, f *tries) { f.become(nil) }, append(created("checkout"), deleted("c")...)},
		{"it isn't asked for", func(r *rig, _ *tries) { r.files(filesOf("a", "b")...) }, deleted("c")},
		{"it is suspended", func(r *rig, _ *tries) {
			s := file(checkout, "a")
			s.Suspended, s.Digest = true, "suspended"
			r.files(append(filesOf("a", "b"), s)...)
		}, deleted("c")},
		{"the file of the other is back", func(r *rig, _ *tries) { r.files(append(filesOf("a", "b", "c"), file(checkout, "a"))...) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newPruner(t, nothing, "a", "b", "c")
				failing := &tries{err: &plan.Failure{Class: plan.Refused, Phrase: "Forbidden", Err: fmt.Errorf("policy 7 says no")}}
				r.cluster.set(func(f *fakeCluster) { f.fail = failing.fail })
				r.files(append(filesOf("a", "b"), file(checkout, "a"))...)
				pass(5 * time.Minute)
				if steps := r.cluster.taken(); slices.Contains(steps, "delete the WebService c") || len(steps) > 20 {
					t.Errorf("steps %q", steps)
				}
				if it := r.item(lab("c")); it.Action != report.ActionRequeue || it.IsError ||
					it.Reason != "no file; deleted after what the files add: lab/checkout: the API server refused to apply the WebService: policy 7 says no" {
					t.Errorf("item %+v", it)
				}
				c.mend(r, failing)
				pass(2 * time.Minute)
				steps := slices.DeleteFunc(r.cluster.taken(), func(s string) bool { return s == "apply the WebService checkout" && c.name != "it is done" })
				if !sameSteps(slices.Compact(slices.Sorted(slices.Values(steps))), c.want) {
					t.Errorf("steps %q, want %q", steps, c.want)
				}
			})
		})
	}
}

// TestTakenOver: nothing is deleted soon after the lease was another's, also where
// that is known only when the first write asks for it.
func TestTakenOver(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lazily %t", lazy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at atomic.Pointer[time.Time]
				r := newPruner(t, func(o *Options) {
					o.TakenOver = func() time.Time {
						if p := at.Load(); p != nil {
							return *p
						}
						return time.Time{}
					}
				}, "a", "b", "c")
				took := func() { now := time.Now(); at.Store(&now) }
				if lazy {
					r.cluster.set(func(c *fakeCluster) {
						c.fail = func(context.Context, plan.Key, *plan.Step) error {
							if at.Load() == nil {
								took()
								return &plan.Failure{Class: plan.NotReady, Phrase: "not so soon", RetryAfter: 2 * time.Minute}
							}
							return nil
						}
					})
				} else {
					took()
				}
				r.files(filesOf("a", "b")...)
				pass(pruneAfter + 10*scanTakes)
				r.cluster.taken()
				r.wantHeld("taken from another holder", "c")
				if rep := r.Report(); rep.HeldDigest != "" || r.item(lab("c")).AfterSeconds > 120 {
					t.Errorf("digest %q, item %+v", rep.HeldDigest, r.item(lab("c")))
				}
				if o := r.Wait(t.Context()); o.Held != 1 || o.Waiting != 0 || o.Failing != 0 || o.Converged {
					t.Errorf("outcome %+v", o)
				}
				r.Engine.mu.Lock()
				r.over = false // nobody waited
				r.Engine.mu.Unlock()
				r.wantGone(*at.Load(), 2*time.Minute)
			})
		})
	}
}

// TestRefusedDelete is an error, and is tried again by the object's backoff.
func TestRefusedDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "checkout")
		failing := &tries{err: &plan.Failure{Class: plan.Refused, Phrase: "Forbidden", Err: fmt.Errorf("hands off")}}
		r.cluster.set(func(f *fakeCluster) { f.fail = failing.fail })
		r.files(filesOf("a", "b")...)
		pass(10 * time.Minute)
		if n := failing.count(); n < 15 || n > 22 {
			t.Errorf("%d tries in ten minutes", n)
		}
		if it := r.item(checkout); it.Action != report.ActionRequeue || !it.IsError || !strings.Contains(it.Error, "hands off") {
			t.Errorf("item %+v", it)
		}
		failing.become(nil)
		pass(2 * time.Minute) // the longest wait is 72 s, by chance
		r.wantConverged()
		if steps := r.cluster.taken(); steps[len(steps)-1] != "delete the WebService checkout" {
			t.Errorf("steps %q", steps)
		}
	})
}

// TestLargeSwap: the work of creating and deleting many grows with their number.
func TestLargeSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3000
		r := newPruner(t, func(o *Options) { o.Workers = 16 }, numbered("old", n)...)
		r.files(filesOf(numbered("new", n)...)...)
		pass(pruneAfter + scanTakes)
		r.cluster.set(func(c *fakeCluster) { c.looks = 0 })
		began := time.Now()
		r.approve()
		pass(time.Minute)
		r.wantConverged()
		if looks := r.cluster.lookedAt(); looks > 20*2*n {
			t.Errorf("%d looks for %d objects", looks, 2*n)
		}
		if len(r.cluster.taken()) != 4*n {
			t.Error("not each step was taken once")
		}
		if cycles := r.Report().Cycle; cycles > 12 {
			t.Errorf("%d cycles since %s", cycles, began)
		}
	})
}
