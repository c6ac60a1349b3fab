package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// counts is an Observer that keeps what it is told.
type counts struct {
	mu    sync.Mutex
	told  map[string]int
	waits []time.Duration
	turns []time.Duration // of all but noop
	cycle []time.Duration
	done  []time.Duration
}

func newCounts() *counts { return &counts{told: map[string]int{}} }

func (c *counts) observe(o *Options) { o.Observer = c }

func (c *counts) note(what string, list *[]time.Duration, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if what != "" {
		c.told[what]++
	}
	if list != nil {
		*list = append(*list, d)
	}
}

func (c *counts) Waited(d time.Duration) { c.note("", &c.waits, d) }
func (c *counts) Reconciled(action report.Action, took time.Duration) {
	list := &c.turns
	if action == report.ActionNoop {
		list = nil
	}
	c.note(string(action), list, took)
}
func (c *counts) Failed(class string)            { c.note("failed "+class, nil, 0) }
func (c *counts) Healed(target string)           { c.note("healed "+target, nil, 0) }
func (c *counts) Cycled(took time.Duration)      { c.note("", &c.cycle, took) }
func (c *counts) Done(sinceChange time.Duration) { c.note("", &c.done, sinceChange) }

// take returns what was told since the last call, each with its number, sorted.
func (c *counts) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c.told)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, c.told[what]))
	}
	clear(c.told)
	return strings.Join(parts, ", ")
}

// durations returns a list since the last call.
func (c *counts) durations(list *[]time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprint(*list)
	*list = nil
	return text
}

func (c *counts) want(t *testing.T, what, want string) {
	t.Helper()
	if got := c.take(); got != want {
		t.Errorf("%s: told %q, want %q", what, got, want)
	}
}

// noticedAgo is a snapshot whose change was noticed that long ago.
func noticedAgo(d time.Duration, s *source.Snapshot) *source.Snapshot {
	s.Noticed = time.Now().Add(-d)
	return s
}

// TestTurnsAreTold: what is told of the turns of an object from its first to its last.
func TestTurnsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounts()
		r := newRig(t, pruning, c.observe)
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		synctest.Wait()
		c.want(t, "two new objects", "create 2")
		r.Take(interval(snapshot(file(checkout, "a"), file(billing, "a"))))
		synctest.Wait()
		c.want(t, "a pass", "noop 2")
		r.Take(snapshot(file(checkout, "b"), file(billing, "a")))
		synctest.Wait()
		c.want(t, "a new version of one file", "update 1")
		r.Take(snapshot(file(checkout, "b")))
		pass(pruneAfter)
		c.take()
		r.Take(snapshot(file(checkout, "b")))
		pass(time.Minute)
		if told := c.take(); !strings.Contains(told, "delete 1") || strings.Contains(told, "failed") {
			t.Errorf("a file that is gone: told %q", told)
		}
	})
}

// TestDurationsAreTold: each write takes 300 ms, and there is one worker.
func TestDurationsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounts()
		r := newRig(t, c.observe, func(o *Options) { o.Workers = 1 })
		r.cluster.fail = slow
		defer r.lead()()
		r.Take(snapshot(file(checkout, "a"), file(billing, "a"), file(search, "a")))
		<-time.After(time.Second)
		if depth, oldest := r.Queue(); depth != 1 || oldest != time.Second {
			// The first has taken 0.9 s for its three steps, and the second has begun.
			t.Errorf("after a second: %d wait, the oldest for %v", depth, oldest)
		}
		pass(10 * time.Second)
		if depth, oldest := r.Queue(); depth != 0 || oldest != 0 {
			t.Errorf("at rest: %d wait, the oldest for %v", depth, oldest)
		}
		if got, want := c.durations(&c.turns), "[900ms 900ms 900ms]"; got != want {
			t.Errorf("turns took %s, want %s", got, want)
		}
		if got, want := c.durations(&c.waits), "[0s 900ms 1.8s]"; got != want {
			t.Errorf("objects waited %s, want %s", got, want)
		}
		// The first is the empty one of the beginning.
		if got, want := c.durations(&c.cycle), "[0s 2.7s]"; got != want {
			t.Errorf("cycles took %s, want %s", got, want)
		}
	})
}

// slow is a step that takes 300 ms.
func slow(context.Context, plan.Key, *plan.Step) error {
	<-time.After(300 * time.Millisecond)
	return nil
}

// TestErrorsAreTold, each by its class and once a turn.
func TestErrorsAreTold(t *testing.T) {
	refusal := &plan.Failure{Class: plan.Refused, Phrase: "Forbidden", Err: errors.New("hands off")}
	conflict := &plan.Failure{Class: plan.Outdated, Phrase: "the object has changed meanwhile"}
	missing := &plan.Failure{Class: plan.NotReady, Phrase: "the namespace doesn't exist"}
	foreign := plan.Child{UID: "foreign", ResourceVersion: "1", Labels: map[string]string{"app": "x"}}
	for _, c := range []struct {
		name    string
		prepare func(*fakeCluster)
		want    string
	}{
		{"no answer", func(f *fakeCluster) { f.fail = always(unavailable(0)) }, "failed unavailable 1, requeue 1"},
		{"refused", func(f *fakeCluster) { f.fail = always(refusal) }, "failed refused 1, requeue 1"},
		{"another's ConfigMap", func(f *fakeCluster) { f.unseen[checkout] = foreign }, "failed object 1, requeue 1"},
		{"a conflict is no error", func(f *fakeCluster) { f.fail = always(conflict) }, "requeue 1"},
		{"nor is what isn't ready", func(f *fakeCluster) { f.fail = always(missing) }, "requeue 1"},
		{"the CRD can't be made", func(f *fakeCluster) { f.prepare = errors.New("forbidden") }, "create 1, failed prepare 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := newCounts()
				r := newRig(t, told.observe)
				c.prepare(r.cluster)
				defer r.lead()()
				r.Take(snapshot(file(checkout, "a")))
				synctest.Wait()
				told.want(t, "one turn", c.want)
			})
		})
	}
}

func always(err error) func(context.Context, plan.Key, *plan.Step) error {
	return func(context.Context, plan.Key, *plan.Step) error { return err }
}

// TestHealingIsTold where somebody else has changed what was as it should be.
func TestHealingIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*rig)
		want   string
	}{
		{"the spec", func(r *rig) { r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "evil" }) }, "healed webservice 1, update 1"},
		{"the object is deleted", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) { delete(f.world.live, checkout); delete(f.world.children, checkout) })
			r.Changed(checkout)
		}, "create 1, healed webservice 1"},
		{"the ConfigMap", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) {
				child := f.world.children[checkout]
				child.Data, child.ResourceVersion = map[string]string{"image": "evil"}, f.nextVersion()
				f.world.children[checkout] = child
			})
			r.Changed(checkout)
		}, "healed configmap 1, update 1"},
		{"the ConfigMap is deleted", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) { delete(f.world.children, checkout) })
			r.Changed(checkout)
		}, "create 1, healed configmap 1"},
		{"twice", func(r *rig) {
			for range 2 {
				r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "evil" })
				synctest.Wait()
			}
		}, "healed webservice 2, update 2"},
		{"a new file is no drift", func(r *rig) { r.Take(snapshot(file(checkout, "b"))) }, "update 1"},
		{"nor is what changed while it was suspended", func(r *rig) {
			suspended := file(checkout, "a")
			suspended.Suspended, suspended.Digest = true, "suspended"
			r.Take(snapshot(suspended))
			synctest.Wait()
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "evil" })
			synctest.Wait()
			r.Take(snapshot(file(checkout, "a")))
		}, "noop 2, update 1"},
		{"also on the live object alone", func(r *rig) {
			r.cluster.edit(checkout, func(ws *v1.WebService) {
				ws.Annotations, ws.Spec.Image = map[string]string{v1.ReconcileAnnotation: "disabled"}, "evil"
			})
			synctest.Wait()
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Annotations = nil })
		}, "noop 1, update 1"},
		{"nor what changed while another led", func(r *rig) {
			r.stop()
			r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "evil" })
			r.stop = r.lead()
		}, "update 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := newCounts()
				r := newRig(t, told.observe)
				r.stop = r.lead()
				defer func() { r.stop() }()
				r.Take(snapshot(file(checkout, "a")))
				synctest.Wait()
				told.take()
				c.change(r)
				synctest.Wait()
				told.want(t, "after that", c.want)
			})
		})
	}
}

// TestReadinessIsTimedFromTheChange of the file.
func TestReadinessIsTimedFromTheChange(t *testing.T) {
	suspended := file(checkout, "b")
	suspended.Suspended, suspended.Digest = true, "suspended"
	for _, c := range []struct {
		name   string
		change func(*rig)
		want   string
	}{
		{"at once", func(r *rig) { r.Take(noticedAgo(150*time.Millisecond, snapshot(file(checkout, "b")))) }, "[150ms]"},
		{"two objects of one change", func(r *rig) {
			r.Take(noticedAgo(150*time.Millisecond, snapshot(file(checkout, "b"), file(billing, "b"))))
		}, "[150ms 150ms]"},
		{"writes take their time", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) {
				f.fail = slow
			})
			r.Take(noticedAgo(150*time.Millisecond, snapshot(file(checkout, "b")))) // spec, ConfigMap, status
		}, "[1.05s]"},
		{"another change overtakes it", func(r *rig) {
			r.cluster.set(func(f *fakeCluster) { f.fail = always(&plan.Failure{Class: plan.Refused, Phrase: "no"}) })
			r.Take(noticedAgo(150*time.Millisecond, snapshot(file(checkout, "bad"))))
			pass(time.Hour)
			r.cluster.set(func(f *fakeCluster) { f.fail = nil })
			r.Take(noticedAgo(200*time.Millisecond, snapshot(file(checkout, "good"))))
		}, "[200ms]"},
		{"a pass is no change", func(r *rig) { r.Take(noticedAgo(time.Second, interval(snapshot(file(checkout, "a"))))) }, "[]"},
		{"nor is healing", func(r *rig) { r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "evil" }) }, "[]"},
		{"a suspended object isn't followed", func(r *rig) { r.Take(noticedAgo(time.Second, snapshot(suspended))) }, "[]"},
		{"a deleted one isn't Ready", func(r *rig) { r.Take(noticedAgo(time.Second, snapshot())) }, "[]"},
		{"a document that can't be used changes nothing", func(r *rig) {
			s := snapshot()
			s.Broken = map[plan.Key]source.Problem{checkout: {}}
			r.Take(noticedAgo(time.Second, s))
		}, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := newCounts()
				r := newRig(t, told.observe)
				defer r.lead()()
				r.Take(noticedAgo(time.Minute, snapshot(file(checkout, "a"))))
				synctest.Wait()
				if got := told.durations(&told.done); got != "[]" {
					t.Errorf("at the start: %s", got)
				}
				c.change(r)
				pass(5 * time.Second)
				if got := told.durations(&told.done); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestQueueOfARetry: an object whose wait is over waits for its turn from then on.
func TestQueueOfARetry(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		it   item
		want time.Time
	}{
		"at rest":          {item{}, time.Time{}},
		"ready":            {item{ready: true, measured: measured{since: now.Add(-time.Second)}}, now.Add(-time.Second)},
		"waits":            {item{due: now.Add(time.Second)}, time.Time{}},
		"its wait is over": {item{due: now.Add(-2 * time.Second)}, now.Add(-2 * time.Second)},
		"woken before":     {item{ready: true, due: now.Add(-time.Hour), measured: measured{since: now}}, now},
	} {
		if got := c.it.waitsSince(now); !got.Equal(c.want) {
			t.Errorf("%s: since %v, want %v", name, got, c.want)
		}
	}
}
