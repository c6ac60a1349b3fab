package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

const keep = "annotations: {webservice.labhub.io/prune: disabled}" // in a file

// annotate sets an annotation of ours on a live object by another hand; "null"
// takes it away.
func (l *lab) annotate(name, key, value string) {
	l.Helper()
	if value != "null" {
		value = `"` + value + `"`
	}
	l.edit(webservices(), name, fmt.Sprintf(`{"metadata": {"annotations": {"webservice.labhub.io/%s": %s}}}`, key, value))
}

// label sets the source label of a live object by another hand; "null" takes it away.
func (l *lab) label(name, value string) {
	l.Helper()
	if value != "null" {
		value = `"` + value + `"`
	}
	l.edit(webservices(), name, fmt.Sprintf(`{"metadata": {"labels": {"%s": %s}}}`, v1.SourceLabel, value))
}

// What a person keeps stays without its file, is looked after, and is in nobody's
// way: neither in that of convergence nor in that of other deletions.
func TestWhatIsKeptStaysWithoutItsFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "kept-live", "kept-oddly", "suspended")
	l.write(map[string]string{"kept.yaml": service("kept", "nginx:1.27", keep)})
	d := l.prunes()
	d.converges()
	l.annotate("kept-live", "prune", "disabled")
	l.annotate("kept-oddly", "prune", "yes, please") // the safe side
	l.annotate("suspended", "reconcile", "disabled")
	d.converges(suspended(1))
	before, mark := l.states(), l.mark()
	l.withdraw("kept", "kept-live", "kept-oddly", "suspended", "c")
	l.goes("c")
	why := []fits{
		converged, nothingHeld, suspended(1), items("a", "b", "kept", "kept-live", "kept-oddly", "suspended"),
		listed(stays("no file", "webservice.labhub.io/prune"), "kept", "kept-live", "kept-oddly"),
		item("suspended", stays("suspended")),
	}
	d.reports(convergeLimit, why...)
	d.scanned(4, append(why, idle)...)
	l.wantDeleted(mark, "c")
	for _, gone := range []string{"webservices/c", "configmaps/c-desired"} {
		delete(before, gone)
	}
	l.equal(before, l.states())

	// They are judged as live objects.
	l.edit(configmaps(), "kept-desired", `{"data": {"image": "evil:1"}}`)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("kept", "nginx:1.27") })
	l.edit(webservices(), "kept", `{"spec": {"image": "nginx:1.30"}}`)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("kept", "nginx:1.30") })
	d.stop()
	l.onceOK(pruning()...)
	l.wantDeleted(mark, "c")

	// Not any more once the word is taken back.
	d = l.prunes()
	d.converges()
	l.annotate("kept-live", "prune", "null")
	l.annotate("suspended", "reconcile", "null")
	l.allGone("kept-live", "suspended")
	d.converges(items("a", "b", "kept", "kept-oddly"), nothingHeld)
	l.wantDeleted(mark, "c", "kept-live", "suspended")
}

// Objects that are kept make no share smaller: two of the two others are all.
func TestWhatIsKeptDoesntCount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, name := range numbered("kept", 4) {
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", keep)})
	}
	l.writeServices("nginx:1.27", "a", "b")
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.withdraw(numbered("kept", 4)...)
	d.converges(listed(stays("no file"), numbered("kept", 4)...))
	l.write(map[string]string{"other.yaml": otherKind})
	l.withdraw("a", "b")
	d.reports(convergeLimit, held([]string{"a", "b"}, "2 objects would be deleted, and that is all"), approvable)
	d.scanned(3, held([]string{"a", "b"}))
	l.wantUntouched(mark)
}

func TestPruningMayBeSwitchedOff(t *testing.T) {
	t.Parallel()
	const off = "--prune-enabled=false"
	l := newLab(t)
	all := numbered("web", 5)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes(off)
	d.converges()
	before, mark := l.states(), l.mark()
	l.withdraw(all[1:]...)
	d.converges(nothingHeld, listed(stays("no file; pruning is off"), all[1:]...))
	d.scanned(4, converged, idle)
	l.equal(before, l.states())
	l.edit(configmaps(), all[4]+"-desired", `{"data": {"image": "evil:1"}}`)
	labtest.Eventually(t, convergeLimit, func() error { return l.allDone("nginx:1.27", all...) })
	d.stop()
	l.onceOK(append(pruning(), off)...)
	l.holds(l.lastReport(), converged, nothingHeld)
	l.wantUntouched(mark)

	// An empty directory is still taken for a mistake, with nothing held.
	l.withdraw(all[0])
	l.endsWith(l.once(append(pruning(), off)...), 5, "holds no WebService")
	l.holds(l.lastReport(), nothingHeld)
	l.writeServices("nginx:1.27", all[0])

	// Switched on, what has come together is held.
	d = l.prunes()
	d.reports(convergeLimit, held(all[1:], "4 of 5 objects"), approvable)
	d.scanned(3, held(all[1:]))
	l.wantUntouched(mark)
}

// Ours is what our own apply has labelled with our name: what others have
// labelled, copied or let go never goes.
func TestWhatIsntOursIsNeverDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "released", "taken", "relabelled")
	d := l.prunes()
	d.converges()
	d.stop() // with the file there, the label would be put back at once
	l.othersObjects()
	copied := l.cluster.Kubectl(t, "get", "ws", "a", "-n", l.namespace, "-o", "yaml", "--show-managed-fields=false")
	copied = strings.ReplaceAll(copied, "  name: a\n", "  name: copied\n")
	if _, problems, code := l.cluster.KubectlExit(t, copied, "create", "-n", l.namespace, "-f", "-"); code != 0 {
		t.Fatalf("kubectl create: %s", problems)
	}
	l.label("released", "null")
	l.label("taken", "team-b")
	l.kubectlLabels("relabelled", l.name)
	mark := l.mark()
	l.withdraw("released", "taken", "relabelled")
	d = l.prunes(l.alsoByHand()...)
	d.scanned(5)
	for _, name := range []string{"copied", "released", "taken", "relabelled", "other-0", "other-1", "other-2", "other-3", "other-4"} {
		if ws, err := l.webservice(name); err != nil || ws.DeletionTimestamp != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.converges(nothingHeld)
	l.wantUntouched(mark)

	// What a file names is taken over, and is ours from then on: then it goes.
	l.writeServices("nginx:1.27", "released", "other-0")
	d.converges(listed(func(i report.Item) bool { return i.Source == i.Name+".yaml:1" }, "released", "other-0"))
	l.must(l.allDone("nginx:1.27", "released", "other-0"))
	l.withdraw("released", "other-0")
	l.allGone("released", "other-0")
	l.wantDeleted(mark, "released", "other-0")
}

// kubectlLabels gives an object our label by a hand that thereby owns it.
func (l *lab) kubectlLabels(name, value string) {
	l.Helper()
	l.cluster.Kubectl(l, "label", "ws", name, "-n", l.namespace, "--overwrite", v1.SourceLabel+"=for-a-moment")
	l.cluster.Kubectl(l, "label", "ws", name, "-n", l.namespace, "--overwrite", v1.SourceLabel+"="+value)
}

// Released while its file was there: the file takes it over again, so that the
// two are one again.
func TestALabelTakenAwayIsPutBackWhereAFileNamesTheObject(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b")
	d := l.prunes()
	d.converges()
	mark, old := l.mark(), l.uid("b")
	l.label("b", "null")
	labtest.Eventually(t, convergeLimit, func() error {
		if ws, err := l.webservice("b"); err != nil || ws.Labels[v1.SourceLabel] != l.name || ws.UID != old {
			return fmt.Errorf("%w: %v", err, ws)
		}
		return nil
	})
	d.converges()
	l.wantUntouched(mark)
	l.withdraw("b")
	l.goes("b")
	l.wantDeleted(mark, "b")
}

// Two sources share a namespace: each deletes its own.
func TestTwoSourcesDeleteOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.beside()
	other.name += "-other"
	l.writeServices("nginx:1.27", "a1", "a2", "a3")
	other.writeServices("nginx:1.27", "b1", "b2", "b3")
	d, e := l.prunes(), other.prunes()
	d.converges(items("a1", "a2", "a3"))
	e.converges(items("b1", "b2", "b3"))
	mark := l.mark()
	l.withdraw("a3")
	other.withdraw("b3")
	l.allGone("a3", "b3")
	d.converges(items("a1", "a2"))
	e.converges(items("b1", "b2"))

	// One that both name stays with whom it belongs to, also when that one drops it
	// and is deleted: only then is the other's made.
	other.writeServices("nginx:1.28", "a2")
	e.reports(convergeLimit, unconverged, item("a2", failing))
	old := l.uid("a2")
	other.withdraw("a2")
	e.converges(items("b1", "b2"))
	d.scanned(3, converged)
	l.wantDeleted(mark, "a3", "b3")
	other.writeServices("nginx:1.28", "a2")
	e.reports(convergeLimit, item("a2", failing))
	l.withdraw("a2")
	labtest.Eventually(t, convergeLimit, func() error {
		if err := l.done("a2", "nginx:1.28"); err != nil || l.uid("a2") == old {
			return fmt.Errorf("a2 isn't the other's: %w", err)
		}
		return nil
	})
	e.converges(items("a2", "b1", "b2"))
	d.converges(items("a1"))
	l.wantDeleted(mark, "a2", "a3", "b3")
}

// The end of the controller is no deletion, nor is taking away all that it
// consists of: its objects stay, and can be deleted by whoever wants to.
func TestTheEndOfTheControllerDeletesNothing(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "a", "b")
	l.write(map[string]string{"with-finalizer.yaml": service("with-finalizer", "nginx:1.27", named)})
	d := l.prunes()
	d.converges()
	before, mark := l.states(), l.mark()
	d.stop()
	l.equal(before, l.states())
	d = l.prunes()
	d.converges()

	// While it runs, what it needs is taken away.
	for _, what := range [][]string{
		{"clusterrolebinding", account}, {"clusterrole", account}, {"namespace", account, "--wait=true"},
	} {
		l.cluster.Kubectl(t, append([]string{"delete"}, what...)...)
	}
	d.reports(convergeLimit, unconverged)
	l.must(os.Remove(filepath.Join(l.source, "a.yaml")))
	d.reports(convergeLimit, unconverged, func(r *report.Report) error {
		if r.Source.Objects != 2 {
			return fmt.Errorf("%d objects", r.Source.Objects)
		}
		return nil
	})
	d.stop()
	l.equal(before, l.states())
	l.wantUntouched(mark)

	l.cluster.Kubectl(t, "delete", "ws", "a", "b", "-n", l.namespace, "--timeout=20s")
	l.allGone("a", "b")
	l.remove(webservices(), "with-finalizer")
	ws, err := l.webservice("with-finalizer")
	l.must(err)
	if ws.DeletionTimestamp == nil || len(ws.Finalizers) != 1 || ws.Finalizers[0] != cleanupFinalizer {
		t.Errorf("with-finalizer: %+v", ws.ObjectMeta)
	}
	l.edit(webservices(), "with-finalizer", `{"metadata": {"finalizers": null}}`)
	l.goes("with-finalizer")
}

// The definition is being deleted, and with it all objects, by the server. The
// controller neither helps nor fights it.
func TestNothingIsDeletedOrMadeWhileTheDefinitionGoes(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	d := l.prunes()
	d.converges()
	l.finalize(webservices(), "d", hold)
	d.converges()
	mark := l.mark()
	l.cluster.Kubectl(t, "delete", "crd", "webservices.apps.labhub.io", "--wait=false")
	const going = "the CRD webservices.apps.labhub.io is being deleted"
	d.reports(convergeLimit, unconverged, waitsFor(going))
	l.withdraw("c", "d")
	l.writeServices("nginx:1.27", "new")
	d.reports(convergeLimit, unconverged, waitsFor(going), listed(waits, "a", "b", "new"))
	d.scanned(4, unconverged, waitsFor(going))
	l.wantUntouched(mark)

	l.edit(webservices(), "d", `{"metadata": {"finalizers": null}}`)
	d.converges(items("a", "b", "new"))
	l.must(l.allDone("nginx:1.27", "a", "b", "new"))
	r := l.since(mark)
	if got := namesOf(r.created); len(r.deleted) > 0 || fmt.Sprint(got) != "[a b new]" {
		t.Errorf("created were %q, deleted %q", got, namesOf(r.deleted))
	}
	if _, err := l.core.CoreV1().Namespaces().Get(t.Context(), l.namespace, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
