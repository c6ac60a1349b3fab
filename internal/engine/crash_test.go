package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// change is something that takes many steps, at each of which the process may die.
type change struct {
	name   string
	before []source.Object
	after  []source.Object
	steps  int
	// approved: it takes a person's word.
	approved bool
}

// witness sees to it that no step is taken that may not be, whoever takes it.
type witness struct {
	*change
	t *testing.T

	mu      sync.Mutex
	left    int // the steps until the process dies
	allowed bool
	cluster *fakeCluster
}

func (w *witness) see(_ context.Context, key plan.Key, step *plan.Step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return errors.New("the process is dead")
	}
	w.left--
	if step.Kind == plan.StepDelete {
		w.judge(key)
	}
	if isNew := !slices.ContainsFunc(w.before, func(o source.Object) bool { return o.Key == key }); isNew && w.approved && !w.allowed {
		w.t.Errorf("%s of %s before a person has allowed it", step.Kind, key)
	}
	return nil
}

// judge: only what no file names goes, after all that files name has come, and after
// a person's word where that is needed.
func (w *witness) judge(key plan.Key) {
	if w.approved && !w.allowed {
		w.t.Errorf("%s is deleted before a person has allowed it", key)
	}
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	for _, o := range w.after {
		if live := w.cluster.world.live[o.Key]; !live.Exists() || o.Key == key {
			w.t.Errorf("%s is deleted while %s doesn't exist", key, o.Key)
		}
	}
}

// allow is a person's word where it is asked for.
func (w *witness) allow(r *rig) {
	if digest := r.Report().HeldDigest; digest != "" {
		w.mu.Lock()
		w.allowed = true
		w.mu.Unlock()
		r.approvals.give(digest)
	}
}

// TestCrashInDeletions: wherever a process dies, the next one goes on from what is
// there, deletes nothing that may not be deleted, and ends where it should.
func TestCrashInDeletions(t *testing.T) {
	there := file(plan.Key{Namespace: "new", Name: "c"}, "a")
	for _, c := range []change{
		{"a file is removed", filesOf("a", "b", "c"), filesOf("a", "b"), 1, false},
		{"an object moves", filesOf("a", "b", "c"), append(filesOf("a", "b"), there), 5, false},
		{"12 come for 8", filesOf(numbered("old", 8)...), filesOf(numbered("new", 12)...), 44, true},
	} {
		for dead := range c.steps + 1 {
			t.Run(fmt.Sprintf("%s, dead after %d steps", c.name, dead), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.crash(t, dead) })
			})
		}
	}
}

func (c *change) crash(t *testing.T, dead int) {
	r := newPruner(t, nothing)
	r.files(c.before...)
	r.wantConverged()
	w := &witness{change: c, t: t, left: dead, cluster: r.cluster}
	r.cluster.set(func(f *fakeCluster) { f.fail, f.steps = w.see, nil })
	r.files(c.after...)
	w.allow(r)
	pass(time.Minute)
	if w.left > 0 {
		t.Fatalf("only %d steps were taken", dead-w.left)
	}
	r = r.restarted(t, nothing, func(next *rig) {
		w.left, w.cluster, next.cluster.fail = 1000, next.cluster, w.see
	})
	for range 3 {
		w.allow(r)
		pass(time.Minute)
	}
	r.wantConverged()
	r.cluster.mu.Lock()
	defer r.cluster.mu.Unlock()
	if len(r.cluster.world.live) != len(c.after) {
		t.Errorf("%d objects are left, want %d", len(r.cluster.world.live), len(c.after))
	}
	for _, o := range c.after {
		if live := r.cluster.world.live[o.Key]; !live.Exists() {
			t.Errorf("%s is gone", o.Key)
		}
	}
}
