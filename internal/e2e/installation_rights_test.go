package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// refused is how long a request that isn't allowed may take to be sent.
const refused = time.Minute

// What is printed for some settings is enough for all the work under these, and
// nothing of it is too much, by the server's own record.
func TestAnInstallationHasTheRightsThatItsSettingsNeed(t *testing.T) {
	t.Parallel()
	cluster := labtest.Start(t)
	for _, c := range []struct {
		name     string
		confined bool
		args     []string
	}{
		{"defaults", false, nil},
		{"a folder", false, []string{"--claim=files", "--source=sub/dir"}},
		{"no crd.install", false, []string{"--crd-install=false"}},
		{"no namespaces.create", false, []string{"--namespaces-create=false"}},
		{"no prune", false, []string{"--prune-enabled=false"}},
		{"confined", true, nil},
		{"confined, nothing more", true, []string{"--crd-install=false", "--namespaces-create=false"}},
		{"a lease elsewhere", true, []string{"--lease-namespace=default"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLabOn(t, cluster)
			namespaces := []string{l.namespace}
			if c.confined {
				namespaces = append(namespaces, cluster.Namespace(t))
				c.args = append(c.args, "--namespaces-only="+strings.Join(namespaces, ","))
			}
			i := l.install(everything, c.args...)
			if !slices.Contains(c.args, "--crd-install=false") {
				l.undefine() // for the controller to make it
			}
			mark := cluster.Audit().Mark(t)
			i.must(os.MkdirAll(i.source, 0o755))
			d := i.boot()
			i.works(d, namespaces, !slices.Contains(c.args, "--prune-enabled=false"))
			if !c.confined && !slices.Contains(c.args, "--namespaces-create=false") {
				made := i.makesNamespaces()
				made.when()
				labtest.Eventually(t, convergeLimit, made.then)
			}
			i.isHeard(d)
			i.seesNoSecrets()
			if c.name == "defaults" {
				again := i.tellsAgain()
				again.when()
				labtest.Eventually(t, convergeLimit, again.then)
			}
			d.stop()
			i.usedAllOf(mark, c.name != "defaults")
			i.leavesNothing()
		})
	}
}

// Nothing that a confined controller does needs a right in the cluster: who wants it
// to have none leaves the ClusterRole out.
func TestAConfinedInstallationDoesWithoutAClusterRole(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	i := l.install(func(document string) string {
		if strings.HasPrefix(kindOf(document), "ClusterRole") {
			return ""
		}
		return document
	}, "--namespaces-only="+l.namespace, "--crd-install=false")
	i.must(os.MkdirAll(i.source, 0o755))
	i.works(i.boot(), []string{l.namespace}, true)
	i.seesNoSecrets()
}

// works does all duties in each namespace.
func (i *installation) works(d *daemon, namespaces []string, prunes bool) {
	i.Helper()
	for _, namespace := range namespaces {
		there := i.in(namespace)
		for _, duty := range there.duties() {
			duty.when()
			if duty.name == "delete" && !prunes {
				d.converges(item("cleaned", func(it report.Item) bool { return it.Source == "" }))
				there.remove(webservices(), "cleaned")
			}
			labtest.Eventually(i, convergeLimit, func() error {
				if err := duty.then(); err != nil {
					return fmt.Errorf("%s: %w", duty.name, err)
				}
				return nil
			})
		}
	}
	d.converges()
	// As `kubectl exec` does.
	if r := i.exec("plan"); r.code != 0 {
		i.Errorf("plan: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// makesNamespaces is the duty that is about no namespace that there is.
func (i *installation) makesNamespaces() duty {
	made := i.in(i.namespace + "-made")
	i.dropNamespace(made.namespace)
	return duty{"make a namespace", func() { made.put("web", "nginx:1") }, func() error { return made.done("web", "nginx:1") }}
}

// isHeard wants the probes of the Deployment to be answered, and the Lease to be
// where the settings say.
func (i *installation) isHeard(d *daemon) {
	i.Helper()
	controller := i.container("controller")
	for _, path := range []string{controller.LivenessProbe.HTTPGet.Path, controller.ReadinessProbe.HTTPGet.Path} {
		if code, body := d.get(path); code != http.StatusOK {
			i.Errorf("%s: %d %s", path, code, body)
		}
	}
	place := i.place
	if at := slices.IndexFunc(controller.Env, func(v corev1.EnvVar) bool { return strings.HasSuffix(v.Name, "_LEASE_NAMESPACE") }); at >= 0 {
		place = controller.Env[at].Value
	}
	lease, err := i.core.CoordinationV1().Leases(place).Get(i.Context(), "webservice-source-"+i.name, metav1.GetOptions{})
	i.must(err)
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		i.Errorf("nobody has the Lease: %+v", lease.Spec)
	}
}

// seesNoSecrets asks as the controller's account.
func (i *installation) seesNoSecrets() {
	i.Helper()
	client, err := kubernetes.NewForConfig(labtest.ConfigFrom(i, i.kubeconfig))
	i.must(err)
	for _, namespace := range []string{"", i.place, i.namespace, "kube-system"} {
		if _, err := client.CoreV1().Secrets(namespace).List(i.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			i.Errorf("secrets of %q: %v", namespace, err)
		}
	}
	if _, err := client.CoreV1().Secrets(i.namespace).Get(i.Context(), "any", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		i.Error(err)
	}
}

// usedAllOf wants each right to have been used since a mark, and nothing else to have
// been asked for. brief: no event was told again, for which it must wait.
func (i *installation) usedAllOf(since labtest.Mark, brief bool) {
	i.Helper()
	requests := i.requests(since)
	for _, r := range i.rights() {
		if brief && r.verb == "patch" && r.resource == "events" {
			continue
		}
		if !slices.ContainsFunc(requests, func(q labtest.Request) bool { return r.needed(&q) && q.Code != http.StatusForbidden }) {
			i.Errorf("nothing needs %+v", r)
		}
	}
	for _, q := range requests {
		if q.Code == http.StatusForbidden {
			i.Errorf("refused: %s %s %s", q.Verb, q.URI, q.Name)
		}
	}
}

// leavesNothing wants no file to have been written but into out, as a file system
// that is read-only has it.
func (i *installation) leavesNothing() {
	i.Helper()
	entries, err := os.ReadDir(i.home)
	i.must(err)
	for _, e := range entries {
		if e.Name() != "files" && e.Name() != "out" {
			i.Errorf("%s was written", e.Name())
		}
	}
}

// Whichever right is taken away, something is refused that the controller needs.
func TestEveryRightIsNeeded(t *testing.T) {
	t.Parallel()
	cluster := labtest.Start(t)
	first := newLabOn(t, cluster)
	rights := first.printed().rights()
	t.Run("definitions", func(t *testing.T) {
		for _, r := range rights {
			if makesDefinitions(r) {
				newLabOn(t, cluster).misses(r)
			}
		}
		if first.defined(t.Context()) {
			t.Error("the definition was made")
		}
	})
	first.cluster.Apply(t, manifests.CRD())
	t.Run("all else", func(t *testing.T) {
		for _, r := range rights {
			if makesDefinitions(r) {
				continue
			}
			t.Run(r.verb+" "+r.resource, func(t *testing.T) {
				t.Parallel()
				newLabOn(t, cluster).misses(r)
			})
		}
	})
}

// makesDefinitions says whether the definition is made by this right.
func makesDefinitions(r right) bool {
	return r.resource == "customresourcedefinitions" && (r.verb == "create" || r.verb == "patch")
}

// misses takes a right away, and wants the controller to be refused in its work.
func (l *lab) misses(gone right) {
	l.Helper()
	i := l.install(func(document string) string {
		switch kind := kindOf(document); {
		case kind == "CustomResourceDefinition":
			return ""
		case strings.HasSuffix(kind, "Role"):
			return gone.takenFrom(l, document)
		}
		return document
	})
	mark := l.cluster.Audit().Mark(l)
	i.must(os.MkdirAll(i.source, 0o755))
	d := i.boot()
	defer d.stop()
	look := duty{"look", func() { i.exec("plan") }, func() error { return nil }}
	for _, each := range append(append([]duty{look}, i.duties()...), i.makesNamespaces(), i.tellsAgain()) {
		each.when()
		found := false
		labtest.Eventually(i, refused, func() error {
			next := l.cluster.Audit().Mark(l)
			found = slices.ContainsFunc(i.requests(mark), func(q labtest.Request) bool { return q.Code == http.StatusForbidden })
			mark = next
			if found {
				return nil
			}
			return each.then()
		})
		if found {
			return
		}
	}
	l.Errorf("all was done without the right to %s %s", gone.verb, gone.resource)
}

// takenFrom is the text of a role that doesn't grant a right.
func (r right) takenFrom(l *lab, document string) string {
	l.Helper()
	var role rbacv1.ClusterRole // a Role has the same fields
	l.must(yaml.UnmarshalStrict([]byte(document), &role))
	for n := range role.Rules {
		if rule := &role.Rules[n]; slices.Contains(rule.Resources, r.resource) {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == r.verb })
		}
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
	text, err := yaml.Marshal(&role)
	l.must(err)
	return string(text)
}
