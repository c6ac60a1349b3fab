package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// newHeld is an engine that holds the deletions of c, d and e, with prune.after an hour.
func newHeld(t *testing.T) *rig {
	t.Helper()
	r := newPruner(t, func(o *Options) { o.Policy.Prune.After = time.Hour }, "a", "b", "c", "d", "e")
	r.files(filesOf("a", "b")...)
	r.wantHeld("3 of 5 objects", "c", "d", "e")
	return r
}

// TestApproved: a person's word is for one set, once. It is found within a moment,
// and its file is gone before anything is deleted; the time runs all the same.
func TestApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeld(t)
		cycle := r.Report().Cycle
		r.approve()
		r.wantHeld("")
		if rep := r.Report(); rep.Cycle != cycle+1 || rep.Trigger != report.TriggerApproval || rep.HeldDigest != "" {
			t.Errorf("cycle %d, trigger %s, digest %q", rep.Cycle, rep.Trigger, rep.HeldDigest)
		}
		if left := r.approvals.left(); len(left) > 0 {
			t.Errorf("approvals %q are left", left)
		}
		r.wantWaiting("lab/c: its file is gone")
		asked := r.approvals.count()
		pass(time.Hour - time.Minute)
		r.wantSteps()
		if n := r.approvals.count(); n != asked {
			t.Errorf("looked %d times for an approval of nothing", n-asked)
		}
		pass(2 * time.Minute)
		r.wantSteps(deleted("c", "d", "e")...)
		r.wantConverged()
		if !strings.Contains(r.log.String(), "deletions are approved") {
			t.Errorf("log: %s", r.log)
		}
	})
}

// TestApprovalVoid: what makes an approval that was given one for another set.
// Deletions by others don't.
func TestApprovalVoid(t *testing.T) {
	edit := func(name string, change func(*v1.WebService)) func(*rig) {
		return func(r *rig) { r.cluster.edit(lab(name), change) }
	}
	for _, c := range []struct {
		name  string
		event func(*rig)
		held  []string // nil: the approval stands
	}{
		{"nothing", func(*rig) {}, nil},
		{"a pass", func(r *rig) { r.Take(interval(snapshot(filesOf("a", "b")...))) }, nil},
		{"one is back and gone again", func(r *rig) {
			r.files(filesOf("a", "b", "c")...)
			r.files(filesOf("a", "b")...)
		}, []string{"c", "d", "e"}},
		{"one more is gone", func(r *rig) { r.files(filesOf("a")...) }, []string{"b", "c", "d", "e"}},
		{"one more is gone, and back", func(r *rig) {
			r.files(filesOf("a")...)
			r.files(filesOf("a", "b")...)
		}, []string{"c", "d", "e"}},
		{"one is kept for a moment", func(r *rig) {
			edit("d", func(ws *v1.WebService) { ws.Annotations = map[string]string{v1.PruneAnnotation: v1.Disabled} })(r)
			synctest.Wait()
			edit("d", func(ws *v1.WebService) { ws.Annotations = nil })(r)
		}, []string{"c", "d", "e"}},
		{"one is edited", edit("d", func(ws *v1.WebService) { ws.Spec.Image = "b" }), nil},
		{"one is another object of the name", edit("d", func(ws *v1.WebService) { ws.UID = "another" }), []string{"c", "d", "e"}},
		{"somebody deletes one", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) { delete(f.world.live, lab("c")) })
			r.Changed(lab("c"))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newHeld(t)
				r.approve()
				c.event(r)
				synctest.Wait()
				if c.held == nil {
					r.wantHeld("")
					return
				}
				r.wantHeld("would be deleted", c.held...)
				if r.Report().HeldDigest == "" || !strings.Contains(r.log.String(), "the approval counts no more") {
					t.Errorf("log: %s", r.log)
				}
				pass(2 * time.Hour)
				for _, step := range r.cluster.taken() {
					if strings.HasPrefix(step, "delete the WebService") {
						t.Error(step)
					}
				}
			})
		})
	}
}

// TestApprovalOvertaken: a problem in the source holds what is approved as well,
// until it is mended.
func TestApprovalOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeld(t)
		r.approve()
		r.shows(broken(filesOf("a", "b")...))
		r.wantWaiting("z.yaml:1: not YAML")
		rep := r.Report()
		if len(rep.Held) != 3 || rep.HeldDigest != "" || !strings.Contains(rep.Held[0].Reason, "problem") {
			t.Errorf("held %+v, digest %q", rep.Held, rep.HeldDigest)
		}
		r.files(filesOf("a", "b")...)
		r.wantHeld("")
	})
}

// TestStaleApprovals are removed once it is certain that they are about no set at
// present, so that they can't count for one that comes later.
func TestStaleApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeld(t)
		digest := r.Report().HeldDigest
		r.files(filesOf("a", "b", "c", "d", "e")...)
		r.approvals.give(digest) // too late
		pass(31 * time.Second)
		if left := r.approvals.left(); len(left) > 0 {
			t.Errorf("approvals %q are left", left)
		}
		r.files(filesOf("a", "b")...)
		pass(time.Minute)
		r.wantHeld("3 of 5 objects", "c", "d", "e")

		// In doubt they stay: the set may be theirs after all.
		r.shows(broken(filesOf("a", "b")...))
		r.approvals.give("of another set")
		pass(time.Minute)
		if left := r.approvals.left(); !slices.Equal(left, []string{"of another set"}) {
			t.Errorf("approvals %q are left", left)
		}
	})
}

// TestApprovalErrors count as no approval, and are told once.
func TestApprovalErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHeld(t)
		r.approvals.mu.Lock()
		r.approvals.err = errors.New("the disk is gone")
		r.approvals.mu.Unlock()
		r.approvals.give(r.Report().HeldDigest)
		pass(time.Minute)
		r.wantHeld("3 of 5 objects", "c", "d", "e")
		if n := strings.Count(r.log.String(), "the disk is gone"); n != 1 {
			t.Errorf("told %d times", n)
		}
		r.approvals.mu.Lock()
		r.approvals.err, r.approvals.stuck = nil, errors.New("another one can't be removed")
		r.approvals.mu.Unlock()
		r.approve() // what stays of others is in nobody's way
		r.wantHeld("")
	})
}

// TestEmptyApproved: an empty directory is a fault that a person's word lifts.
func TestEmptyApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b")
		r.shows(emptied())
		pass(time.Minute)
		r.wantSteps()
		r.wantHeld("that is all that this source owns", "a", "b")
		r.wantWaiting("holds no WebService")
		r.approve()
		pass(scanTakes)
		r.wantSteps(deleted("a", "b")...)
		r.wantWaiting("holds no WebService")
	})
}

// TestWaitWithHolds: once looks for an approval before it ends by a hold, and does
// what is approved; an approved empty directory stays a fault.
func TestWaitWithHolds(t *testing.T) {
	for _, c := range []struct {
		name            string
		approved, empty bool
		took            time.Duration
		check           func(Outcome) bool
	}{
		{name: "held", check: func(o Outcome) bool { return o.Held == 3 && o.Waiting == 0 && o.Source == nil }},
		{name: "approved", approved: true, took: pruneAfter + 2*scanTakes, check: func(o Outcome) bool { return o.Converged }},
		{name: "empty", empty: true, check: func(o Outcome) bool { return o.Held == 5 && o.Source != nil }},
		{name: "empty and approved", approved: true, empty: true, took: pruneAfter + 2*scanTakes, check: func(o Outcome) bool {
			return o.Held == 0 && o.Waiting == 0 && o.Source != nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newPruner(t, nothing, "a", "b", "c", "d", "e")
				s := snapshot(filesOf("a", "b")...)
				if c.empty {
					s = emptied()
				}
				if c.approved {
					r.Take(s)
					synctest.Wait()
					r.approvals.give(r.Report().HeldDigest)
				}
				r.source.mu.Lock()
				r.source.now = s
				r.source.mu.Unlock()
				r = r.restarted(t, func(o *Options) { o.Trigger = report.TriggerOnce })
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				began := time.Now()
				o := r.Wait(ctx)
				if took := time.Since(began); took > c.took+100*time.Millisecond {
					t.Errorf("it took %s", took)
				}
				if !c.check(o) {
					t.Errorf("outcome %+v", o)
				}
				r.stop()
				if rep := r.Report(); (rep.HeldDigest == "") != c.approved || len(rep.Held) != o.Held || c.approved && rep.Summary.Delete < 3 {
					t.Errorf("the last report: digest %q, held %+v, summary %+v", rep.HeldDigest, rep.Held, rep.Summary)
				}
				r.stop = func() {}
			})
		})
	}
}

// TestAnApprovalIsForOneHold: objects that came back were not deleted, and when the
// same ones go another time, that is another decision. An approval that came too late,
// or before there was anything to approve, doesn't wait for it.
func TestAnApprovalIsForOneHold(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool // the hold was seen before
	}{
		{"it came when the files were back", true},
		{"it came before the hold", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				older := numbered("old", 8)
				r := newPruner(t, nothing, older...)
				pass(time.Second)
				if c.before {
					r.files(filesOf("new")...)
					pass(time.Second)
					r.files(filesOf(older...)...)
					pass(10 * time.Millisecond)
				}
				digest := r.digestOf(older...)
				r.approvals.give(digest)
				pass(5 * time.Second)
				r.cluster.taken()
				r.files(filesOf("new")...)
				pass(time.Minute)
				r.wantSteps()
				r.wantHeld("8 objects would be deleted, and that is all that this source owns", older...)
				if got := r.Report().HeldDigest; got != digest {
					t.Fatalf("the digest is %q, want %q", got, digest)
				}
				if left := r.approvals.left(); len(left) > 0 {
					t.Errorf("approvals %q are left", left)
				}
				r.approve()
				pass(pruneAfter + scanTakes)
				r.wantConverged()
			})
		})
	}
}

// digestOf is the digest of the set of these objects as they are live.
func (r *rig) digestOf(names ...string) string {
	var absences []plan.Absence
	r.cluster.set(func(f *fakeCluster) {
		for _, name := range names {
			absences = append(absences, plan.Absence{Key: lab(name), UID: f.world.live[lab(name)].UID})
		}
	})
	return plan.AbsencesDigest(r.opts.Policy.SourceName, absences)
}
