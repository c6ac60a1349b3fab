package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// opponent changes a field back as soon as it sees that it was taken away.
type opponent struct {
	*lab
	// changes counts how often it did.
	changes atomic.Int64
	end     func()
}

// opposes begins with a change of the image, and goes on until end is called.
func (l *lab) opposes(name, image string) *opponent {
	l.Helper()
	o := &opponent{lab: l}
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.Context()))
	var fighting sync.WaitGroup
	o.end = sync.OnceFunc(func() { cancel(); fighting.Wait() })
	l.Cleanup(o.end)
	fighting.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if ws, err := l.webservice(name); err == nil && ws.Spec.Image != image &&
				l.patch(ctx, webservices(), name, fmt.Sprintf(`{"spec": {"image": %q}}`, image)) == nil {
				o.changes.Add(1)
			}
			<-tick.C
		}
	})
	return o
}

// taken are the writes of spec that the server has let through since a mark.
func (l *lab) taken(name string, since labtest.Mark) []labtest.Request {
	l.Helper()
	return slices.DeleteFunc(l.sent(since), func(r labtest.Request) bool {
		return r.Name != name || r.Resource != "webservices" || r.Subresource != "" || r.Code >= 300
	})
}

// Somebody who changes a field back at once would be fought for ever. After a few
// times that is an error which names both, and the field is left alone for a while;
// when the other gives up, all comes right by itself.
func TestAFightOverAFieldIsAnErrorAndEndsWithTheOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run()
	d.converges()
	mark, began := l.cluster.Audit().Mark(t), time.Now()
	other := l.opposes("checkout", "evil:1")
	contested := func(i report.Item) bool {
		return failing(i) && says(i.Reason, otherManager, "spec.image", "5 times within a minute") == nil
	}
	d.reports(convergeLimit, unconverged, item("checkout", contested), item("billing", func(i report.Item) bool { return i.Action == report.ActionNoop }))
	// Another field of it isn't contested, nor is another object.
	l.edit(webservices(), "billing", `{"spec": {"image": "evil:1"}}`)
	labtest.Eventually(t, healed, func() error { return l.done("billing", "nginx:1.27") })
	l.goesBy(5 * time.Second)
	if n := len(l.taken("checkout", mark)); n != 5 {
		t.Errorf("the field was taken %d times", n)
	}
	d.reports(convergeLimit, unconverged, item("checkout", contested))
	// What was fought over is reconciled as it stands.
	labtest.Eventually(t, healed, func() error {
		cm, err := l.child("checkout")
		if err != nil || cm.Data["image"] != "evil:1" {
			return fmt.Errorf("%w: %v", err, cm.Data)
		}
		return nil
	})
	other.end()
	d.reports(90*time.Second-time.Since(began), converged)
	t.Logf("the other made %d changes; all was right %s after the beginning", other.changes.Load(), time.Since(began).Round(time.Second))
	l.must(l.done("checkout", "nginx:1.27"))
	if n := len(l.taken("checkout", mark)); n != 6 {
		t.Errorf("the field was taken %d times in all", n)
	}
}

// A file that is edited often is no fight.
func TestManyEditsOfAFileAreNoFight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:0", "checkout")
	d := l.run()
	d.converges()
	for n := range 12 {
		image := fmt.Sprintf("nginx:%d", n+1)
		l.writeServices(image, "checkout")
		labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", image) })
	}
	d.converges()
	if w := d.warnings(); w != "" {
		t.Errorf("warnings: %s", w)
	}
}

const dependsOn = "annotations: {webservice.labhub.io/depends-on: %q}"

// dependent is a file's text for a service that waits for others.
func dependent(name, on string) string {
	return service(name, "nginx:1.27", fmt.Sprintf(dependsOn, on))
}

// notReady is true of an item that waits for a dependency, named.
func notReady(name string) func(report.Item) bool {
	return waitsBecause("waits for", "/"+name+":")
}

// childrenInOrder are the ConfigMaps in the order in which they were made.
func (h *history) childrenInOrder() []string {
	var order []string
	for _, e := range h.of("ADDED configmaps/") {
		order = append(order, strings.TrimSuffix(strings.TrimPrefix(e.what, "ADDED configmaps/"), "-desired"))
	}
	return order
}

// A chain is made from its end, and another member waits while one isn't ready.
func TestDependenciesAreMadeFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	h := l.follow()
	l.create(configmaps(), configMap("a-desired"))
	l.write(map[string]string{
		"1.yaml": dependent("d", "c"),
		"2.yaml": dependent("c", l.namespace+"/b"),
		"3.yaml": dependent("b", "a"),
		"4.yaml": service("a", "nginx:1.27"),
	})
	d := l.run()
	d.reports(convergeLimit, settled, unconverged, item("a", failing), item("b", notReady("a")), item("c", notReady("b")), item("d", notReady("c")))
	for _, name := range []string{"b", "c", "d"} {
		ws, err := l.webservice(name)
		l.must(err)
		if ready := readyOf(ws); ready.Reason != "DependencyNotReady" || ready.Status != "False" || ws.Status.ObservedGeneration != ws.Generation {
			t.Errorf("%s: status %+v", name, ws.Status)
		}
		l.must(l.childless(name))
	}
	l.remove(configmaps(), "a-desired")
	labtest.Eventually(t, convergeLimit, func() error { return l.done("a", "nginx:1.27") })
	labtest.Eventually(t, healed, func() error { return l.done("d", "nginx:1.27") })
	labtest.Eventually(t, convergeLimit, func() error {
		if order := h.childrenInOrder(); !slices.Equal(order, []string{"a", "a", "b", "c", "d"}) { // the first is the one in the way
			return fmt.Errorf("made in the order %q", order)
		}
		return nil
	})
	d.converges()
}

// What an object depends on may come later, and then it is there within a second.
func TestAMissingDependencyIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"checkout.yaml": dependent("checkout", "cache, database"), "cache.yaml": service("cache", "nginx:1.27")})
	d := l.run(append(l.alsoByHand(), everySecond)...)
	r := d.reports(convergeLimit, settled, unconverged, item("checkout", notReady("database")))
	before := l.states()
	for range 2 {
		r = d.reports(convergeLimit, after(r.Cycle), settled, unconverged, item("checkout", notReady("database")))
	}
	l.equal(before, l.states())
	l.must(l.childless("checkout"))

	// One that somebody made by hand does as well as one from a file.
	l.create(webservices(), handmade("database", "postgres:17", nil))
	labtest.Eventually(t, healed, func() error { return errors.Join(l.done("database", "postgres:17"), l.done("checkout", "nginx:1.27")) })
	d.converges()
}

// A cycle among files is a problem of theirs, and names itself.
func TestDependenciesInACycleAreAProblem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{
		"a.yaml": dependent("a", "b"), "b.yaml": dependent("b", "a"), "fine.yaml": service("fine", "nginx:1.27"),
	})
	d := l.run()
	r := d.reports(convergeLimit, settled, unconverged, item("fine", func(i report.Item) bool { return !failing(i) && !waits(i) }))
	if len(r.Problems) != 2 {
		t.Fatalf("problems %+v", r.Problems)
	}
	for i, want := range []string{"a → b → a", "b → a → b"} {
		l.must(says(r.Problems[i].Message, "makes a cycle", want))
	}
	l.must(l.done("fine", "nginx:1.27"))
	l.write(map[string]string{"b.yaml": service("b", "nginx:1.27")})
	d.converges(func(*report.Report) error { return errors.Join(l.done("a", "nginx:1.27"), l.done("b", "nginx:1.27")) })
}
