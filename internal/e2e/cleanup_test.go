package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

const (
	cleanupFinalizer = "webservice.labhub.io/cleanup"
	hold             = "example.com/hold" // another tool's finalizer

	named = "finalizers: [" + cleanupFinalizer + "]" // in a file
)

// alsoByHand are the flags by which hand-made objects of the lab's own namespace
// are reconciled, and those of no other test.
func (l *lab) alsoByHand() []string {
	return []string{"--reconcile-unlabelled=true", "--namespaces-only=" + l.namespace}
}

// makeEphemeral creates a WebService by hand, with those finalizers.
func (l *lab) makeEphemeral(finalizers ...string) {
	l.Helper()
	ws := handmade("ephemeral", "busybox:1.36", nil)
	ws.Finalizers = finalizers
	l.create(webservices(), ws)
	l.letGo("ephemeral")
}

// letGo takes all finalizers off a WebService and its ConfigMap when the test ends.
func (l *lab) letGo(name string) {
	l.Helper()
	const none = `{"metadata": {"finalizers": null}}`
	l.afterwards(func(ctx context.Context) error { return l.patch(ctx, webservices(), name, none) })
	l.afterwards(func(ctx context.Context) error { return l.patch(ctx, configmaps(), v1.ChildName(name), none) })
}

// finalize replaces the finalizers of an object.
func (l *lab) finalize(resource schema.GroupVersionResource, name string, finalizers ...string) {
	l.Helper()
	l.edit(resource, name, fmt.Sprintf(`{"metadata": {"finalizers": ["%s"]}}`, strings.Join(finalizers, `", "`)))
}

// gone says what is left of a WebService and its ConfigMap.
func (l *lab) gone(name string) error {
	ws, err := l.webservice(name)
	if err == nil {
		return fmt.Errorf("%s is there, with the finalizers %v", name, ws.Finalizers)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return l.childless(name)
}

func (l *lab) childless(name string) error {
	_, err := l.child(name)
	if err == nil {
		return fmt.Errorf("%s has a ConfigMap", name)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// goes waits until nothing is left of a WebService.
func (l *lab) goes(name string) {
	l.Helper()
	labtest.Eventually(l, convergeLimit, func() error { return l.gone(name) })
}

// comesAnew waits until there is another object of the name, with all that it needs.
func (l *lab) comesAnew(name string, old types.UID) {
	l.Helper()
	labtest.Eventually(l, convergeLimit, func() error {
		if ws, err := l.webservice(name); err != nil || ws.UID == old {
			return fmt.Errorf("%s isn't there anew: %w", name, err)
		}
		return l.done(name, "nginx:1.27")
	})
}

func (l *lab) uid(name string) types.UID {
	l.Helper()
	ws, err := l.webservice(name)
	l.must(err)
	return ws.UID
}

// cleanedUp are the log's lines about it.
func cleanedUp(log string) []string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, `msg="cleaned up"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// noEphemeral is true of a report that doesn't name it any more.
func noEphemeral(r *report.Report) error {
	if slices.ContainsFunc(r.Items, func(i report.Item) bool { return i.Name == "ephemeral" }) {
		return errors.New("ephemeral is in the report")
	}
	return nil
}

// waitsBecause is true of an item that waits, for a reason with every part.
func waitsBecause(parts ...string) func(report.Item) bool {
	return func(i report.Item) bool { return waits(i) && i.Error == "" && says(i.Reason, parts...) == nil }
}

// Step 7 of the lab: what was made by hand is deleted, its ConfigMap goes first,
// then the finalizer, and the object with it.
func TestTheFinalizerHoldsAnObjectUntilItsConfigMapIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(l.alsoByHand()...)
	d.converges()
	l.makeEphemeral(cleanupFinalizer)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("ephemeral", "busybox:1.36") })
	d.converges(item("ephemeral", func(report.Item) bool { return true }))

	h := l.follow()
	l.remove(webservices(), "ephemeral")
	l.goes("ephemeral")
	labtest.Eventually(t, convergeLimit, func() error {
		// The one change is the server's: it notes the deletion.
		return h.tells("/ephemeral", "MODIFIED webservices/ephemeral", "DELETED configmaps/ephemeral-desired", "DELETED webservices/ephemeral")
	})
	d.converges(noEphemeral)
	lines := cleanedUp(d.stderr.String())
	if len(lines) != 1 || says(lines[0], "object="+l.namespace+"/ephemeral", "removed=configmap/ephemeral-desired", "finalizer="+cleanupFinalizer) != nil {
		t.Errorf("the log says %q", lines)
	}
	if w := d.warnings(); w != "" {
		t.Errorf("warnings: %s", w)
	}
	l.must(l.done("checkout", "nginx:1.27"))
}

func TestADeletedObjectThatAFileNamesComesBackOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "nginx:1.27", named)})
	l.letGo("ephemeral")
	d := l.run(everySecond)
	d.converges()
	old := l.uid("ephemeral")
	h := l.follow()
	l.remove(webservices(), "ephemeral")
	l.comesAnew("ephemeral", old)
	d.passes(2)
	l.must(l.done("ephemeral", "nginx:1.27"))
	if ws, err := l.webservice("ephemeral"); err != nil || !slices.Equal(ws.Finalizers, []string{cleanupFinalizer}) {
		t.Errorf("%v, finalizers %v", err, ws.Finalizers)
	}
	labtest.Eventually(t, convergeLimit, func() error {
		// The change at the end is the status.
		return h.tells("/ephemeral", "MODIFIED webservices/ephemeral", "DELETED configmaps/ephemeral-desired", "DELETED webservices/ephemeral",
			"ADDED webservices/ephemeral", "ADDED configmaps/ephemeral-desired", "MODIFIED webservices/ephemeral")
	})
}

func TestTheFinalizersOfOthersStayAndHold(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "nginx:1.27", named)})
	l.letGo("ephemeral")
	d := l.run(everySecond)
	d.converges()
	old := l.uid("ephemeral")
	l.finalize(webservices(), "ephemeral", hold, cleanupFinalizer, hold+"-too")
	d.converges()
	h := l.follow()
	l.remove(webservices(), "ephemeral")
	r := d.reports(convergeLimit, unconverged, item("ephemeral", waitsBecause("being deleted", hold+", "+hold+"-too")))
	l.holdsOnlyOthers(old)

	// Whoever pokes it gets no ConfigMap, no status, and no finalizer of ours.
	for i := range 3 {
		l.edit(webservices(), "ephemeral", fmt.Sprintf(`{"metadata": {"annotations": {"poke": "%d"}}}`, i))
		l.writeServices(fmt.Sprintf("nginx:1.%d", 28+i), "other")
		r = d.reports(convergeLimit, after(r.Cycle), unconverged, item("ephemeral", waitsBecause(hold)),
			func(*report.Report) error { return l.done("other", fmt.Sprintf("nginx:1.%d", 28+i)) })
	}
	l.holdsOnlyOthers(old)
	l.must(h.tells("/ephemeral-desired", "DELETED configmaps/ephemeral-desired"))

	l.edit(webservices(), "ephemeral", `{"metadata": {"finalizers": null}}`)
	l.comesAnew("ephemeral", old)
	d.converges()
}

// holdsOnlyOthers: the same object, without our finalizer and its ConfigMap.
func (l *lab) holdsOnlyOthers(old types.UID) {
	l.Helper()
	ws, err := l.webservice("ephemeral")
	l.must(err)
	if ws.UID != old || !slices.Equal(ws.Finalizers, []string{hold, hold + "-too"}) || readyOf(ws).Status != metav1.ConditionTrue {
		l.Errorf("uid %s of %s, finalizers %v, Ready %+v", ws.UID, old, ws.Finalizers, readyOf(ws))
	}
	l.must(l.childless("ephemeral"))
}

func TestAConfigMapThatOthersHoldIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(append(l.alsoByHand(), everySecond)...)
	d.converges()
	l.makeEphemeral(cleanupFinalizer)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("ephemeral", "busybox:1.36") })
	l.finalize(configmaps(), "ephemeral-desired", hold)
	d.converges()
	l.remove(webservices(), "ephemeral")
	r := d.reports(convergeLimit, unconverged, item("ephemeral", func(i report.Item) bool {
		return waitsBecause("its ConfigMap waits")(i) && i.Target == "configmap/ephemeral-desired"
	}))
	d.reports(convergeLimit, after(r.Cycle+1), item("ephemeral", waits), item("checkout", func(i report.Item) bool { return i.Action == report.ActionNoop }))
	if ws, err := l.webservice("ephemeral"); err != nil || !slices.Equal(ws.Finalizers, []string{cleanupFinalizer}) {
		t.Errorf("%v, finalizers %v", err, ws.Finalizers)
	}
	l.edit(configmaps(), "ephemeral-desired", `{"metadata": {"finalizers": null}}`)
	l.goes("ephemeral")
	d.converges(noEphemeral)
}

// While nobody was there to see it the objects were deleted and their ConfigMaps
// spoilt, so that neither a watch by label nor the garbage collector helps. Those
// of others stay.
func TestWhatWasDeletedWhileTheControllerWasAwayIsCleanedUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	spoils := map[string]string{
		"plain":      `{}`,
		"unlabelled": `{"metadata": {"labels": null}}`,
		"unowned":    `{"metadata": {"ownerReferences": null}}`,
		"immutable":  `{"immutable": true}`,
		"stale":      `{"metadata": {"ownerReferences": [{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "name": "stale", "uid": "0-0", "controller": true}]}}`,
		"theirs":     `{"metadata": {"labels": null, "ownerReferences": null}}`,
		"others":     `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "keeper", "uid": "%s", "controller": true}]}}`,
	}
	keeper := l.create(configmaps(), &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "keeper"},
	})
	spoils["others"] = fmt.Sprintf(spoils["others"], keeper.GetUID())
	for name := range spoils {
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", named)})
		l.letGo(name)
	}
	l.onceOK()
	for name, patch := range spoils {
		l.remove(webservices(), name)
		l.edit(configmaps(), v1.ChildName(name), patch)
	}
	before := l.states()
	l.writeServices("nginx:1.27", "stays")
	for name := range spoils {
		l.must(os.Remove(filepath.Join(l.source, name+".yaml")))
	}

	l.onceOK()
	states := l.states()
	for name := range spoils {
		if name == "theirs" || name == "others" {
			if child := "configmaps/" + v1.ChildName(name); states[child] != before[child] {
				t.Errorf("somebody else's %s was touched: %s", child, states[child])
			}
			continue
		}
		l.must(l.gone(name))
	}
	for _, name := range []string{"theirs", "others"} {
		if _, err := l.webservice(name); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.must(l.done("stays", "nginx:1.27"))
}

func TestCleaningUpAsksNeitherForAUsableFileNorForLeave(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	names := []string{"broken", "suspended", "live"}
	for _, name := range names {
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", named)})
		l.letGo(name)
	}
	d := l.run()
	r := d.converges()
	old := l.uid("live")
	l.write(map[string]string{
		"broken.yaml":    service("broken", "1.20", named),
		"suspended.yaml": service("suspended", "nginx:1.28", named, `annotations: {webservice.labhub.io/reconcile: disabled}`),
	})
	l.edit(webservices(), "live", `{"metadata": {"annotations": {"webservice.labhub.io/reconcile": "disabled"}}}`)
	d.reports(convergeLimit, reading(r), func(r *report.Report) error {
		if len(r.Problems) != 1 || r.Summary.Suspended != 2 {
			return fmt.Errorf("problems %+v, %d suspended", r.Problems, r.Summary.Suspended)
		}
		return nil
	})
	for _, name := range names {
		l.remove(webservices(), name)
	}
	l.goes("broken")
	l.goes("suspended")
	l.comesAnew("live", old) // what suspended it went with it
	l.must(l.gone("broken"))
	l.must(l.gone("suspended"))
}

// A namespace that is deleted takes no new objects, and goes as soon as those
// that it has are cleaned up.
func TestANamespaceGoesWithItsFinalizersAndComesBackWithItsFiles(t *testing.T) {
	t.Parallel()
	for _, creates := range []bool{false, true} {
		t.Run(fmt.Sprintf("create %t", creates), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			names := []string{"a", "b", "c"}
			for _, name := range names {
				l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", named)})
				l.letGo(name)
			}
			d := l.run(fmt.Sprintf("--namespaces-create=%t", creates))
			d.converges()
			old := l.uid("a")
			l.must(l.core.CoreV1().Namespaces().Delete(t.Context(), l.namespace, metav1.DeleteOptions{}))
			if creates {
				for _, name := range names {
					l.comesAnew(name, old)
				}
				d.converges()
			} else {
				labtest.Eventually(t, convergeLimit, func() error {
					_, err := l.core.CoreV1().Namespaces().Get(t.Context(), l.namespace, metav1.GetOptions{})
					if !apierrors.IsNotFound(err) {
						return fmt.Errorf("the namespace: %w", err)
					}
					return nil
				})
				d.reports(convergeLimit, unconverged, item("a", waitsBecause("the namespace doesn't exist")),
					item("c", waitsBecause("the namespace doesn't exist")))
			}
			if lines := cleanedUp(d.stderr.String()); len(lines) != len(names) {
				t.Errorf("the log says %q", lines)
			}
		})
	}
}

// The definition can't go while a finalizer holds an object. Meanwhile those that
// files name wait with that reason, and none is made.
func TestTheDefinitionGoesWithItsFinalizersAndComesBackWithTheFiles(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	for _, name := range []string{"a", "b"} {
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", named)})
	}
	d := l.run()
	d.converges()
	old := l.uid("a")
	l.finalize(webservices(), "b", hold, cleanupFinalizer)
	d.converges()
	l.cluster.Kubectl(t, "delete", "crd", "webservices.apps.labhub.io", "--wait=false")
	l.goes("a")
	d.reports(convergeLimit, unconverged, waitsFor("the CRD webservices.apps.labhub.io is being deleted"),
		item("a", waitsBecause("is being deleted")), item("b", waitsBecause(hold)))
	l.must(l.gone("a"))

	l.finalize(webservices(), "b", hold)
	l.edit(webservices(), "b", `{"metadata": {"finalizers": null}}`)
	l.comesAnew("a", old)
	l.comesAnew("b", old)
	d.converges()
}

// A policy refuses every update of what is being deleted. That is said, tried
// again ever more rarely, and over when the policy goes.
func TestACleanUpThatIsRefusedIsAnErrorAndTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(l.alsoByHand()...)
	d.converges()
	l.makeEphemeral(cleanupFinalizer)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("ephemeral", "busybox:1.36") })
	d.converges()
	l.refuseUpdates()
	l.remove(webservices(), "ephemeral")
	began := time.Now()
	d.reports(convergeLimit, unconverged, item("ephemeral", func(i report.Item) bool {
		return failing(i) && says(i.Error, "refused to drop the finalizer", "not while it goes") == nil
	}))
	// The third wait of the backoff is over a second long.
	labtest.Eventually(t, convergeLimit, func() error {
		if n := strings.Count(d.warnings(), "msg=refused"); n < 4 {
			return fmt.Errorf("tried %d times", n)
		}
		return nil
	})
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("tried 4 times within %s", took)
	}
	d.reports(convergeLimit, item("checkout", func(i report.Item) bool { return !failing(i) }))
	l.must(l.childless("ephemeral"))
	l.must(l.allowUpdates(t.Context()))
	l.goes("ephemeral")
	d.converges(noEphemeral)
}

// refuseUpdates makes the server refuse updates of deleted WebServices in the
// lab's namespace, and waits until it does so.
func (l *lab) refuseUpdates() {
	l.Helper()
	l.cluster.Apply(l, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
      - {apiGroups: [apps.labhub.io], apiVersions: [v1], operations: [UPDATE], resources: [webservices]}
  validations:
    - {expression: "!has(oldObject.metadata.deletionTimestamp) && !('refused' in object.metadata.?annotations.orValue({}))", message: not while it goes}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, l.namespace))
	l.afterwards(l.allowUpdates)
	labtest.Eventually(l, convergeLimit, func() error {
		if l.patch(l.Context(), webservices(), "ephemeral", `{"metadata": {"annotations": {"refused": null, "try": "1"}}}`) != nil {
			return errors.New("all updates are refused")
		}
		if l.patch(l.Context(), webservices(), "ephemeral", `{"metadata": {"annotations": {"refused": "yes"}}}`) == nil {
			return errors.New("the policy isn't at work yet")
		}
		return nil
	})
}

func (l *lab) allowUpdates(ctx context.Context) error {
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	return l.objects.Resource(policies).Delete(ctx, l.namespace, metav1.DeleteOptions{})
}

// What is another source's is nobody else's to clean up.
func TestADeletedObjectOfAnotherSourceIsLeftAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "nginx:1.27", named)})
	l.letGo("ephemeral")
	l.onceOK()
	l.remove(webservices(), "ephemeral")
	before := l.states()
	other := l.beside()
	other.name += "-other"
	other.writeServices("nginx:1.27", "checkout")
	d := other.run(append(other.alsoByHand(), everySecond)...)
	d.converges(noEphemeral)
	other.writeServices("nginx:1.28", "ephemeral")
	d.reports(convergeLimit, unconverged, item("ephemeral", failing))
	after := l.states()
	for _, name := range []string{"webservices/ephemeral", "configmaps/ephemeral-desired"} {
		if after[name] != before[name] {
			t.Errorf("%s was touched", name)
		}
	}
	l.must(os.Remove(filepath.Join(other.source, "ephemeral.yaml")))
	d.converges(noEphemeral)
	l.onceOK() // its own source cleans it up, and brings it back
	l.must(l.done("ephemeral", "nginx:1.27"))
}
