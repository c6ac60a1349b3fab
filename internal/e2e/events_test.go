package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/manifests"
)

// describes are the events that kubectl describe has of an object, without their
// ages, sorted: what a user reads.
func (l *lab) describes(name string) []string {
	l.Helper()
	text := l.cluster.Kubectl(l, "describe", "ws", name, "--namespace="+l.namespace)
	_, table, _ := strings.Cut(text, "\nEvents:")
	var rows []string
	row := regexp.MustCompile(`^  (Normal|Warning)\s+(\S+)\s+(\S+(?: \(x\d+ over \S+\))?)\s+webservice-controller\s+(.*)$`)
	for line := range strings.Lines(table) {
		if found := row.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			rows = append(rows, fmt.Sprintf("%s %s: %s", found[1], found[2], found[4]))
		}
	}
	slices.Sort(rows)
	return rows
}

// tells waits until kubectl describe has exactly these events.
func (d *daemon) tells(name string, want ...string) {
	d.Helper()
	slices.Sort(want)
	labtest.Eventually(d, recovery, func() error {
		if got := d.describes(name); !slices.Equal(got, want) {
			return fmt.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

// events are the requests for events in the lab's namespace since a mark.
func (l *lab) events(since labtest.Mark) []string {
	l.Helper()
	var sent []string
	for _, r := range l.cluster.Audit().Requests(l, "webservice-controller/", since) {
		if r.Namespace == l.namespace && r.Resource == "events" {
			sent = append(sent, fmt.Sprintf("%s %d", r.Verb, r.Code))
		}
	}
	return sent
}

const createdByFile = "Normal Created: created webservice/checkout: the file asks for it and the cluster doesn't have it"

func TestDescribeTellsWhatWasDoneAndWhy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run()
	r := d.converges()
	want := []string{createdByFile}
	d.tells("checkout", want...)

	l.kubectlReads("", "patch", "ws", "checkout", "--type=merge", "--patch", `{"spec":{"image":"nginx:0"}}`)
	want = append(want, `Normal DriftHealed: updated webservice/checkout: spec.image is "nginx:0", set by kubectl-patch, and should be "nginx:1.27"`)
	d.tells("checkout", want...)
	l.remove(configmaps(), "checkout-desired")
	want = append(want, "Normal DriftHealed: created configmap/checkout-desired: the ConfigMap doesn't exist")
	d.tells("checkout", want...)

	l.writeServices("nginx:1.28", "checkout")
	d.converges(reading(r))
	want = append(want, `Normal Updated: updated webservice/checkout: spec.image is "nginx:1.27" and should be "nginx:1.28"`)
	d.tells("checkout", want...)
	if all := l.cluster.Kubectl(t, "get", "events", "--namespace="+l.namespace); strings.Count(all, " webservice/checkout ") != len(want) {
		t.Errorf("kubectl get events:\n%s", all)
	}
	d.tells("billing", strings.ReplaceAll(createdByFile, "checkout", "billing"))
}

func TestDescribeTellsWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "checkout-desired"}, Data: map[string]string{"image": "theirs"}}
	foreign.APIVersion, foreign.Kind = "v1", "ConfigMap"
	l.create(configmaps(), foreign)
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run()
	d.reports(convergeLimit, item("checkout", failing))
	d.tells("checkout", createdByFile, "Warning NameConflict: a ConfigMap of that name belongs to someone else: "+
		"remove or rename it, or rename the WebService")
	l.remove(configmaps(), "checkout-desired")
	d.converges()
	labtest.Eventually(t, recovery, func() error {
		return says(strings.Join(l.describes("checkout"), "\n"), "Normal Created: created configmap/checkout-desired: the ConfigMap doesn't exist")
	})

	// Each try is counted, and none has an Event of its own.
	list, err := l.core.EventsV1().Events(l.namespace).List(t.Context(), metav1.ListOptions{})
	l.must(err)
	conflicts := 0
	for i := range list.Items {
		if list.Items[i].Reason == "NameConflict" {
			conflicts++
		}
	}
	if conflicts != 1 {
		t.Errorf("%d events of one conflict", conflicts)
	}
}

func TestEventsTellTheEndOfAnObject(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"checkout.yaml": service("checkout", "nginx:1.27", named)})
	l.writeServices("nginx:1.27", "billing", "search")
	d := l.run()
	d.converges()
	ws, err := l.webservice("checkout")
	l.must(err)
	l.must(os.Remove(filepath.Join(l.source, "checkout.yaml")))
	want := []string{"CleanedUp removed configmap/checkout-desired and took off the finalizer " + cleanupFinalizer + ": the object is being deleted",
		"Created created webservice/checkout: the file asks for it and the cluster doesn't have it", "Deleted deleted webservice/checkout: its file is gone"}
	labtest.Eventually(t, recovery, func() error {
		list, err := l.core.EventsV1().Events(l.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.UID == ws.UID && e.Regarding.Name == "checkout" {
				got = append(got, e.Reason+" "+e.Note)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("%q, want %q", got, want)
		}
		return nil
	})
}

func TestAPassAndARestartSendNoEvent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	before := l.cluster.Audit().Mark(t)
	l.onceOK()
	if sent, r := l.events(before), l.lastReport(); len(sent) != 3 || r.Requests.Events != 3 || r.Requests.Writes != 9 {
		t.Errorf("sent %q, reported %+v", sent, r.Requests)
	}
	mark := l.cluster.Audit().Mark(t)
	l.onceOK()
	r := l.exec(append([]string{"verify"}, l.flags()...)...)
	if r.code != 0 {
		t.Errorf("verify: %d\n%s", r.code, r.stderr)
	}
	l.exec(append([]string{"plan"}, l.flags()...)...)
	d := l.run(everySecond)
	d.passes(3)
	d.kill()
	d = l.run(everySecond)
	d.passes(2)
	d.stop()
	if sent := l.events(mark); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}

	// What verify's first pass does is told, and the report counts it.
	l.writeServices("nginx:1.28", "checkout", "billing")
	mark = l.cluster.Audit().Mark(t)
	r = l.exec(append([]string{"plan"}, l.flags()...)...)
	if sent := l.events(mark); r.code != 2 || len(sent) > 0 {
		t.Errorf("plan: %d, sent %q", r.code, sent)
	}
	r = l.exec(append([]string{"verify"}, l.flags()...)...)
	if sent := l.events(mark); r.code != 0 || fmt.Sprint(sent) != "[create 201 create 201]" || l.lastReport().Requests.Events != 2 {
		t.Errorf("verify: %d, sent %q, reported %+v\n%s", r.code, sent, l.lastReport().Requests, r.stderr)
	}
}

// A server that takes no event in holds up neither the work nor the end of it.
func TestEventsThatGetNoAnswerHoldNothingUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	proxy.Set(labtest.When(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/events.k8s.io/") }, labtest.Delay(time.Hour)))
	names := make([]string, 30)
	for i := range names {
		names[i] = fmt.Sprintf("web-%02d", i)
	}
	l.writeServices("nginx:1.27", names...)
	d := l.run()
	d.converges()
	l.edit(webservices(), names[7], `{"spec":{"image":"nginx:0"}}`)
	labtest.Eventually(t, recovery, func() error { return l.done(names[7], "nginx:1.27") })
	d.converges()
	began := time.Now()
	d.stop()
	t.Logf("stopped after %s", time.Since(began).Round(time.Millisecond))
	if log := d.stderr.String(); strings.Count(log, "events were dropped") != 1 || strings.Count(log, "level=WARN") != 1 {
		t.Errorf("log %s", log)
	}
	if sent := l.events(0); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}

func TestWithoutTheRightForEventsAllElseWorks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const rule, without = "apiGroups: [events.k8s.io]", "apiGroups: [none.example.com]"
	rights := manifests.RBAC()
	if bytes.Count(rights, []byte(rule)) != 1 {
		t.Fatal("the manifest has no rule for events, or two")
	}
	mute := "mute-" + l.namespace
	rights = bytes.ReplaceAll(rights, []byte(rule), []byte(without))
	rights = bytes.ReplaceAll(rights, []byte("name: "+account), []byte("name: "+mute))
	rights = bytes.ReplaceAll(rights, []byte("namespace: "+account), []byte("namespace: "+mute))
	l.cluster.Apply(t, rights)
	l.dropNamespace(mute)
	l.kubeconfig = l.cluster.ServiceAccount(t, mute, mute)

	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	r := l.once("--lease-namespace=" + mute)
	if r.code != 0 || strings.Count(r.stderr, "events can't be sent") != 1 ||
		!strings.Contains(r.stderr, `cannot create resource \"events\" in API group \"events.k8s.io\"`) {
		t.Errorf("once: exit code %d\n%s", r.code, r.stderr)
	}
	l.must(l.done("checkout", "nginx:1.27"))
	if got := l.describes("checkout"); len(got) > 0 {
		t.Errorf("events %q", got)
	}
	if r := l.lastReport(); r.Summary.Create != 3 || converged(r) != nil || r.Requests.Events < 1 || r.Requests.Events > 3 {
		t.Errorf("summary %+v, requests %+v", r.Summary, r.Requests)
	}
}
