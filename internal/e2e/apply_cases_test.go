package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// everyClockStep makes passes come as fast as the server can tell one write from
// the next.
func everyClockStep() string { return "--source-scan-interval=" + clockStep.String() }

// Files that leave much to the server, or say nothing in many words, are as much
// at rest as those that say all.
func TestFilesThatSayLittleAreAtRest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	files := map[string]string{
		"only-image": bare("only-image", "", "image: nginx:1.27"),
		"defaults":   bare("defaults", "", "image: nginx:1.27, replicas: 1, tier: dev"),
		"empty-maps": bare("empty-maps", ", labels: {}, annotations: {}", "image: nginx:1.27"),
		"null-maps":  bare("null-maps", ", labels: null, annotations: null", "image: nginx:1.27, replicas: null, tier: null"),
		"integer":    bare("integer", "", "image: nginx:1.27, replicas: 3"),
	}
	write := func(comment string) {
		for name, text := range files {
			l.write(map[string]string{name + ".yaml": comment + text})
		}
	}
	write("")
	d := l.run(everyClockStep())
	d.passes(1)
	before, h := l.states(), l.follow()
	d.passes(2)
	write("# the same in other bytes\n")
	d.scans(converged, idle)
	d.passes(1)
	d.stop()
	l.run(everyClockStep()).passes(2)
	l.equal(before, l.states())
	l.must(h.tells(""))
	for name := range files {
		l.must(l.done(name, "nginx:1.27"))
	}
}

// recorder keeps the writes that pass a proxy, as they are on the wire.
type recorder struct {
	mu     sync.Mutex
	writes []written
}

type written struct {
	method, path, query string
	body                string
}

func (r *recorder) fault() labtest.Fault {
	return func(w http.ResponseWriter, request *http.Request, next http.Handler) {
		if labtest.IsWrite(request) && !strings.Contains(request.URL.Path, "/leases") {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			request.Body = io.NopCloser(strings.NewReader(string(body)))
			r.mu.Lock()
			r.writes = append(r.writes, written{request.Method, request.URL.Path, request.URL.RawQuery, string(body)})
			r.mu.Unlock()
		}
		next.ServeHTTP(w, request)
	}
}

// of are the writes to paths with that end.
func (r *recorder) of(method, end string) []written {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.writes), func(w written) bool {
		return w.method != method || !strings.HasSuffix(w.path, end)
	})
}

// What is sent holds what the file states, and no more: nothing empty, no null,
// no number in another form.
func TestWhatIsSentIsWhatTheFileStates(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	wire := &recorder{}
	proxy := labtest.NewProxy(t, l.cluster)
	proxy.Set(wire.fault())
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	l.write(map[string]string{"ephemeral.yaml": bare("ephemeral", ", labels: {}, annotations: null, finalizers: ["+cleanupFinalizer+"]", "image: nginx:1.27, replicas: 3")})
	l.letGo("ephemeral")
	d := l.run()
	r := d.converges()
	first, err := l.webservice("ephemeral")
	l.must(err)
	l.write(map[string]string{"ephemeral.yaml": bare("ephemeral", ", finalizers: ["+cleanupFinalizer+"]", "image: nginx:1.28, replicas: 4")})
	d.converges(reading(r))
	l.remove(webservices(), "ephemeral")
	labtest.Eventually(t, convergeLimit, func() error {
		if ws, err := l.webservice("ephemeral"); err != nil || ws.UID == first.UID {
			return fmt.Errorf("it isn't there anew: %w", err)
		}
		return l.done("ephemeral", "nginx:1.28")
	})

	applies := wire.of(http.MethodPatch, "/webservices/ephemeral")
	// Nothing that exists has version 1: an object that came meanwhile isn't written to.
	const unborn = `,"resourceVersion":"1"`
	const metadata = `{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"finalizers":["webservice.labhub.io/cleanup"],` +
		`"labels":{"webservice.labhub.io/source":"%s"},"name":"ephemeral","namespace":"%s"%s},"spec":{"image":"%s","replicas":%d}}`
	precondition := fmt.Sprintf(`,"resourceVersion":"%s","uid":"%s"`, versionOf(r, "ephemeral"), first.UID)
	for i, want := range []string{
		fmt.Sprintf(metadata, l.name, l.namespace, unborn, "nginx:1.27", 3),
		fmt.Sprintf(metadata, l.name, l.namespace, precondition, "nginx:1.28", 4),
	} {
		if got := applies[i].body; got != want {
			t.Errorf("apply %d\n got %s\nwant %s", i, got, want)
		}
		l.must(says(applies[i].query, "fieldManager=webservice-controller", "fieldValidation=Strict", "force=true"))
	}
	if dropped := keysOf(t, applies[2].body, "metadata"); !slices.Equal(dropped, []string{"finalizers", "resourceVersion"}) {
		t.Errorf("the finalizer goes by %s", applies[2].body)
	}
	for _, w := range wire.of(http.MethodPatch, "/webservices/ephemeral/status") {
		if got := append(keysOf(t, w.body), keysOf(t, w.body, "metadata")...); !slices.Equal(got, []string{"metadata", "status", "resourceVersion"}) {
			t.Errorf("the status goes by %s", w.body)
		}
	}
	if n := len(wire.of(http.MethodPatch, "/webservices/ephemeral/status")); n != 3 {
		t.Errorf("%d writes of the status", n)
	}
}

// versionOf is the version that the report gives a WebService.
func versionOf(r *report.Report, name string) string {
	for i := range r.Items {
		if r.Items[i].Name == name {
			return r.Items[i].ResourceVersions.WebService.After
		}
	}
	return ""
}

// keysOf are the sorted keys of a JSON object, at a path below its top.
func keysOf(t *testing.T, body string, path ...string) []string {
	t.Helper()
	var object map[string]json.RawMessage
	for _, at := range append(path, "") {
		object = nil
		if err := json.Unmarshal([]byte(body), &object); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		body = string(object[at])
	}
	return slices.Sorted(maps.Keys(object))
}

// The field that the file states is taken back, the one that it doesn't state
// stays: `kubectl edit` changes both.
func TestAnEditIsTakenBackWhereTheFileHasAWord(t *testing.T) {
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	r := d.converges()
	editor := filepath.Join(l.home, "editor")
	l.must(os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/image: nginx:1.27/image: evil:1/; s/tier: dev/tier: prod/' \"$1\"\n"), 0o700))
	t.Setenv("KUBE_EDITOR", editor)
	l.kubectl("edit", "webservice", "checkout")
	d.converges(after(r.Cycle), item("checkout", func(i report.Item) bool {
		return i.Action == report.ActionUpdate && says(i.Reason, `spec.image is "evil:1", set by kubectl-edit, and should be "nginx:1.27"`) == nil
	}))
	l.must(l.done("checkout", "nginx:1.27"))
	if ws, err := l.webservice("checkout"); err != nil || ws.Spec.Tier != "prod" {
		t.Errorf("%v, tier %s", err, ws.Spec.Tier)
	}
	before := l.states()
	d.stop()
	l.run(everyClockStep()).passes(2)
	l.equal(before, l.states())
}

// What another manager states as well stays when the file drops it.
func TestAFieldThatOthersStateTooOutlivesTheFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"checkout.yaml": bare("checkout", "", "image: nginx:1.27, replicas: 3")})
	d := l.run()
	r := d.converges()

	mark := l.cluster.Audit().Mark(t)
	l.kubectl("scale", "webservice", "checkout", "--replicas=5")
	d.logs("checkout action=update target=webservice/checkout", "spec.replicas is 5, set by kubectl, and should be 3")
	// The status follows the spec that went by: one write takes it back, one says so.
	labtest.Eventually(t, healed, func() error { return l.done("checkout", "nginx:1.27") })
	l.wantSent(mark, "patch webservices checkout 200", "patch webservices/status checkout 200")

	autoscaler := []string{"apply", "--server-side", "--field-manager=autoscaler", "--filename=-"}
	l.kubectlReads(bare("checkout", "", "replicas: 3"), autoscaler...)
	mark = l.cluster.Audit().Mark(t)
	l.write(map[string]string{"checkout.yaml": bare("checkout", "", "image: nginx:1.27")})
	d.converges(reading(r))
	d.logs("checkout action=update target=webservice/checkout", "spec.replicas is no longer in the file")
	l.wantSent(mark, "patch webservices checkout 200")
	if n := l.replicasOf("checkout"); n != 3 {
		t.Fatalf("replicas %d", n)
	}
	l.kubectlReads(bare("checkout", "", "replicas: 7"), autoscaler...)
	labtest.Eventually(t, healed, func() error { return l.done("checkout", "nginx:1.27") })
	d.stop()
	l.run(everySecond).passes(2)
	if n := l.replicasOf("checkout"); n != 7 {
		t.Errorf("replicas %d", n)
	}
}

// Who reads managedFields sees what we care for: the status, and what the file
// states. Who wants one of those fields is told whose it is.
func TestManagedFieldsSayWhatIsOurs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"checkout.yaml": bare("checkout", ", labels: {team: shop}", "image: nginx:1.27, replicas: 3")})
	l.run().converges()
	ws, err := l.webservice("checkout")
	l.must(err)
	got := map[string]string{}
	for _, e := range ws.ManagedFields {
		if e.Manager == v1.Manager {
			got[string(e.Operation)+" "+e.Subresource] = e.FieldsV1.GetRawString()
		}
	}
	want := map[string]string{
		"Apply ": `{"f:metadata":{"f:labels":{"f:team":{},"f:webservice.labhub.io/source":{}}},"f:spec":{"f:image":{},"f:replicas":{}}}`,
		"Update status": `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},` +
			`"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("we own\n got %s\nwant %s", got, want)
	}
	_, stderr, code := l.cluster.KubectlExit(t, bare("checkout", "", "image: evil:1"),
		"--namespace="+l.namespace, "apply", "--server-side", "--field-manager=third", "--filename=-")
	if code == 0 {
		t.Error("a third manager may take a field without force")
	}
	l.must(says(stderr, "conflict", `"webservice-controller"`, ".spec.image"))
}

// A null is the default, on the way in and later on. An image has none.
func TestANullIsTheServersDefault(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const nulls = "image: nginx:1.27, replicas: null, tier: null"
	l.write(map[string]string{
		"created.yaml": bare("created", "", nulls),
		"patched.yaml": bare("patched", "", "image: nginx:1.27, replicas: 3, tier: prod"),
	})
	d := l.run(everyClockStep())
	r := d.converges()
	l.write(map[string]string{"patched.yaml": bare("patched", "", nulls), "imageless.yaml": bare("imageless", "", "image: null")})
	d.reports(convergeLimit, reading(r), settled, problems("imageless.yaml#1:4:8 spec.image"), items("created", "patched"))
	before := l.states()
	for _, name := range []string{"created", "patched"} {
		l.must(l.done(name, "nginx:1.27"))
		if ws, err := l.webservice(name); err != nil || *ws.Spec.Replicas != 1 || ws.Spec.Tier != "dev" {
			t.Errorf("%s: %v, %+v", name, err, ws.Spec)
		}
	}
	for range 2 {
		d.scans(unconverged, noWrites)
	}
	l.equal(before, l.states())
}

// A kind of a version that doesn't exist is neither applied nor a deletion.
func TestAnotherVersionOfTheKindIsAProblemThatNamesTheRightOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond, "--prune-after=1s")
	r := d.converges()
	before := l.states()
	text := strings.Replace(service("checkout", "nginx:1.28"), "/v1", "/v1beta1", 1)
	l.write(map[string]string{"checkout.yaml": text})
	r = d.reports(convergeLimit, reading(r), settled, problems("checkout.yaml#1:1:13 apiVersion"))
	l.must(says(r.Problems[0].Message, "apps.labhub.io/v1"))
	for range 3 {
		d.scans(unconverged, noWrites, items("billing", "checkout"))
	}
	l.equal(before, l.states())
}

// The server takes neither object. The one that can be told from the file alone
// is a problem there; the other says so in the server's words, and is tried again
// by its backoff alone.
func TestWhatIsTooLargeForTheServerIsSaidWithItsFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "neighbour")
	l.write(map[string]string{
		"annotated.yaml": bare("annotated", ", annotations: {note: "+strings.Repeat("x", 300<<10)+"}", "image: nginx:1.27"),
		"image.yaml":     bare("image", "", "image: "+strings.Repeat("x", 1600<<10)),
	})
	mark := l.cluster.Audit().Mark(t)
	d := l.run(everySecond, "--reconcile-backoff-initial=2s", "--reconcile-backoff-max=2s")
	r := d.reports(convergeLimit, settled, unconverged, problems("annotated.yaml#1:3:42 metadata.annotations"), items("image", "neighbour"),
		item("image", func(i report.Item) bool { return failing(i) && i.Source == "image.yaml:1" && i.Error != "" }))
	t.Log(r.Items[0].Error)
	l.must(l.done("neighbour", "nginx:1.27"))
	l.goesBy(4 * clockStep)
	var tries int
	for _, request := range l.sent(mark) {
		if request.Name == "image" {
			tries++
		}
	}
	if tries < 2 || tries > 4 {
		t.Errorf("%d tries", tries)
	}
	d.scans(item("image", failing))
	if ws, err := l.webservice("neighbour"); err != nil || len(ws.Annotations) > 0 {
		t.Errorf("%v, annotations %v", err, ws.Annotations)
	}
}
