package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// dependent is a document that depends on others.
func dependent(name string, on ...string) source.Object {
	o := file(lab(name), "a")
	for _, n := range on {
		o.DependsOn = append(o.DependsOn, plan.Key{Namespace: "lab", Name: n})
	}
	o.Digest += fmt.Sprint(on)
	return o
}

// TestChain: each waits for the next one to be ready, and all of them are in no time
// and with no more turns than it takes.
func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		began := time.Now()
		r.Take(snapshot(dependent("a", "b"), dependent("b", "c"), dependent("c", "d"), dependent("d", "e"), dependent("e")))
		synctest.Wait()
		r.wantConverged()
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		// Three looks a step of five objects, four of which have two turns and may
		// have written twice that they wait.
		if looks := r.cluster.lookedAt(); looks > 90 {
			t.Errorf("%d looks", looks)
		}
		var children []string
		for _, step := range r.cluster.taken() {
			if name, ok := strings.CutPrefix(step, "create the ConfigMap "); ok {
				children = append(children, name)
			}
		}
		if got := strings.Join(children, ""); got != "edcba" {
			t.Errorf("the ConfigMaps came in the order %s", got)
		}

		// At rest a pass is a pass.
		r.cluster.set(func(c *fakeCluster) { c.looks = 0 })
		r.Take(interval(snapshot(dependent("a", "b"), dependent("b", "c"), dependent("c", "d"), dependent("d", "e"), dependent("e"))))
		synctest.Wait()
		r.wantSteps()
		if looks := r.cluster.lookedAt(); looks != 9 {
			t.Errorf("%d looks in a pass, want one for each object and for each dependency", looks)
		}
	})
}

// TestManyWaitForOne: they are woken once, when it is ready, and until then are at
// rest.
func TestManyWaitForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		r := newRig(t)
		defer r.lead()()
		failing := &tries{err: unavailable(0)}
		r.cluster.fail = failing.fail
		files := []source.Object{file(checkout, "a")}
		for _, name := range numbered("s", n) {
			files = append(files, dependent(name, "checkout"))
		}
		r.Take(snapshot(files...))
		pass(time.Second)
		if it := r.item(lab("s-0000")); it.Action != report.ActionRequeue || it.IsError || !strings.Contains(it.Reason, "waits for lab/checkout: it doesn't exist yet") {
			t.Errorf("item %+v", it)
		}
		if got := r.cluster.ready(lab("s-0000")); got != "False DependencyNotReady" {
			t.Errorf("Ready is %s", got)
		}
		r.cluster.set(func(c *fakeCluster) { c.looks = 0 })
		pass(20 * time.Second)
		if looks := r.cluster.lookedAt(); looks > 100 {
			t.Errorf("%d looks while nothing happens", looks)
		}
		r.cluster.taken()
		failing.become(nil)
		pass(20 * time.Second)
		r.wantConverged()
		if steps := len(r.cluster.taken()); steps != 3+2*n {
			t.Errorf("%d steps", steps)
		}
	})
}

// TestMissingDependency: one that no file asks for is waited for, and once it is
// there, by whatever hand, and ready, that is over at once.
func TestMissingDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(dependent("a", "db")))
		synctest.Wait()
		r.wantWaiting("lab/a: waits for lab/db: it doesn't exist, and no file asks for it")
		other := newRig(t)
		stop := other.lead()
		other.Take(snapshot(dependent("db")))
		synctest.Wait()
		stop()
		live := other.cluster.world.live[lab("db")]
		r.cluster.set(func(c *fakeCluster) { c.world.live[lab("db")] = live })
		r.Changed(lab("db"))
		synctest.Wait()
		r.wantConverged()

		r.cluster.set(func(c *fakeCluster) { delete(c.world.live, lab("db")) })
		r.Changed(lab("db"))
		synctest.Wait()
		if got := r.cluster.ready(lab("a")); got != "False DependencyNotReady" {
			t.Errorf("Ready is %s", got)
		}
		r.wantWaiting("lab/a: waits for lab/db")
	})
}

// TestLiveDependency: an object without a file has its annotation.
func TestLiveDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(filesOf("a", "b")...))
		synctest.Wait()
		r.Take(snapshot(filesOf("b")...))
		r.cluster.edit(lab("a"), func(ws *v1.WebService) {
			ws.Annotations, ws.Spec.Image = map[string]string{v1.DependsOnAnnotation: "b, other/x"}, "b"
		})
		synctest.Wait()
		r.wantWaiting("lab/a: waits for other/x: it doesn't exist")
		r.cluster.edit(lab("a"), func(ws *v1.WebService) { ws.Annotations = nil })
		synctest.Wait()
		r.wantConverged()
	})
}

// TestDependsOnBlocked: what depends on an object that isn't created while deletions
// are held waits for a person too.
func TestDependsOnBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPruner(t, nothing, "a", "b", "c", "d", "e")
		r.files(dependent("a", "new"), file(lab("new"), "a"))
		r.wantHeld("4 of 5 objects", "b", "c", "d", "e")
		synctest.Wait()
		if o := r.Wait(t.Context()); o.Held != 4 || o.Waiting != 0 || o.Failing != 0 {
			t.Errorf("outcome %+v", o)
		}
	})
}

// TestADependencyGoes: what depends on an object is told when that goes, or isn't
// ready any more, and so on along the chain: a state that a pass would change isn't
// a converged one.
func TestADependencyGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := lab("a"), lab("b"), lab("c")
		after := func(key plan.Key, on ...plan.Key) source.Object {
			o := file(key, "nginx:1.27")
			o.DependsOn = on
			return o
		}
		r := newRig(t)
		defer r.lead()()
		r.Take(snapshot(after(a, b), after(b, c), after(c)))
		synctest.Wait()
		r.wantConverged()
		r.cluster.set(func(f *fakeCluster) { delete(f.world.live, c); delete(f.world.children, c) })
		r.Take(snapshot(after(a, b), after(b, c)))
		r.Changed(c)
		synctest.Wait()
		for _, key := range []plan.Key{a, b} {
			if got := r.cluster.ready(key); got != "False DependencyNotReady" {
				t.Errorf("%s: Ready is %s", key, got)
			}
		}
		r.wantWaiting("lab/a: waits for lab/b")
		r.cluster.taken()
		r.Take(interval(snapshot(after(a, b), after(b, c))))
		pass(time.Minute)
		r.wantSteps()
		r.Take(snapshot(after(a, b), after(b, c), after(c)))
		synctest.Wait()
		r.wantConverged()
	})
}
