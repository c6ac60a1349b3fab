package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

var errAway = errors.New("the API server can't be reached")

// TestClusterAway: while the cluster can't be worked on nothing is sent, objects
// stay in the report, and all is done as soon as it can be again.
func TestClusterAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.state = errAway
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		pass(10 * time.Minute)
		r.wantSteps()
		r.wantWaiting(errAway.Error())
		if it := r.item(checkout); it.Requeue == nil || it.Requeue.IsError || it.Reason != errAway.Error() {
			t.Errorf("item %+v", it)
		}
		if n := r.Report().Cycle; n > 25 {
			t.Errorf("%d cycles in ten minutes of waiting", n)
		}

		r.cluster.setState(nil, true)
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		r.wantConverged()
		if trigger := r.Report().Trigger; trigger != report.TriggerCluster {
			t.Errorf("trigger %s", trigger)
		}
	})
}

// TestClusterBlinks: a state that was bad only while a key had its turn isn't
// seen by anyone else, and the key runs again all the same.
func TestClusterBlinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.cluster.setState(errAway, false) // nobody is told, as between two looks
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		synctest.Wait()
		r.wantSteps()
		r.cluster.setState(nil, false)
		if r.Report().Converged {
			t.Error("converged before any key was looked at")
		}
		r.StateChanged()
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		r.wantConverged()
	})
}

// TestNotConvergedUnseen: the moment at which the cluster becomes good is not
// one at which all is done, even where there are no files.
func TestNotConvergedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.state = errAway
		defer r.lead()()
		r.Take(snapshot())
		synctest.Wait()
		r.cluster.setState(nil, false)
		r.wantWaiting("the cluster to be looked at")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if o := r.Wait(ctx); o.Converged || ctx.Err() == nil {
			t.Errorf("outcome %+v", o)
		}
	})
}

// TestPrepare is tried again with growing distances, and looked at whenever the
// cluster's state changes.
func TestPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.prepare = errors.New("the CRD can't be installed: forbidden")
		r.cluster.state = errors.New("the CRD isn't there yet")
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		pass(time.Minute)
		r.wantWaiting("the CRD can't be installed: forbidden")
		r.cluster.set(func(c *fakeCluster) { c.prepare, c.state = nil, nil })
		r.StateChanged()
		synctest.Wait()
		r.wantConverged()
	})
}

// TestLeaseLost: keys that want to be written to wait while we may not write,
// and go on soon after. Nothing spins meanwhile.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := &tries{err: &plan.Failure{Class: plan.NotWriter, Phrase: "the lease is not ours", Err: errors.New("lost")}}
		r.cluster.fail = failing.fail
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")))
		pass(9 * time.Second)
		if n := failing.count(); n < 3 || n > 6 {
			t.Errorf("%d tries in 9 s", n)
		}
		if it := r.item(checkout); it.Requeue == nil || it.Requeue.IsError || it.Reason != "lost" {
			t.Errorf("item %+v", it)
		}
		failing.become(nil)
		pass(2 * time.Second)
		r.wantConverged()
	})
}

// TestLeadEnds: the step under way is finished, no other key has its turn, and
// the next time all keys do.
func TestLeadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Workers = 1 })
		under, goOn := make(chan plan.Key, 100), make(chan struct{})
		r.cluster.fail = func(ctx context.Context, key plan.Key, _ *plan.Step) error {
			under <- key
			select {
			case <-goOn:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		}
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27"), file(search, "nginx:1.27")))
		stop := r.lead()
		other := checkout
		if <-under == checkout {
			other = search
		}
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		synctest.Wait()
		r.Changed(other) // while the workers are on their way out
		close(goOn)
		<-stopped
		if got := r.cluster.taken(); len(got) != 3 || got[0][len("apply the WebService "):] != got[2][len("write the status "):] {
			t.Errorf("steps %q, want those of the one object that had its turn", got)
		}
		r.wantWaiting("2 objects to be reconciled")
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.28"), file(search, "nginx:1.27")))

		again := r.lead()
		r.wantConverged()
		if rep := r.Report(); rep.Trigger != report.TriggerLease || rep.Cycle != 2 || rep.Summary.Total != 3 {
			t.Errorf("trigger %s, cycle %d, %d objects", rep.Trigger, rep.Cycle, rep.Summary.Total)
		}
		again()
	})
}

// TestGrace: a step that doesn't end is given up a while after leading has ended.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.fail = func(ctx context.Context, _ plan.Key, _ *plan.Step) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		stop := r.lead()
		began := time.Now()
		stop()
		if took := time.Since(began); took != grace {
			t.Errorf("it took %v, want %v", took, grace)
		}
		if it := r.item(checkout); it.Requeue == nil || it.Requeue.IsError {
			t.Errorf("item %+v", it)
		}
	})
}

// TestStandby: without the lease nothing is done, and changes of files are taken
// note of for later.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.wantWaiting("standing by: the lease is held by nobody yet")
		r.SetHolder("pod-a_1", true)
		r.Take(snapshot(file(checkout, "nginx:1.27")))
		r.Changed(checkout)
		r.Take(snapshot(file(checkout, "nginx:1.28")))
		pass(time.Minute)
		r.wantSteps()
		r.wantWaiting("standing by: the lease is held by pod-a_1")
		rep := r.Report()
		if rep.Role != report.RoleStandby || rep.Holder != "pod-a_1" || rep.Cycle != 0 || rep.Trigger != report.TriggerStart {
			t.Errorf("role %s, holder %s, cycle %d, trigger %s", rep.Role, rep.Holder, rep.Cycle, rep.Trigger)
		}
		defer r.lead()()
		synctest.Wait()
		r.wantSteps(created("checkout")...)
		if rep := r.Report(); rep.Role != report.RoleActive || rep.Trigger != report.TriggerStart || !rep.Converged {
			t.Errorf("role %s, trigger %s, converged %t", rep.Role, rep.Trigger, rep.Converged)
		}
	})
}

// TestNewsWhileOpening: an object that shows up while leading begins has its
// turn, whichever side of the look at all objects it falls on.
func TestNewsWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			r := newRig(t)
			r.Take(snapshot())
			other := newRig(t)
			stop := other.lead()
			other.Take(snapshot(file(checkout, "nginx:1.27")))
			synctest.Wait()
			stop()
			live := other.cluster.world.live[checkout]

			r.SetHolder("me", false)
			stop = background(t, r.Lead)
			r.cluster.set(func(c *fakeCluster) { c.world.live[checkout] = live })
			r.Changed(checkout)
			synctest.Wait()
			r.wantSteps("create the ConfigMap checkout")
			stop()
		}
	})
}

// TestCRDMended: a CRD that lacks fields is an error of every object. Once it is
// mended all is well, though the server acts on it only a while later, and no
// event tells of that.
func TestCRDMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.prunes, r.cluster.missing = true, []string{"status.conditions[].reason"}
		defer r.lead()()
		r.Take(snapshot(file(checkout, "nginx:1.27"), file(billing, "nginx:1.27")))
		pass(10 * time.Minute)
		r.wantWaiting("doesn't declare status.conditions[].reason")
		r.wantSteps(created("checkout", "billing")...)

		r.cluster.set(func(c *fakeCluster) { c.missing = nil })
		r.StateChanged()
		pass(time.Second)
		r.cluster.set(func(c *fakeCluster) { c.prunes = false })
		pass(crdLag)
		r.wantConverged()
		r.wantSteps("write the status checkout", "write the status checkout", "write the status billing", "write the status billing")
	})
}

// TestNothingIsWrittenBeforeTheFirstLook: a file may say to leave its object alone,
// and only it may.
func TestNothingIsWrittenBeforeTheFirstLook(t *testing.T) {
	for _, c := range []struct {
		name  string
		first *source.Snapshot
		want  []string
	}{
		{"the file suspends", snapshot(suspendedFile(checkout)), nil},
		{"the file doesn't", snapshot(file(checkout, "by-hand:1")), []string{
			"apply the WebService checkout", "create the ConfigMap checkout", "write the status checkout",
		}},
		{"the files can't be read", &source.Snapshot{Err: source.ErrUnreadable}, []string{
			"create the ConfigMap checkout", "write the status checkout",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cluster.handMade(checkout)
				defer r.lead()()
				pass(time.Minute)
				r.wantSteps()
				r.Take(c.first)
				pass(time.Second)
				r.wantSteps(c.want...)
			})
		})
	}
}

func suspendedFile(key plan.Key) source.Object {
	o := file(key, "nginx:1.27")
	o.Suspended = true
	return o
}
