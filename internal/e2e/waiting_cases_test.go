package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// usurper is a definition that has a name of ours: while it is there, ours
// isn't established.
const usurper = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: usurpers.apps.labhub.io}
spec:
  group: apps.labhub.io
  scope: Namespaced
  names: {kind: Usurper, listKind: UsurperList, plural: usurpers, singular: usurper, shortNames: [ws]}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// The definition may go and come as it likes, also in another form.
func TestTheDefinitionGoesAndComes(t *testing.T) {
	t.Parallel()
	const missing, settles = "the CRD webservices.apps.labhub.io is missing", 4 * time.Second
	l := newLabOn(t, labtest.Start(t))
	l.http = "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "checkout")
	d := l.run("--crd-install=false", everySecond)
	d.reports(convergeLimit, unconverged, waitsFor(missing))
	labtest.Eventually(t, convergeLimit, func() error { return says(d.stderr.String(), "not ready") })
	log := d.stderr.String()
	l.goesBy(settles)
	if more := strings.TrimPrefix(d.stderr.String(), log); more != "" {
		t.Errorf("it goes on saying %s", more)
	}

	back := func(how string) {
		t.Helper()
		began := time.Now()
		d.reports(recovery, converged, func(*report.Report) error { return l.done("checkout", "nginx:1.27") })
		t.Logf("%s: converged after %s", how, time.Since(began).Round(time.Millisecond))
		if code, body := d.get("/readyz"); code != http.StatusOK {
			t.Errorf("readyz: %d %s", code, body)
		}
	}
	away := func(why string) {
		t.Helper()
		d.reports(recovery, unconverged, waitsFor(why))
		if code, body := d.get("/readyz"); code != http.StatusServiceUnavailable || says(body, why) != nil {
			t.Errorf("readyz: %d %s", code, body)
		}
	}
	l.cluster.Apply(t, manifests.CRD())
	back("installed")

	l.cluster.Kubectl(t, "delete", "crd", "webservices.apps.labhub.io")
	away(missing)
	l.cluster.Apply(t, []byte(usurper))
	_, stderr, code := l.cluster.KubectlExit(t, string(manifests.CRD()), "create", "--filename=-")
	if code != 0 {
		t.Fatal(stderr)
	}
	away("the CRD webservices.apps.labhub.io isn't established yet")
	l.cluster.Kubectl(t, "delete", "crd", "usurpers.apps.labhub.io")
	back("with its name free again")

	l.cluster.Kubectl(t, "delete", "crd", "webservices.apps.labhub.io")
	away(missing)
	l.cluster.Apply(t, withNote(t, manifests.CRD()))
	back("installed in another form")

	// A field that the ConfigMap knows nothing of moves the generation, and the
	// status follows it all the same.
	child, err := l.child("checkout")
	l.must(err)
	l.edit(webservices(), "checkout", `{"spec": {"note": "more"}}`)
	labtest.Eventually(t, healed, func() error { return l.done("checkout", "nginx:1.27") })
	ws, err := l.webservice("checkout")
	l.must(err)
	now, err := l.child("checkout")
	l.must(err)
	if ws.Generation != 2 || now.ResourceVersion != child.ResourceVersion {
		t.Errorf("generation %d, the ConfigMap at %s was at %s", ws.Generation, now.ResourceVersion, child.ResourceVersion)
	}
	if lines := strings.Count(d.warnings(), "\n"); lines > 8 {
		t.Errorf("warnings: %s", d.warnings())
	}
}

// withNote is the definition with one more field in spec.
func withNote(t *testing.T, manifest []byte) []byte {
	t.Helper()
	const image = "              image:\n"
	if !strings.Contains(string(manifest), image) {
		t.Fatal("the definition isn't written as expected")
	}
	return []byte(strings.Replace(string(manifest), image, "              note: {type: string}\n"+image, 1))
}

// Nothing can be made in a namespace that goes. It is waited for, in silence.
func TestANamespaceThatTakesItsTimeToGoIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	going := *l
	going.namespace = l.namespace + "-going"
	_, err := l.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: going.namespace}}, metav1.CreateOptions{})
	l.must(err)
	l.dropNamespace(going.namespace)
	holder := configMap("holder")
	holder.Finalizers = []string{hold}
	going.create(configmaps(), holder)
	release := func(ctx context.Context) error {
		return going.patch(ctx, configmaps(), "holder", `{"metadata": {"finalizers": null}}`)
	}
	l.afterwards(release)
	l.writeServices("nginx:1.27", "here")
	for n := range 20 {
		name := fmt.Sprintf("there-%02d", n)
		l.write(map[string]string{name + ".yaml": service(name, "nginx:1.27", "namespace: "+going.namespace)})
	}
	d := l.run(everySecond)
	d.converges()
	old := going.uid("there-00")
	l.must(l.core.CoreV1().Namespaces().Delete(t.Context(), going.namespace, metav1.DeleteOptions{}))
	waiting := item("there-00", waitsBecause("the namespace is being deleted"))
	r := d.reports(convergeLimit, settled, unconverged, waiting, item("there-19", waitsBecause("the namespace is being deleted")))
	mark := l.cluster.Audit().Mark(t)
	d.reports(convergeLimit, after(r.Cycle+3), unconverged, waiting, item("here", func(i report.Item) bool { return i.Action == report.ActionNoop }))
	going.wantSent(mark)

	l.must(release(t.Context()))
	going.comesAnew("there-00", old)
	d.converges()
}

// counter counts requests, by what they ask for.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

// before counts each request that a fault then acts on.
func (c *counter) before(f labtest.Fault) labtest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		c.mu.Lock()
		switch {
		case isLease(r):
			c.counts["lease"]++
		case labtest.IsWrite(r):
			c.counts["step"]++
		default:
			c.counts[r.URL.Path]++
		}
		c.mu.Unlock()
		f(w, r, next)
	}
}

// wantFew allows each watch 2 requests a second, and 1 to all else together.
func (c *counter) wantFew(t testing.TB, took time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	beside := 0
	for what, n := range c.counts {
		t.Logf("%s: %.2f a second", what, float64(n)/took.Seconds())
		if what == "lease" || what == "step" {
			beside += n
		} else if float64(n) >= 2*took.Seconds() {
			t.Errorf("%s was asked for %d times within %s", what, n, took)
		}
	}
	if float64(beside) >= took.Seconds() {
		t.Errorf("%d requests beside the watches within %s", beside, took)
	}
}

// A server that is away is asked now and then whether it is back, and for nothing
// else. That it is back is noticed soon.
func TestAServerThatIsAwayIsAskedNowAndThen(t *testing.T) {
	t.Parallel()
	const during = 8 * time.Second
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond)
	d.converges()
	before := l.states()
	asked := counter{counts: map[string]int{}}
	proxy.Set(asked.before(labtest.Abort()))
	proxy.CutConnections(t)
	began := time.Now()
	l.writeServices("nginx:1.28", "checkout")
	d.reports(recovery, unconverged, waitsFor("the API server can't be reached"))
	l.goesBy(during)
	asked.wantFew(t, time.Since(began))
	l.equal(before, l.states())
	proxy.Set(nil)
	d.reports(recovery, converged, func(*report.Report) error { return l.done("checkout", "nginx:1.28") })
}

// A thousand objects wait for what isn't there without asking for it; and one that
// fails for ever among them is no burden for the others.
func TestAThousandObjectsWaitAndOneFails(t *testing.T) {
	const files, one, other = 1000, "service-0500", "service-0501"
	l := newLab(t)
	there := *l
	there.namespace = l.namespace + "-later"
	texts := map[string]string{}
	for n := range files {
		name := fmt.Sprintf("service-%04d", n)
		texts[fmt.Sprintf("team-%d/%s.yaml", n%10, name)] = service(name, "nginx:1.27", "namespace: "+there.namespace)
	}
	l.write(texts)
	edit := func(name, image string) {
		l.write(map[string]string{"team-" + name[len(name)-1:] + "/" + name + ".yaml": service(name, image, "namespace: "+there.namespace)})
	}
	mark := l.cluster.Audit().Mark(t)
	d := l.run("--namespaces-create=false", "--reconcile-backoff-max=3s")
	d.reports(convergeLimit, settled, unconverged, func(r *report.Report) error {
		if r.Summary.Requeue != files || r.Summary.Errors > 0 {
			return fmt.Errorf("summary %+v", r.Summary)
		}
		return nil
	})
	l.goesBy(6 * time.Second) // more than a recheck
	there.wantSent(mark)
	t.Run("come at once when they can", func(t *testing.T) { there.comesAllAtOnce(t, d, mark) })
	t.Run("one fails for ever", func(t *testing.T) { there.oneFailsForEver(t, one, other, edit) })
	d.converges()
}

func (l *lab) comesAllAtOnce(t *testing.T, d *daemon, mark labtest.Mark) {
	_, err := l.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}, metav1.CreateOptions{})
	l.must(err)
	l.dropNamespace(l.namespace)
	began := time.Now()
	labtest.Eventually(t, 5*time.Second, func() error {
		if len(l.sent(mark)) == 0 {
			return errors.New("nothing was sent")
		}
		return nil
	})
	first := time.Since(began)
	r := d.reports(2*convergeLimit, converged)
	t.Logf("the first request %s after the namespace appeared, all done after %s", first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if n := len(l.sent(mark)); n != 3*r.Summary.Total {
		t.Errorf("%d requests for %d objects", n, r.Summary.Total)
	}
	for i := range r.Items {
		if err := l.done(r.Items[i].Name, "nginx:1.27"); err != nil {
			t.Fatalf("the report says converged: %v", err)
		}
	}
}

func (l *lab) oneFailsForEver(t *testing.T, one, other string, edit func(name, image string)) {
	l.deny("apps.labhub.io", "webservices", "object.spec.image != 'evil:1'", "not this image", handmade("probe", "evil:1", nil))
	edit(one, "evil:1")
	tries := func(since labtest.Mark) int {
		n := 0
		for _, r := range l.sent(since) {
			if r.Name == one && r.Resource == "webservices" && r.Subresource == "" {
				n++
			}
		}
		return n
	}
	began := l.cluster.Audit().Mark(t)
	labtest.Eventually(t, convergeLimit, func() error {
		if n := tries(began); n < 6 { // 200 ms, doubled four times, is the longest wait
			return fmt.Errorf("%d tries", n)
		}
		return nil
	})
	// Jitter takes a fifth of the wait at most.
	grown := l.cluster.Audit().Mark(t)
	l.goesBy(7 * time.Second)
	if n := tries(grown); n < 1 || n > 3 {
		t.Errorf("%d tries within 7 s, with a longest wait of 3 s", n)
	}
	at := time.Now()
	edit(other, "nginx:1.28")
	t.Logf("another was applied after %s", l.applied(other, "nginx:1.28", at, healed))
	at = time.Now()
	edit(one, "nginx:1.28")
	t.Logf("the one was applied after %s", l.applied(one, "nginx:1.28", at, healed))
}
