package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// soonPruned makes whatever could be deleted go soon: what stays nevertheless
// stays for good.
const soonPruned = "--prune-after=1s"

func TestHandMadeObjectsAreReconciledAndNeverPruned(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(append(l.alsoByHand(), everyClockStep(), soonPruned)...)
	d.converges()
	l.create(webservices(), handmade("byhand", "busybox:1.36", nil))
	labtest.Eventually(t, healed, func() error { return l.done("byhand", "busybox:1.36") })
	r := d.converges(items("byhand", "checkout"))
	if i := r.Items[0]; i.Source != "" {
		t.Errorf("item %+v", i)
	}
	before := l.states()
	d.passes(2)
	l.equal(before, l.states())

	// Where that is switched off it is nobody's business.
	d.stop()
	l.edit(webservices(), "byhand", `{"spec": {"image": "busybox:1.37"}}`)
	before = l.states()
	d = l.run(everyClockStep(), soonPruned)
	d.passes(2)
	d.converges(items("checkout"))
	l.equal(before, l.states())
}

// A ConfigMap of the right name comes in many states. What is ours is mended in
// place; one that can't be is made anew; and others' part of it stays.
func TestAConfigMapIsMadeRightWhateverItWentThrough(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	keeper := l.create(configmaps(), configMap("keeper"))
	cases := map[string]struct {
		spoil func(name string)
		anew  bool
	}{
		// As the lab's shell script makes it: no controller, and the label put on by hand.
		"script": {spoil: func(name string) {
			l.remove(configmaps(), v1.ChildName(name))
			l.kubectl("create", "configmap", v1.ChildName(name), "--from-literal=image=old:1")
			l.kubectl("label", "configmap", v1.ChildName(name), "app.kubernetes.io/managed-by=webservice-controller")
			l.kubectl("patch", "configmap", v1.ChildName(name), "--type=merge", "--patch", fmt.Sprintf(
				`{"metadata": {"ownerReferences": [{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "name": %q, "uid": %q}]}}`, name, l.uid(name)))
		}},
		"immutable": {anew: true, spoil: func(name string) { l.edit(configmaps(), v1.ChildName(name), `{"immutable": true}`) }},
		"stale": {anew: true, spoil: func(name string) {
			l.edit(configmaps(), v1.ChildName(name), fmt.Sprintf(
				`{"metadata": {"ownerReferences": [{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "name": %q, "uid": "0-0", "controller": true}]}}`, name))
		}},
		"shared": {spoil: func(name string) {
			l.edit(configmaps(), v1.ChildName(name), fmt.Sprintf(`{"metadata": {"labels": {"team": "shop"}, "ownerReferences": [
				{"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": %q},
				{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "name": %q, "uid": %q, "controller": true}]}}`, keeper.GetUID(), name, l.uid(name)))
		}},
	}
	names := slices.Collect(maps.Keys(cases))
	l.writeServices("nginx:1.27", names...)
	l.onceOK()
	spoilt := map[string]string{}
	for name, c := range cases {
		c.spoil(name)
		if cm, err := l.child(name); err == nil {
			spoilt[name] = string(cm.UID)
		}
	}
	l.writeServices("nginx:1.28", names...)
	l.onceOK()
	for name, c := range cases {
		cm, err := l.child(name)
		l.must(err)
		if name != "shared" {
			l.must(l.done(name, "nginx:1.28"))
		}
		if anew := string(cm.UID) != spoilt[name]; anew != c.anew {
			t.Errorf("%s: made anew %t, want %t", name, anew, c.anew)
		}
	}
	cm, err := l.child("shared")
	l.must(err)
	if cm.Data["image"] != "nginx:1.28" || cm.Labels["team"] != "shop" || len(cm.OwnerReferences) != 2 ||
		!slices.ContainsFunc(cm.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == keeper.GetUID() }) {
		t.Errorf("shared: data %v, labels %v, owners %+v", cm.Data, cm.Labels, cm.OwnerReferences)
	}
}

// The name of a ConfigMap has room for a suffix, or it hasn't.
func TestNamesThatLeaveNoRoomForTheConfigMaps(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return "n" + strings.Repeat("x", n-1) }
	l := newLab(t)
	l.write(map[string]string{
		"fits.yaml": bare("f"+long(244), "", "image: nginx:1.27"),
		"long.yaml": bare("f"+long(245), "", "image: nginx:1.27"),
	})
	d := l.run(append(l.alsoByHand(), "--reconcile-backoff-initial=3s", "--reconcile-backoff-max=3s")...)
	r := d.reports(convergeLimit, settled, unconverged, problems("long.yaml#1:3:18 metadata.name"), items("f"+long(244)))
	l.must(says(r.Problems[0].Message, "245"))
	l.must(l.done("f"+long(244), "nginx:1.27"))

	mark := l.cluster.Audit().Mark(t)
	for _, n := range []int{245, 246, 253} {
		l.create(webservices(), handmade(long(n), "nginx:1.27", nil))
	}
	labtest.Eventually(t, healed, func() error { return l.done(long(245), "nginx:1.27") })
	for _, n := range []int{246, 253} {
		d.reports(convergeLimit, settled, item(long(n), func(i report.Item) bool { return failing(i) && says(i.Reason, "at most 245") == nil }))
		ws, err := l.webservice(long(n))
		l.must(err)
		if ready := readyOf(ws); ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonNameTooLong || ws.Status.ObservedGeneration != 1 {
			t.Errorf("%d characters: status %+v", n, ws.Status)
		}
	}
	// The status is said once, and nothing is tried.
	l.goesBy(4 * clockStep)
	for _, r := range l.sent(mark) {
		if name := r.Name; len(name) > 245 && len(name) < 254 && name != v1.ChildName(long(245)) && r.Subresource != "status" {
			t.Errorf("sent: %s %s", r.Verb, name)
		}
	}
	if n := len(l.sent(mark)); n != 4 {
		t.Errorf("%d requests, want a ConfigMap and three statuses", n)
	}
}

// An object whose label somebody takes away is let go: no file, no deletion.
// One that a file names is taken over again.
func TestAnObjectWithoutItsLabelIsReleasedUntilAFileNamesIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	l.onceOK()
	uid := l.uid("checkout")
	l.kubectl("label", "webservice", "checkout", "webservice.labhub.io/source-")
	path := filepath.Join(l.source, "checkout.yaml")
	text, err := os.ReadFile(path)
	l.must(err)
	l.must(os.Remove(path))
	before := l.states()

	d := l.run(everyClockStep(), soonPruned)
	d.passes(3)
	r := d.converges(items("billing", "search"))
	l.equal(before, l.states())

	l.must(os.WriteFile(path, text, 0o644))
	d.converges(reading(r), items("billing", "checkout", "search"))
	if ws, err := l.webservice("checkout"); err != nil || ws.UID != uid || ws.Labels[v1.SourceLabel] != l.name {
		t.Errorf("%v, uid %s, labels %v", err, ws.UID, ws.Labels)
	}
	l.onlyChanged(before, "webservices/checkout")
	d.stop()

	// While a file names it, it is taken over at once.
	d = l.run()
	d.converges()
	l.kubectl("label", "webservice", "checkout", "webservice.labhub.io/source-")
	d.logs("checkout action=update target=webservice/checkout", "metadata.labels[webservice.labhub.io/source] is missing")
	d.converges()
}

// Whoever puts another source's name on an object gives it away.
func TestAnObjectWithAnothersLabelIsAnothersAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	d := l.run(everyClockStep(), soonPruned)
	r := d.converges()
	l.kubectl("label", "webservice", "checkout", "--overwrite", "webservice.labhub.io/source=team-b")
	l.kubectl("scale", "webservice", "checkout", "--replicas=9")
	l.writeServices("nginx:1.28", "checkout")
	before := l.states()
	for range 3 {
		r = d.scans(unconverged, noWrites, item("checkout", func(i report.Item) bool {
			return failing(i) && says(i.Reason, `belongs to the source "team-b"`, "remove its label webservice.labhub.io/source") == nil
		}))
	}
	l.equal(before, l.states())

	l.must(os.Remove(filepath.Join(l.source, "checkout.yaml")))
	d.converges(reading(r), items("billing", "search"))
	d.passes(2)
	l.equal(before, l.states())

	l.writeServices("nginx:1.28", "checkout")
	l.kubectl("label", "webservice", "checkout", "webservice.labhub.io/source-")
	d.converges(items("billing", "checkout", "search"))
	l.must(l.done("checkout", "nginx:1.28"))
}

// Two sources share a cluster, and then want the same object.
func TestTwoSourcesOnOneClusterLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.beside()
	other.name += "-b"
	l.writeServices("nginx:1.27", "checkout", "shared")
	other.writeServices("httpd:2.4", "billing")
	first := l.run(everyClockStep(), soonPruned)
	first.converges()
	second := other.run(everyClockStep(), soonPruned)
	second.converges()
	before := l.states()
	first.passes(2)
	second.passes(1)
	first.holds(first.converges(), items("checkout", "shared"))
	second.holds(second.converges(), items("billing"))
	l.equal(before, l.states())

	other.writeServices("httpd:2.4", "shared")
	for range 3 {
		second.scans(unconverged, noWrites, item("shared", func(i report.Item) bool {
			return failing(i) && says(i.Reason, fmt.Sprintf("belongs to the source %q", l.name)) == nil
		}))
	}
	first.scans(converged, idle)
	l.equal(before, l.states())
	l.must(l.done("shared", "nginx:1.27"))
}

// What kubectl's client-side apply owns is owned for good, unless its entry is
// taken over: then a file that doesn't state a field releases it.
func TestFieldsOfAClientSideApplyAreReleasedWithTheFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	const whole = "image: nginx:1.27, replicas: 5, tier: prod"
	for _, name := range []string{"stated", "unstated"} {
		l.kubectlReads(bare(name, ", labels: {team: shop}", whole), "apply", "--filename=-")
	}
	l.write(map[string]string{
		"stated.yaml":   bare("stated", ", labels: {team: shop}", whole),
		"unstated.yaml": bare("unstated", "", "image: nginx:1.27"),
	})
	d := l.run()
	r := d.converges()
	l.must(l.hasSpec("stated", 5, "prod", "shop"))
	l.must(l.hasSpec("unstated", 1, "dev", ""))

	l.write(map[string]string{"stated.yaml": bare("stated", "", "image: nginx:1.27, tier: prod")})
	d.converges(reading(r))
	l.must(l.hasSpec("stated", 1, "prod", ""))
	before := l.states()
	d.stop()
	l.run(everyClockStep()).passes(2)
	l.equal(before, l.states())
}

func (l *lab) hasSpec(name string, replicas int32, tier, team string) error {
	ws, err := l.webservice(name)
	if err != nil {
		return err
	}
	if *ws.Spec.Replicas != replicas || ws.Spec.Tier != tier || ws.Labels["team"] != team {
		return fmt.Errorf("%s: replicas %d, tier %s, labels %v", name, *ws.Spec.Replicas, ws.Spec.Tier, ws.Labels)
	}
	return l.done(name, ws.Spec.Image)
}

// A suspension is lifted where it was made: taking it out of the file doesn't
// lift that of the live object, nor the other way round.
func TestASuspensionIsLiftedWhereItWasMade(t *testing.T) {
	t.Parallel()
	const suspend = "annotations: {webservice.labhub.io/reconcile: disabled}"
	l := newLab(t)
	l.writeServices("nginx:1.27", "byfile", "byhand", "both")
	d := l.run()
	r := d.converges()
	for _, name := range []string{"byhand", "both"} {
		l.kubectl("annotate", "webservice", name, "webservice.labhub.io/reconcile=disabled")
	}
	for _, name := range []string{"byfile", "both"} {
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.28", suspend)})
	}
	l.writeServices("nginx:1.28", "byhand")
	ends := func(where string) func(report.Item) bool {
		return func(i report.Item) bool { return i.Action == report.ActionNoop && strings.HasSuffix(i.Reason, where) }
	}
	r = d.converges(reading(r), suspended(3), item("byfile", ends("in the file")), item("byhand", ends("on the live object")), item("both", ends("on the live object")))
	before := l.states()

	l.kubectl("annotate", "webservice", "both", "webservice.labhub.io/reconcile-")
	d.converges(after(r.Cycle), suspended(3), item("both", ends("in the file")))
	l.kubectl("annotate", "webservice", "both", "webservice.labhub.io/reconcile=disabled")
	l.writeServices("nginx:1.28", "byfile", "both")
	d.converges(suspended(2), item("both", ends("on the live object")), func(*report.Report) error { return l.done("byfile", "nginx:1.28") })
	l.onlyChanged(before, "webservices/both", "webservices/byfile", "configmaps/byfile-desired")

	for _, name := range []string{"byhand", "both"} {
		l.kubectl("annotate", "webservice", name, "webservice.labhub.io/reconcile-")
	}
	d.converges(suspended(0), func(*report.Report) error {
		return errors.Join(l.done("byhand", "nginx:1.28"), l.done("both", "nginx:1.28"))
	})
}
