package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

func TestEmptyDocumentsAndCommentsAreNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeCase("01-empty-and-comment-docs.yaml")
	l.writeCase("02-separator-in-block-scalar.yaml")
	l.run().converges(items("t01-back", "t01-front", "t02-gateway"), problems())
	if states := l.states(); len(states) != 6 {
		t.Errorf("%d objects, want three and a ConfigMap for each: %v", len(states), states)
	}
	ws, err := l.webservice("t02-gateway")
	l.must(err)
	want := "---\nkind: Route\nprefix: /shop\n---\nkind: Route\nprefix: /pay\n...\n"
	if got := ws.Annotations["labhub.io/route-config"]; got != want {
		t.Errorf("annotation %q, want %q", got, want)
	}
}

func TestKeysThatAreThereTwiceLeaveTheLiveObjectAlone(t *testing.T) {
	t.Parallel()
	const name = "04-duplicate-keys.yaml"
	l := newLab(t)
	l.write(map[string]string{name: service("t04-checkout", "registry.local/checkout:1.0.0")})
	d := l.run(everySecond)
	d.converges()
	before := l.states()
	l.writeCase(name)
	twice := problems(name+"#1:8:5 metadata.labels.team", name+"#1:13:3 spec.replicas")
	for range 3 {
		d.scans(unconverged, twice, noWrites)
	}
	l.equal(before, l.states())
	if got := l.replicasOf("t04-checkout"); got != 2 {
		t.Errorf("replicas %d", got)
	}
	// Nor does a new daemon, which has never seen the file whole, take it for gone.
	d.stop()
	d = l.run(everySecond)
	d.scans(unconverged, twice, noWrites)
	l.equal(before, l.states())
}

func TestValuesThatReadersDisagreeOnAreRefusedAndTheirNeighbourIsApplied(t *testing.T) {
	t.Parallel()
	const name = "05-wrong-scalar-types.yaml"
	l := newLab(t)
	l.writeCase(name)
	d := l.run(everySecond)
	for range 2 {
		d.scans(unconverged, items("t05-good-neighbour"), problems(
			name+"#1:7:10 spec.image", name+"#2:16:13 spec.replicas", name+"#3:25:13 spec.replicas", name+"#4:34:13 spec.replicas",
			name+"#5:43:13 spec.replicas", name+"#6:52:13 spec.replicas", name+"#7:60:3 spec.image",
		))
	}
	ws, err := l.webservice("t05-good-neighbour")
	l.must(err)
	if ws.Spec.Image != "1.20" || *ws.Spec.Replicas != 3 {
		t.Errorf("spec %+v", ws.Spec)
	}
	if states := l.states(); len(states) != 2 {
		t.Errorf("objects %v", states)
	}
}

func TestFieldsInTheWrongCaseAreRefused(t *testing.T) {
	t.Parallel()
	const name = "07-case-and-unknown-fields.yaml"
	l := newLab(t)
	l.writeCase(name)
	l.write(map[string]string{"live.yaml": service("live", "nginx:1.27")})
	d := l.run(everySecond)
	wrong := []string{name + "#1:8:3 spec.Replicas", name + "#1:9:3 spec.REPLICAS", name + "#1:10:3 spec.teir", name + "#1:11:3 spec.env", name + "#1:14:1 replicas"}
	d.scans(items("live"), problems(wrong...))
	before := l.states()
	l.write(map[string]string{"live.yaml": strings.Replace(service("live", "nginx:1.27"), "replicas: 2", "Replicas: 5", 1)})
	for range 2 {
		d.scans(unconverged, items("live"), problems(append(wrong, "live.yaml#1:7:3 spec.Replicas")...), noWrites)
	}
	l.equal(before, l.states())
}

func TestAnExportIsAppliedWithoutWhatTheServerOwns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeCase("08-kubectl-get-export.yaml")
	l.afterwards(func(ctx context.Context) error {
		return l.patch(ctx, webservices(), "t08-export", `{"metadata": {"finalizers": null}}`)
	})
	d := l.run("--source-scan-interval=" + clockStep.String())
	r := d.converges(items("t08-export", "t08-null-timestamp"), problems())
	if len(r.Warnings) != 1 || r.Warnings[0].Document != 1 || !strings.Contains(r.Warnings[0].Message, "metadata.managedFields") {
		t.Errorf("warnings %+v", r.Warnings)
	}
	ws, err := l.webservice("t08-export")
	l.must(err)
	if ws.UID == "99999999-8888-7777-6666-555555555555" || len(ws.OwnerReferences) > 0 || len(ws.Annotations) > 0 || ws.Generation != 1 {
		t.Errorf("metadata %+v", ws.ObjectMeta)
	}
	if len(ws.Finalizers) != 1 || ws.Finalizers[0] != "webservice.labhub.io/cleanup" {
		t.Errorf("finalizers %v", ws.Finalizers)
	}
	l.must(l.done("t08-export", "registry.local/export:0.2.0"))
	before := l.states()
	d.passes(4)
	l.equal(before, l.states())
}

// TestAFileThatIsBeingSaved holds three moments of one slow save, each shorter
// than the quiet time: a document less, other replicas, nothing at all.
func TestAFileThatIsBeingSaved(t *testing.T) {
	t.Parallel()
	const file = "12-full.yaml"
	l := newLab(t)
	l.writeCase(file)
	d := l.run(everySecond, "--source-quiet=2s", "--source-max-wait=8s")
	d.converges(items("t12-do-not-prune", "t12-keep"))
	before := l.states()
	var steps []func()
	for _, name := range []string{"12-truncated-a.yaml", "12-truncated-b.yaml", "12-truncated-c.yaml"} {
		steps = append(steps, func() { l.write(map[string]string{file: l.caseFile(name)}) })
	}
	paced(700*time.Millisecond, steps...)
	l.writeCase(file)
	for range 2 {
		d.scans(converged, idle, items("t12-do-not-prune", "t12-keep"))
	}
	l.equal(before, l.states())
	if got := l.replicasOf("t12-do-not-prune"); got != 12 {
		t.Errorf("replicas %d", got)
	}
}

// TestWhatRestsCutOffIsntADeletion: the save that never ends in order.
func TestWhatRestsCutOffIsntADeletion(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeCase("12-full.yaml")
	d := l.run(everySecond)
	d.converges()
	before := l.states()
	l.write(map[string]string{"12-full.yaml": ""})
	d.scans(unconverged, problems("12-full.yaml#0:0:0 "), noWrites)
	d.stop()
	d = l.run(everySecond)
	d.scans(unconverged, problems("12-full.yaml#0:0:0 "), noWrites)
	l.equal(before, l.states())
}

// TestEditorsThatReplaceAFile: some move the old file away, some write a new one
// and rename it over.
func TestEditorsThatReplaceAFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := filepath.Join(l.source, "a.yaml")
	l.write(map[string]string{"a.yaml": service("a", "nginx:1"), ".a.yaml.swp": "x", "4913": "x", "#a.yaml#": service("x", "x")})
	d := l.run("--source-scan-interval=1h")
	d.converges()
	ws, err := l.webservice("a")
	l.must(err)
	for n := 2; n <= 3; n++ {
		l.must(os.Rename(path, path+"~"))
		l.write(map[string]string{"a.yaml": service("a", fmt.Sprintf("nginx:%d", n))})
		l.must(os.Remove(path + "~"))
		d.converges(items("a"), problems(), func(*report.Report) error { return l.done("a", fmt.Sprintf("nginx:%d", n)) })
	}
	l.write(map[string]string{"a.yaml.tmp": service("a", "nginx:4")})
	l.must(os.Rename(path+".tmp", path))
	d.converges(items("a"), problems(), func(*report.Report) error { return l.done("a", "nginx:4") })
	now, err := l.webservice("a")
	l.must(err)
	if now.UID != ws.UID || now.Generation != 4 {
		t.Errorf("uid %s generation %d, was %s", now.UID, now.Generation, ws.UID)
	}
}

func TestTouchingFilesWritesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	d := l.run(everySecond)
	d.converges()
	before := l.states()
	for n := range 1000 {
		path := filepath.Join(l.source, string(rune('a'+n%3))+".yaml")
		l.must(os.Chmod(path, []os.FileMode{0o644, 0o600}[n%2]))
		l.must(os.Chtimes(path, time.Time{}, time.Now()))
	}
	d.scans(converged, idle)
	d.passes(1)
	l.equal(before, l.states())
}

// TestASourceThatComesLate has objects of an earlier run, and no directory, an empty
// one, or a link that leads nowhere.
func TestASourceThatComesLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(l *lab)
		says    string
	}{
		"missing":         {func(*lab) {}, "doesn't exist"},
		"empty":           {func(l *lab) { l.must(os.Mkdir(l.source, 0o755)) }, "holds no WebService"},
		"a dangling link": {func(l *lab) { l.must(os.Symlink("later", l.source)) }, "is a link to something that doesn't exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.http = "--http-addr=127.0.0.1:0"
			names := []string{"a", "b", "c", "d", "e"}
			l.writeServices("nginx:1.27", names...)
			l.onceOK()
			before := l.states()
			away := l.source + ".away"
			l.must(os.Rename(l.source, away))
			c.prepare(l)
			d := l.run("--source-scan-interval=2s")
			d.reports(convergeLimit, unconverged, settled, waitsFor(c.says), noWrites)
			if code, body := d.get("/readyz"); code != http.StatusServiceUnavailable && name != "empty" {
				t.Errorf("readyz: %d %s", code, body)
			}
			d.reports(convergeLimit, unconverged, waitsFor(c.says), scannedAfter(time.Now()))
			l.equal(before, l.states())
			switch name {
			case "missing":
				l.must(os.Rename(away, l.source))
			case "empty":
				l.writeServices("nginx:1.27", names...)
			default:
				l.must(os.Rename(away, filepath.Join(l.home, "later")))
			}
			d.converges(items(names...), noWrites)
			l.equal(before, l.states())
		})
	}
}

func scannedAfter(at time.Time) fits {
	return func(r *report.Report) error {
		if !r.Source.LastScan.After(at) {
			return fmt.Errorf("the last scan was at %s", r.Source.LastScan)
		}
		return nil
	}
}

// TestWhatMayNotBeReadIsntGone runs the controller as a user whom modes bind.
func TestWhatMayNotBeReadIsntGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.asNobody()
	l.write(map[string]string{"a.yaml": service("a", "nginx:1"), "b.yaml": service("b", "nginx:1"), "sub/c.yaml": service("c", "nginx:1")})
	d := l.run(everySecond)
	d.converges()
	for n, c := range []struct{ shut, object string }{{"a.yaml", "a"}, {"sub", "c"}} {
		before, image := l.states(), fmt.Sprintf("nginx:%d", n+2)
		path := filepath.Join(l.source, c.shut)
		l.must(os.Chmod(path, 0))
		l.write(map[string]string{"b.yaml": service("b", image)})
		r := d.scans(unconverged, problems(c.shut+"#0:0:0 "), func(*report.Report) error { return l.done("b", image) })
		if got := r.Problems[0].Message; !strings.Contains(got, "permission denied") {
			t.Errorf("%s: %s", c.shut, got)
		}
		l.onlyChanged(before, "webservices/b", "configmaps/b-desired")
		l.must(os.Chmod(path, 0o755))
		d.converges(problems())
	}
}

// asNobody makes commands run as a user without rights, who may read everything of
// the lab and write where reports go.
func (l *lab) asNobody() {
	l.Helper()
	if os.Getuid() != 0 {
		return // modes bind whoever runs the tests
	}
	const nobody = 65534
	l.user = &syscall.Credential{Uid: nobody, Gid: nobody}
	l.must(os.Mkdir(l.out, 0o755))
	l.must(os.Chown(l.out, nobody, nobody))
	l.must(os.Chmod(l.kubeconfig, 0o644))
	for _, dir := range []string{l.home, filepath.Dir(l.home), filepath.Dir(l.kubeconfig)} {
		l.must(os.Chmod(dir, 0o755))
	}
}

func TestFilesThatNameNoNamespaceGetTheDefault(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"a.yaml": service("a", "nginx:1"), "b.yaml": service("b", "nginx:1", `namespace: ""`)})
	d := l.run()
	d.converges(items("a", "b"), item("a", func(i report.Item) bool { return i.Namespace == l.namespace }),
		item("b", func(i report.Item) bool { return i.Namespace == l.namespace }))
	l.must(l.done("a", "nginx:1"))
	l.must(l.done("b", "nginx:1"))
}

// TestOtherKindsAreLeftToOthers has what else people keep beside such files, with
// the definition of WebServices among it.
func TestOtherKindsAreLeftToOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.write(map[string]string{
		"deployment.yaml":    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: checkout\nspec: {}\n",
		"kustomization.yaml": "resources:\n- checkout.yaml\n",
		"values.yaml":        "image: nginx\nreplicas: 3\n",
		"crd.yaml":           strings.Replace(string(manifests.CRD()), "kind: CustomResourceDefinition", "kind: CustomResourceDefinition # ours", 1),
	})
	l.onceOK("--source="+l.TempDir(), "--source-allow-empty") // so that the definition is there
	before := l.definition()
	d := l.run(everySecond)
	d.converges(items("checkout"), problems())
	d.passes(1)
	r := d.converges()
	if r.Source.Skipped != 4 || r.Source.Files != 5 || len(r.Warnings) != 0 {
		t.Errorf("source %+v, warnings %+v", r.Source, r.Warnings)
	}
	if states := l.states(); len(states) != 2 {
		t.Errorf("objects %v", states)
	}
	if now := l.definition(); now != before {
		t.Errorf("the definition was written\nbefore %s\nnow    %s", before, now)
	}
}

// definition is the state of the CRD.
func (l *lab) definition() string {
	l.Helper()
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	u, err := l.objects.Resource(resource).Get(l.Context(), "webservices.apps.labhub.io", metav1.GetOptions{})
	l.must(err)
	return state(u)
}

// TestABrokenFileHoldsNothingUpAndHoldsWhatIsGone: one file breaks, one changes and
// one is removed at the same time.
func TestABrokenFileHoldsNothingUpAndHoldsWhatIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var names []string
	for n := range 10 {
		names = append(names, fmt.Sprintf("web-%d", n))
	}
	l.writeServices("nginx:1", names...)
	d := l.run(everySecond)
	d.converges(items(names...))
	before := l.states()
	l.write(map[string]string{"web-0.yaml": service("web-0", "1.20")})
	l.writeServices("nginx:2", "web-1")
	l.must(os.Remove(filepath.Join(l.source, "web-2.yaml")))
	for range 5 { // longer than what an object without a file must wait otherwise
		d.scans(unconverged, problems("web-0.yaml#1:6:10 spec.image"), func(*report.Report) error { return l.done("web-1", "nginx:2") })
	}
	l.onlyChanged(before, "webservices/web-1", "configmaps/web-1-desired")
	l.writeServices("nginx:3", "web-0")
	l.writeServices("nginx:1", "web-2")
	d.converges(items(names...), problems(), func(*report.Report) error { return l.done("web-0", "nginx:3") })
}
