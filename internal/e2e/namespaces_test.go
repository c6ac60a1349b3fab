package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

func TestAMissingNamespaceIsWaitedForWhereItMayNotBeMade(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	later := l.namespace + "-later"
	l.writeServices("nginx:1.27", "here")
	l.write(map[string]string{"there.yaml": service("there", "nginx:1.27", "namespace: "+later)})
	l.endsWith(l.once(shortly, "--namespaces-create=false"), 5, "the namespace doesn't exist")
	d := l.run("--namespaces-create=false")
	d.reports(convergeLimit, unconverged, item("there", func(i report.Item) bool { return waits(i) && i.Error == "" }),
		item("here", func(i report.Item) bool { return i.Action == report.ActionNoop }))

	there := *l
	there.namespace = later
	_, err := l.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: later}}, metav1.CreateOptions{})
	l.must(err)
	l.dropNamespace(later)
	began := time.Now()
	labtest.Eventually(t, 5*time.Second, func() error { return there.done("there", "nginx:1.27") })
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("done %s after the namespace appeared", took.Round(time.Millisecond))
	}
	d.converges()
}

// Where namespaces may be made but not looked at, the write that misses one tells.
func TestAMissingNamespaceIsMadeWhereItMayNotBeWatched(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	l.kubeconfig = l.maker()
	later := l.namespace + "-blind"
	l.write(map[string]string{"there.yaml": service("there", "nginx:1.27", "namespace: "+later), "too.yaml": service("too", "nginx:1.27", "namespace: "+later)})
	l.dropNamespace(later)
	l.onceOK()
	there := *l
	there.namespace = later
	l.must(there.done("there", "nginx:1.27"))
	l.must(there.done("too", "nginx:1.27"))
}

// maker is an account that may make namespaces and not see them.
func (l *lab) maker() string {
	l.Helper()
	kubeconfig := l.cluster.ServiceAccount(l, l.namespace, "maker")
	l.cluster.Apply(l, fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: maker}
rules:
  - {apiGroups: [apps.labhub.io], resources: [webservices, webservices/status], verbs: [list, watch, create, patch]}
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}
  - {apiGroups: [""], resources: [namespaces], verbs: [create]}
  - {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "maker-in-%[1]s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maker}
subjects: [{kind: ServiceAccount, name: maker, namespace: "%[1]s"}]
`, l.namespace))
	return kubeconfig
}

// The right to work everywhere isn't used: what lies elsewhere is neither read
// nor written, not even where a file names it.
func TestAConfinedControllerKeepsToItsNamespaces(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	elsewhere := *l
	elsewhere.namespace = l.cluster.Namespace(t)
	l.onceOK("--source-allow-empty")
	elsewhere.create(webservices(), handmade("theirs", "theirs:1", nil))
	l.create(webservices(), handmade("byhand", "mine:1", nil))
	l.writeServices("nginx:1.27", "checkout")
	confined := []string{"--namespaces-only=" + l.namespace, "--reconcile-unlabelled=true"}
	before := elsewhere.states()

	d := l.run(confined...)
	d.converges(func(*report.Report) error { return l.done("byhand", "mine:1") })
	l.must(l.done("checkout", "nginx:1.27"))
	elsewhere.edit(webservices(), "theirs", `{"spec": {"replicas": 4}}`)
	before["webservices/theirs"] = elsewhere.states()["webservices/theirs"]

	l.write(map[string]string{"there.yaml": service("there", "nginx:1.27", "namespace: "+elsewhere.namespace)})
	r := d.reports(convergeLimit, func(r *report.Report) error {
		if len(r.Problems) != 1 {
			return fmt.Errorf("%d problems", len(r.Problems))
		}
		return nil
	})
	if p := r.Problems[0]; p.Path != "there.yaml" || p.Line == 0 || !strings.Contains(p.Message, elsewhere.namespace) {
		t.Errorf("problem %+v", p)
	}
	l.holds(r, unconverged)
	if len(r.Items) != 2 {
		t.Errorf("items %+v", r.Items)
	}
	elsewhere.equal(before, elsewhere.states())
	d.stop()
	l.endsWith(l.once(confined...), 3, "there.yaml")
}
