package engine

import (
	"context"
	"errors"
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

func TestDelay(t *testing.T) {
	t.Parallel()
	b := Backoff{Initial: 200 * time.Millisecond, Max: time.Minute}
	for _, c := range []struct {
		failures int
		chance   float64
		want     time.Duration
	}{
		{1, 0, 200 * time.Millisecond},
		{2, 0, 400 * time.Millisecond},
		{3, 0, 800 * time.Millisecond},
		{9, 0, 51200 * time.Millisecond},
		{10, 0, time.Minute},
		{1000000, 0, time.Minute},
		{1, 0.5, 220 * time.Millisecond},
		{1, 1, 240 * time.Millisecond},
		{1000, 1, 72 * time.Second},
	} {
		if got := b.delay(c.failures, c.chance); got != c.want {
			t.Errorf("after %d failures, chance %v: %v, want %v", c.failures, c.chance, got, c.want)
		}
	}
}

func unavailable(after time.Duration) error {
	return &plan.Failure{Phrase: "the API server has failed", Err: errors.New("500"), RetryAfter: after}
}

// tries are the steps for one object that fails time after time.
type tries struct {
	mu  sync.Mutex
	at  []time.Time
	err error
}

func (tr *tries) fail(_ context.Context, key plan.Key, step *plan.Step) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if key != checkout || step.Kind == plan.StepWriteStatus || tr.err == nil {
		return nil
	}
	tr.at = append(tr.at, time.Now())
	return tr.err
}

// become makes the steps from now on fail in another way, or not at all with nil.
func (tr *tries) become(err error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.at, tr.err = nil, err
}

func (tr *tries) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.at)
}

func (tr *tries) gaps() []time.Duration {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var gaps []time.Duration
	for i := 1; i < len(tr.at); i++ {
		gaps = append(gaps, tr.at[i].Sub(tr.at[i-1]))
	}
	return gaps
}

// TestBackoff: one object fails for ten minutes, through 20 passes. Its tries
// come at doubling distances with some chance in them, and no others wait for it.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: unavailable(0)}
		r.cluster.fail = failing.fail
		defer r.lead()()
		files := func() *source.Snapshot { return snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")) }
		r.Take(files())
		synctest.Wait()
		if it := r.item(billing); it.Action != report.ActionCreate {
			t.Errorf("the other object: %+v", it)
		}
		for range 20 {
			pass(30 * time.Second)
			r.Take(interval(files()))
		}
		synctest.Wait()
		want := 200 * time.Millisecond
		for i, gap := range failing.gaps() {
			// The queue may add a moment.
			if gap < want || gap > want*12/10+100*time.Millisecond {
				t.Errorf("wait %d took %v, want %v and at most a fifth more", i+1, gap, want)
			}
			want = min(2*want, time.Minute)
		}
		if n := failing.count(); n < 15 || n > 19 { // 9 doublings in the first two minutes, then less than one a minute
			t.Errorf("%d tries in ten minutes", n)
		}
		if slices.Contains(failing.gaps(), 200*time.Millisecond) && slices.Contains(failing.gaps(), 400*time.Millisecond) {
			t.Error("nothing is left to chance")
		}
		if it := r.item(checkout); it.Requeue == nil || !it.Requeue.IsError || it.Requeue.AfterSeconds < 1 || it.Requeue.AfterSeconds > 72 || it.Error != "500" {
			t.Errorf("item %+v", it)
		}
		r.wantWaiting("1 failing object: lab/checkout: 500")
		if n := strings.Count(r.log.String(), "level=WARN"); n != 1 {
			t.Errorf("the same failure was logged %d times:\n%s", n, r.log)
		}
	})
}

// TestBackoffPreempted: what happens to an object or its file ends its wait;
// that the scan interval is over doesn't.
func TestBackoffPreempted(t *testing.T) {
	for _, c := range []struct {
		name  string
		event func(*rig)
		want  bool
	}{
		{"its file changes", func(r *rig) { r.Take(snapshot(file(checkout, "nginx:1.28"))) }, true},
		{"an event of the object", func(r *rig) { r.Changed(checkout) }, true},
		{"an event of its namespace", func(r *rig) { r.NamespaceChanged("lab") }, true},
		{"a pass", func(r *rig) { r.Take(interval(snapshot(file(checkout, "nginx:1.27")))) }, false},
		{"an event of another object", func(r *rig) { r.Changed(billing) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				failing := &tries{err: unavailable(0)}
				r.cluster.fail = failing.fail
				defer r.lead()()
				r.Take(snapshot(file(checkout, "nginx:1.27")))
				pass(40 * time.Second) // the wait now is one of half a minute
				before := failing.count()
				c.event(r)
				synctest.Wait()
				if got := failing.count() > before; got != c.want {
					t.Errorf("tried at once: %t, want %t", got, c.want)
				}
			})
		})
	}
}

// TestStaleQueueEntry: the queue keeps the earlier of two times of a key. What
// is left of a wait that was cut short leads neither to a try before its time
// nor to none at all.
func TestStaleQueueEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: unavailable(3 * time.Second)}
		r.cluster.fail = failing.fail
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27"))) // leaves an entry for second 3
		pass(2 * time.Second)
		failing.become(unavailable(10 * time.Second))
		r.Changed(checkout) // fails again: the next try is due at second 12
		pass(8 * time.Second)
		if n := failing.count(); n != 1 {
			t.Fatalf("%d tries until second 10, want the one that was asked for", n)
		}
		pass(3 * time.Second)
		if got := failing.gaps(); len(got) != 1 || got[0] < 10*time.Second || got[0] > 10200*time.Millisecond {
			t.Errorf("waits %v, want the last one to be 10 s", got)
		}
		if n := r.Report().Cycle; n != 4 {
			t.Errorf("cycle %d: the stale entry began one", n)
		}
	})
}

// TestBackoffReset: after a success the first wait is the shortest again.
func TestBackoffReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: unavailable(0)}
		r.cluster.fail = failing.fail
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		pass(10 * time.Second)
		failing.become(nil)
		pass(time.Minute)
		r.wantConverged()

		failing.become(unavailable(0))
		r.Take(snapshot(file(checkout, "nginx:1.28")))
		pass(time.Second)
		if gaps := failing.gaps(); len(gaps) == 0 || gaps[0] > 300*time.Millisecond {
			t.Errorf("waits %v after a success", gaps)
		}
	})
}

// TestRetryAfter: the server's wish counts where it is longer than our wait.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: unavailable(7 * time.Second)}
		r.cluster.fail = failing.fail
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		pass(20 * time.Second)
		for _, gap := range failing.gaps() {
			if gap < 7*time.Second {
				t.Errorf("tried after %v, though the server asked for 7 s", gap)
			}
		}
		if n := failing.count(); n != 3 {
			t.Errorf("%d tries in 20 s", n)
		}
	})
}

// TestFailures: what each class of failure comes to.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		isError bool
		reason  string
		ready   string
	}{
		{"no answer", unavailable(0), true, "500", "True Reconciled"},
		{"an error of no class", errors.New("odd"), true, "odd", "True Reconciled"},
		{
			"refused", &plan.Failure{Class: plan.Refused, Phrase: "Forbidden", Err: errors.New("policy 7 says no")}, true,
			"the API server refused to apply the WebService: policy 7 says no", "False Failed",
		},
		{"outdated", outdated(), false, "the object has changed meanwhile", "True Reconciled"},
		{
			"not ready", &plan.Failure{Class: plan.NotReady, Phrase: "the namespace doesn't exist", Err: errors.New("404")}, false,
			"the namespace doesn't exist", "True Reconciled",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				defer r.lead()()
				r.Take(snapshot(file(checkout, "nginx:1.27")))
				synctest.Wait()
				failing := &tries{err: c.err}
				r.cluster.set(func(c *fakeCluster) { c.fail = failing.fail })
				r.Take(snapshot(file(checkout, "nginx:1.28")))
				synctest.Wait()
				it := r.item(checkout)
				if it.Requeue == nil || it.Requeue.IsError != c.isError || it.Reason != c.reason || (it.Error != "") != c.isError {
					t.Errorf("item %+v, requeue %+v", it, it.Requeue)
				}
				if got := r.cluster.ready(checkout); got != c.ready {
					t.Errorf("Ready is %s, want %s", got, c.ready)
				}
				r.cluster.taken()
				pass(5 * time.Second)
				if n := failing.count(); n < 4 || n > 6 {
					t.Errorf("%d tries in 5 s", n)
				}
				for _, step := range r.cluster.taken() {
					if step != "apply the WebService checkout" {
						t.Errorf("a retry wrote more than what failed: %s", step)
					}
				}
				failing.become(nil)
				pass(time.Minute)
				r.wantConverged()
			})
		})
	}
}

// TestMutated: a write whose answer isn't what was asked for is an error that
// names the field, and isn't sent again until something changes.
func TestMutated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.mutate = func(ws *v1.WebService) { ws.Spec.Image = "mirror/" + ws.Spec.Image }
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		if it := r.item(checkout); it.Requeue == nil || !it.Requeue.IsError || !strings.Contains(it.Error, "spec.image") {
			t.Errorf("item %+v", it)
		}
		if got := r.cluster.ready(checkout); got != "False NotAccepted" {
			t.Errorf("Ready is %s", got)
		}
		pass(10 * time.Minute)
		r.wantSteps()

		r.Take(snapshot(file(checkout, "nginx:1.28")))
		synctest.Wait()
		if steps := r.cluster.taken(); !slices.Contains(steps, "apply the WebService checkout") {
			t.Errorf("after the file has changed: %q", steps)
		}
		r.cluster.set(func(c *fakeCluster) { c.mutate = nil })
		r.cluster.edit(checkout, func(*v1.WebService) {})
		synctest.Wait()
		r.wantConverged()
	})
}
