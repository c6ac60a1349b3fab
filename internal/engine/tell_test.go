package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// told are the events that the engine lets go, in memory.
type told struct {
	mu              sync.Mutex
	noted, released []plan.Event
	sent            int64
}

func (e *told) Note(event plan.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noted = append(e.noted, event)
}

func (e *told) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.released, e.noted = append(e.released, e.noted...), nil
}

func (e *told) Sent() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent
}

func (e *told) send(n int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent += n
}

// taken are the events that were released since the last call, sorted.
func (e *told) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, event := range e.released {
		lines = append(lines, fmt.Sprintf("%s %s: %s", event.Reason, event.Key.Name, event.Note))
	}
	e.released = nil
	slices.Sort(lines)
	return lines
}

func (e *told) pending() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.noted)
}

func telling(e *told) func(*Options) { return func(o *Options) { o.Events = e } }

func wantTold(t *testing.T, e *told, want ...string) {
	t.Helper()
	if got := e.taken(); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const asked = "the file asks for it and the cluster doesn't have it"

// TestTold: what is done to an object is told once, as what it is; what only follows
// from it isn't told beside it; and where nothing is done nothing is told.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newPruner(t, telling(e), "a", "b", "c")
		wantTold(t, e, "Created a: created webservice/a: "+asked, "Created b: created webservice/b: "+asked, "Created c: created webservice/c: "+asked)
		pass(time.Minute)
		r.files(filesOf("a", "b", "c")...)
		wantTold(t, e)

		r.cluster.edit(lab("a"), func(ws *v1.WebService) { ws.Spec.Image = "theirs" })
		synctest.Wait()
		wantTold(t, e, `DriftHealed a: updated webservice/a: spec.image is "theirs" and should be "a"`)

		r.cluster.set(func(f *fakeCluster) { delete(f.world.children, lab("b")) })
		r.Changed(lab("b"))
		r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Generation--; ws.Status.Replicas = 9 })
		synctest.Wait()
		wantTold(t, e, "DriftHealed b: created configmap/b-desired: the ConfigMap doesn't exist",
			"DriftHealed c: updated webservice/c: the status isn't up to date: status.replicas")

		files := filesOf("a", "b", "c")
		files[0].Image, files[0].Digest = "other", "other"
		r.files(files...)
		wantTold(t, e, `Updated a: updated webservice/a: spec.image is "a" and should be "other"`)

		r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Finalizers = []string{v1.CleanupFinalizer} })
		synctest.Wait()
		r.files(files[:2]...)
		pass(pruneAfter)
		pass(scanTakes)
		wantTold(t, e, "CleanedUp c: removed configmap/c-desired and took off the finalizer "+v1.CleanupFinalizer+": the object is being deleted",
			"Deleted c: deleted webservice/c: its file is gone")
		pass(time.Hour)
		wantTold(t, e)
	})
}

// TestToldOfOtherHands: what was made by hand is told of by its ConfigMap, and what
// becomes ours as that.
func TestToldOfOtherHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newRig(t, telling(e))
		r.cluster.handMade(checkout)
		r.Take(snapshot(file(billing, "a")))
		defer r.lead()()
		wantTold(t, e, "Created billing: created webservice/billing: "+asked, "Created checkout: created configmap/checkout-desired: the ConfigMap doesn't exist")

		r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "by-hand:2" })
		synctest.Wait()
		wantTold(t, e, `Updated checkout: updated configmap/checkout-desired: data.image is "by-hand:1" and should be "by-hand:2"`)

		r.Take(snapshot(file(billing, "a"), file(checkout, "by-hand:2")))
		synctest.Wait()
		got := e.taken()
		if len(got) != 1 || !strings.HasPrefix(got[0], "Adopted checkout: updated webservice/checkout: ") {
			t.Errorf("told %q", got)
		}
	})
}

// TestToldOnlyAfterTheCycle: while a cycle lasts nothing goes out, and what it did
// does when it is cut off.
func TestToldOnlyAfterTheCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newRig(t, telling(e))
		stop := r.lead()
		r.cluster.lag(true)
		r.Take(snapshot(file(checkout, "a")))
		synctest.Wait()
		if n := e.pending(); n != 1 {
			t.Errorf("%d events are noted", n)
		}
		wantTold(t, e)
		stop()
		wantTold(t, e, "Created checkout: created webservice/checkout: "+asked)
	})
}

// TestAStandbyTellsNothing, and neither does one whose lease is gone.
func TestAStandbyTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newRig(t, telling(e))
		r.Take(snapshot(file(checkout, "a")))
		r.lead()()
		e.taken()
		r.Take(snapshot(file(checkout, "b")))
		r.cluster.edit(checkout, func(ws *v1.WebService) { ws.Spec.Image = "theirs" })
		pass(time.Hour)
		wantTold(t, e)
		if e.pending() > 0 {
			t.Error("something is noted")
		}
	})
}

// TestAFailureIsToldEachTime, by what all of its times have in common, but not while
// nothing answers.
func TestAFailureIsToldEachTime(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", &plan.Failure{Class: plan.Refused, Phrase: "Invalid", Err: fmt.Errorf("quota is 3")},
			"Failed checkout: the API server refused to apply the WebService: quota is 3"},
		{"a webhook is away", &plan.Failure{Phrase: "the API server has failed", Err: apierrors.NewInternalError(fmt.Errorf("webhook"))},
			"Failed checkout: failed to apply the WebService: Internal error occurred: webhook"},
		{"no answer", &plan.Failure{Phrase: "the API server can't be reached", Err: fmt.Errorf("refused")}, ""},
		{"overloaded", &plan.Failure{Phrase: "the API server is overloaded", Err: apierrors.NewTooManyRequests("later", 1)}, ""},
		{"not ready", &plan.Failure{Class: plan.NotReady, Phrase: "the namespace is being deleted", Err: fmt.Errorf("terminating")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &told{}
				r := newRig(t, telling(e))
				failing := &tries{err: c.err}
				r.cluster.fail = failing.fail
				r.Take(snapshot(file(checkout, "a")))
				defer r.lead()()
				pass(30 * time.Minute)
				got := e.taken()
				if c.want == "" {
					if len(got) > 0 {
						t.Errorf("told %q", got)
					}
					return
				}
				if n := len(failing.at); len(got) != n || n < 20 || len(slices.Compact(got)) != 1 || got[0] != c.want {
					t.Errorf("of %d failures %d were told, the first as %q", n, len(got), got[0])
				}
			})
		})
	}
}

// TestConflictsAreTold by reasons of their own.
func TestConflictsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newRig(t, telling(e))
		r.cluster.set(func(f *fakeCluster) {
			f.unseen[checkout] = plan.Child{UID: "theirs", ResourceVersion: "1"}
		})
		r.Take(snapshot(file(checkout, "a"), file(billing, "a")))
		defer r.lead()()
		if got := e.taken(); !slices.Contains(got, "NameConflict checkout: a ConfigMap of that name belongs to someone else: remove or rename it, or rename the WebService") {
			t.Errorf("told %q", got)
		}
		for range 8 {
			r.cluster.edit(billing, func(ws *v1.WebService) { ws.Spec.Image = "theirs" })
			synctest.Wait()
		}
		count := map[string]int{}
		for _, line := range e.taken() {
			reason, _, _ := strings.Cut(line, " ")
			count[reason]++
		}
		if count["DriftHealed"] != 5 || count["FieldContested"] == 0 {
			t.Errorf("told %v", count)
		}
	})
}

// TestAHoldIsToldOnce, when it begins, by a reason without the numbers in it.
func TestAHoldIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &told{}
		r := newPruner(t, telling(e), "a", "b", "c", "d")
		e.taken()
		r.files(filesOf("a")...)
		pass(time.Minute)
		got := e.taken()
		if len(got) != 3 || !strings.HasPrefix(got[0], "DeletionHeld b: no file; held: 3 of 4 objects") {
			t.Errorf("told %q", got)
		}
		pass(time.Hour)
		wantTold(t, e)
		r.files(filesOf("a", "b", "c", "d")...)
		r.files(filesOf("a")...)
		pass(time.Minute)
		if got := e.taken(); len(got) != 3 {
			t.Errorf("the next hold: told %q", got)
		}
	})
}

// TestReportsCountEvents: each report has those since the one before it. What a command
// does as a whole has one account, and so all reports of that have all of them.
func TestReportsCountEvents(t *testing.T) {
	for trigger, want := range map[report.Trigger][]int64{"": {0, 3, 2}, report.TriggerOnce: {0, 3, 5}} {
		synctest.Test(t, func(t *testing.T) {
			e := &told{}
			r := newRig(t, telling(e), func(o *Options) { o.Trigger = trigger })
			stop := background(t, func(ctx context.Context) { r.Publishing(ctx) })
			synctest.Wait()
			e.send(3)
			r.StateChanged()
			pass(2 * time.Second)
			e.send(2)
			if n := r.Report().Requests.Events; n != want[2] {
				t.Errorf("%q: looked at, it is %d", trigger, n)
			}
			stop()
			var got []int64
			for _, rep := range r.reports {
				got = append(got, rep.Requests.Events)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: events %v, want %v", trigger, got, want)
			}
		})
	}
}
