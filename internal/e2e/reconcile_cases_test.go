package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// At rest nothing moves, however often everything is looked at.
func TestTenPassesMoveNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.create(configmaps(), configMap("billing-desired")) // in the way: one is failing meanwhile
	d := l.run(everyClockStep(), "--reconcile-backoff-initial=1s", "--reconcile-backoff-max=1s")
	d.reports(convergeLimit, settled, item("billing", failing))
	before, mark := l.states(), l.cluster.Audit().Mark(t)
	for range 5 { // each sees two passes go by
		d.scans(unconverged, noWrites, item("checkout", func(i report.Item) bool { return i.Action == report.ActionNoop }))
	}
	l.equal(before, l.states())
	for _, r := range l.sent(mark) {
		// Whether the ConfigMap is still in the way can't be told without asking.
		if r.Name != "billing-desired" {
			t.Errorf("sent: %s %s %s", r.Verb, r.Resource, r.Name)
		}
	}
}

// truths wants every state of a WebService that the server told to be a true one:
// a status speaks of the generation at which it was written, and Ready=True stands
// only where the ConfigMap said by then what the spec says.
func (h *history) truths() error {
	children, seen := map[string]*corev1.ConfigMap{}, 0
	for _, e := range h.of("") {
		if e.object.GetKind() != v1.Kind {
			var cm corev1.ConfigMap
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.object.Object, &cm); err != nil {
				return err
			}
			children[cm.Name] = &cm
			continue
		}
		var ws v1.WebService
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(e.object.Object, &ws); err != nil {
			return err
		}
		ready := readyOf(&ws)
		if ready.ObservedGeneration != ws.Status.ObservedGeneration {
			return fmt.Errorf("%s: the status speaks of generation %d, its condition of %d", e.what, ws.Status.ObservedGeneration, ready.ObservedGeneration)
		}
		if ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != ws.Generation {
			continue
		}
		cm := children[v1.ChildName(ws.Name)]
		if cm == nil || cm.Data["image"] != ws.Spec.Image || cm.Data["replicas"] != fmt.Sprint(*ws.Spec.Replicas) || cm.Data["tier"] != ws.Spec.Tier {
			return fmt.Errorf("%s: Ready at generation %d with the ConfigMap %v", e.what, ws.Generation, cm)
		}
		seen++
	}
	if seen == 0 {
		return errors.New("nothing was ever ready")
	}
	return nil
}

// What Ready says is true at every moment, and its time moves when it flips.
func TestReadyIsNeverAheadOfTheConfigMap(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	h := l.follow()
	l.writeServices("nginx:0", "checkout")
	d := l.run()
	d.converges()
	ws, err := l.webservice("checkout")
	l.must(err)
	since := readyOf(ws).LastTransitionTime
	l.aSecondGoesBy()
	for n := range 20 {
		l.writeServices(fmt.Sprintf("nginx:%d", n+1), "checkout")
		switch n % 5 {
		case 0:
			labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", fmt.Sprintf("nginx:%d", n+1)) })
		case 1: // in the middle of what the controller does
			l.edit(webservices(), "checkout", fmt.Sprintf(`{"spec": {"replicas": %d}}`, n+3))
		}
	}
	labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:20") })
	d.converges()
	ws, err = l.webservice("checkout")
	l.must(err)
	if at := readyOf(ws).LastTransitionTime; !at.Equal(&since) {
		t.Errorf("the transition moved from %s to %s", since, at)
	}

	// A foreign ConfigMap in the place of ours flips it, and its end flips it back.
	l.edit(configmaps(), "checkout-desired", `{"metadata": {"labels": null, "ownerReferences": null}}`)
	labtest.Eventually(t, convergeLimit, func() error {
		if ws, err = l.webservice("checkout"); err != nil || readyOf(ws).Status != metav1.ConditionFalse {
			return fmt.Errorf("%w: %+v", err, ws.Status)
		}
		return nil
	})
	if at := readyOf(ws).LastTransitionTime; !since.Before(&at) || readyOf(ws).Reason != v1.ReasonNameConflict {
		t.Errorf("status %+v, and it was ready since %s", ws.Status, since)
	}
	l.remove(configmaps(), "checkout-desired")
	labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:20") })
	labtest.Eventually(t, convergeLimit, h.truths)
}

// What heals a ConfigMap is one write to it: the WebService isn't touched.
func TestHealingAConfigMapLeavesTheWebServiceAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.run().converges()
	before := l.states()
	for what, spoil := range map[string]func(){
		"create configmaps checkout-desired 201": func() { l.remove(configmaps(), "checkout-desired") },
		"patch configmaps checkout-desired 200":  func() { l.edit(configmaps(), "checkout-desired", `{"data": {"tier": "none"}}`) },
	} {
		l.aSecondGoesBy()
		mark := l.cluster.Audit().Mark(t)
		spoil()
		labtest.Eventually(t, healed, func() error { return l.done("checkout", "nginx:1.27") })
		l.goesBy(healed)
		l.wantSent(mark, what)
		if now := l.states()["webservices/checkout"]; now != before["webservices/checkout"] {
			t.Errorf("%s: the WebService was written: %s", what, now)
		}
	}
}

// Whatever keeps an object from being ready, its status says so in a word of the
// API, and at which generation.
func TestAStatusThatIsntReadyHasAReasonAndAGeneration(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	l.create(configmaps(), configMap("conflict-desired"))
	l.deny("", "configmaps", "object.metadata.name != 'refused-desired'", "not this one", configMap("refused-desired"))
	l.writeServices("nginx:1.27", "conflict", "going", "refused", "fine")
	l.letGo("going")
	d := l.run("--reconcile-backoff-initial=5s", "--reconcile-backoff-max=5s")
	labtest.Eventually(t, convergeLimit, func() error { return l.done("going", "nginx:1.27") })
	l.finalize(configmaps(), "going-desired", hold)
	l.remove(configmaps(), "going-desired")
	l.writeServices("nginx:1.28", "conflict", "going", "refused", "fine") // a second generation

	for name, want := range map[string]string{
		"conflict": v1.ReasonNameConflict, "going": v1.ReasonProgressing, "refused": v1.ReasonFailed, "fine": v1.ReasonReconciled,
	} {
		labtest.Eventually(t, convergeLimit, func() error {
			ws, err := l.webservice(name)
			if err != nil {
				return err
			}
			ready := readyOf(ws)
			if ws.Generation != 2 || ready.Reason != want || (ready.Status == metav1.ConditionTrue) != (name == "fine") || ready.Message == "" {
				return fmt.Errorf("%s: generation %d, %+v", name, ws.Generation, ready)
			}
			if ws.Status.ObservedGeneration != 2 || ready.ObservedGeneration != 2 || ws.Status.Replicas != 2 {
				return fmt.Errorf("%s: status %+v", name, ws.Status)
			}
			return nil
		})
	}
	r := d.reports(convergeLimit, settled, unconverged, item("going", waits), item("conflict", failing), item("refused", func(i report.Item) bool {
		return failing(i) && says(i.Reason+i.Error, "not this one") == nil
	}))
	for _, i := range r.Items {
		if i.Generation != 2 || i.ObservedGeneration != 2 {
			t.Errorf("item %+v", i)
		}
	}
}

// While an object goes, its ConfigMap isn't mended and not made anew.
func TestTheConfigMapOfAnObjectThatGoesIsLeftToGo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "nginx:1.27", named)})
	l.letGo("ephemeral")
	d := l.run(everySecond)
	d.converges()
	l.finalize(webservices(), "ephemeral", hold, cleanupFinalizer)
	l.finalize(configmaps(), "ephemeral-desired", hold)
	d.converges()
	h := l.follow()
	l.remove(webservices(), "ephemeral")
	r := d.reports(convergeLimit, item("ephemeral", waitsBecause("its ConfigMap waits")))
	for n := range 3 {
		l.edit(configmaps(), "ephemeral-desired", fmt.Sprintf(`{"data": {"image": "poke:%d"}}`, n))
		r = d.reports(convergeLimit, after(r.Cycle), item("ephemeral", waits))
	}
	if cm, err := l.child("ephemeral"); err != nil || cm.Data["image"] != "poke:2" {
		t.Errorf("%v, data %v", err, cm.Data)
	}
	l.edit(configmaps(), "ephemeral-desired", `{"metadata": {"finalizers": null}}`)
	r = d.reports(convergeLimit, after(r.Cycle), item("ephemeral", waitsBecause(hold)))
	for range 2 {
		r = d.reports(convergeLimit, after(r.Cycle), item("ephemeral", waitsBecause(hold)))
	}
	l.must(l.childless("ephemeral"))
	for _, e := range h.of("/ephemeral-desired") {
		if strings.HasPrefix(e.what, "ADDED") {
			t.Error(e.what)
		}
	}
}

// The file's times say nothing: what is older by them, and as long, is read all
// the same.
func TestAFileThatIsOlderByItsTimeIsApplied(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(everySecond)
	r := d.converges()
	for n, age := range []time.Duration{time.Hour, 24 * time.Hour, -time.Hour, 0} {
		image := fmt.Sprintf("nginx:1.%d", 28+n)
		next := filepath.Join(l.home, "next.yaml")
		l.must(os.WriteFile(next, []byte(service("checkout", image)), 0o644))
		at := time.Now().Add(-age)
		l.must(os.Chtimes(next, at, at))
		l.must(os.Rename(next, filepath.Join(l.source, "checkout.yaml")))
		r = d.converges(reading(r), func(*report.Report) error { return l.done("checkout", image) })
	}
}
