package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// versioned is our CRD as another version of us would bring it.
func versioned(number string) []byte {
	old := []byte(v1.CRDVersionAnnotation + `: "1"`)
	return bytes.Replace(manifests.CRD(), old, []byte(v1.CRDVersionAnnotation+`: "`+number+`"`), 1)
}

// prepared has a cluster with that CRD prepare the server, and returns the CRD
// as it is then. done is what Prepare must say that it did.
func prepared(t *testing.T, kubeconfig string, manifest []byte, done plan.Action) *unstructured.Unstructured {
	t.Helper()
	c := connect(t, kubeconfig, func(o *Options) { o.CRD = manifest })
	r := &rig{t: t, cluster: c}
	stop := background(t, func(ctx context.Context) { c.Run(ctx, &deaf{}, allowed) })
	defer stop()
	did := plan.Noop
	labtest.Eventually(t, recovery, func() error {
		now, err := c.Prepare(t.Context())
		if err != nil {
			return err
		}
		if now != plan.Noop {
			did = now
		}
		return r.cluster.State()
	})
	if did != done {
		t.Errorf("it says that it did %s, want %s", did, done)
	}
	before, _ := c.Requests()
	if again, err := c.Prepare(t.Context()); err != nil || again != plan.Noop {
		t.Error(again, err)
	}
	if after, _ := c.Requests(); after != before {
		t.Error("a request, though nothing was to be done")
	}
	crd, err := admin(t).Resource(crdResource()).Get(t.Context(), v1.CRDName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// deaf is a Listener that doesn't listen.
type deaf struct{}

func (*deaf) Changed(plan.Key)        {}
func (*deaf) NamespaceChanged(string) {}
func (*deaf) StateChanged()           {}
func (*deaf) CaughtUp()               {}

// TestPrepare: a missing CRD is installed and our own older one upgraded, with
// the rights that we ship. A newer one and one of somebody else stay as they are.
func TestPrepare(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, nil)
	number := func(crd *unstructured.Unstructured) string { return crd.GetAnnotations()[v1.CRDVersionAnnotation] }

	first := prepared(t, account, manifests.CRD(), plan.Create)
	if number(first) != "1" {
		t.Errorf("installed version %s", number(first))
	}
	again := prepared(t, account, manifests.CRD(), plan.Noop)
	if again.GetResourceVersion() != first.GetResourceVersion() {
		t.Error("an equal one was written again")
	}
	upgraded := prepared(t, account, versioned("2"), plan.Update)
	if number(upgraded) != "2" || upgraded.GetUID() != first.GetUID() {
		t.Errorf("upgraded to version %s", number(upgraded))
	}
	older := prepared(t, account, manifests.CRD(), plan.Noop)
	if older.GetResourceVersion() != upgraded.GetResourceVersion() {
		t.Error("a newer one was written over")
	}

	onlyCRD(t, manifests.CRD()) // applied by somebody else
	theirs := prepared(t, account, versioned("2"), plan.Noop)
	if number(theirs) != "1" || theirs.GetGeneration() != 1 {
		t.Error("somebody else's was written over")
	}
}

// TestNotInstalled: without crd.install a missing CRD is waited for.
func TestNotInstalled(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, nil)
	c := connect(t, account, func(o *Options) { o.InstallCRD = false })
	r := work(t, c)
	r.take("nginx:1.27", plan.Key{Namespace: shared.Namespace(t), Name: "checkout"})
	labtest.Eventually(t, recovery, func() error {
		if got := r.Report().WaitingFor; !strings.Contains(got, "install it, or set crd.install to true") {
			return errors.New(got)
		}
		return nil
	})
	if _, w := c.Requests(); w != 0 {
		t.Errorf("%d writes", w)
	}
	shared.Apply(t, manifests.CRD())
	r.converges()
}

// TestLoop: the whole way on a real server with the shipped rights, and a pass
// after it that sends nothing and changes nothing.
func TestLoop(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, nil)
	namespace := shared.Namespace(t)
	key := plan.Key{Namespace: namespace, Name: "checkout"}
	made := plan.Key{Namespace: namespace + "-new", Name: "billing"}
	c := connect(t, account)
	r := work(t, c)
	r.take("nginx:1.27", key, made)
	r.converges()
	cm, err := shared.Client(t).CoreV1().ConfigMaps(namespace).Get(t.Context(), "checkout-desired", metav1.GetOptions{})
	if err != nil || cm.Data["image"] != "nginx:1.27" || cm.Data["replicas"] != "1" || cm.Data["tier"] != "dev" {
		t.Errorf("%v, data %v", err, cm.Data)
	}
	if live, _ := c.webservices.get(key); cm.OwnerReferences[0].UID != live.UID || live.Status.ObservedGeneration != live.Generation {
		t.Errorf("owner %+v, status %+v", cm.OwnerReferences, live.Status)
	}

	reads, sent := c.Requests()
	r.NamespaceChanged(namespace)
	quiet(t, 1500*time.Millisecond)
	if r2, w2 := c.Requests(); r2 != reads || w2 != sent {
		t.Errorf("a look at converged objects: %d reads, %d writes", r2-reads, w2-sent)
	}

	// Drift comes back at once.
	if err := shared.Client(t).CoreV1().ConfigMaps(namespace).Delete(t.Context(), "checkout-desired", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, soon, func() error {
		_, err := shared.Client(t).CoreV1().ConfigMaps(namespace).Get(t.Context(), "checkout-desired", metav1.GetOptions{})
		return err
	})
	edit(t, key, `{"spec":{"image":"mine"}}`)
	edit(t, key, `{"status":null}`, "status")
	labtest.Eventually(t, soon, func() error {
		live, fresh := c.webservices.get(key)
		if live.Spec.Image != "nginx:1.27" || live.Status.ObservedGeneration != live.Generation || !fresh {
			return fmt.Errorf("image %s, status %+v", live.Spec.Image, live.Status)
		}
		return nil
	})
	r.converges()
	quiet(t, 1500*time.Millisecond)
}

// TestHandWrittenCRD lacks fields that we write: they are named, the rest goes
// on, and nothing is written again and again.
func TestHandWrittenCRD(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, []byte(handWritten))
	namespace := shared.Namespace(t)
	keys := []plan.Key{{Namespace: namespace, Name: "checkout"}, {Namespace: namespace, Name: "billing"}}
	mark := shared.Audit().Mark(t)
	c := connect(t, account)
	r := work(t, c)
	r.take("nginx:1.27", keys...)
	for _, key := range keys {
		it := r.fails(key)
		for _, field := range handWrittenLacks() {
			if !strings.Contains(it.Error, field) {
				t.Errorf("%s isn't named: %s", field, it.Error)
			}
		}
		if strings.Contains(it.Error, "status.replicas") || strings.Contains(it.Error, "spec.") {
			t.Errorf("what is declared is named: %s", it.Error)
		}
		cm, err := shared.Client(t).CoreV1().ConfigMaps(namespace).Get(t.Context(), key.Name+"-desired", metav1.GetOptions{})
		if err != nil || cm.Data["image"] != "nginx:1.27" {
			t.Errorf("the ConfigMap: %v, %v", err, cm.Data)
		}
		if live, _ := c.webservices.get(key); live.Status.ObservedGeneration != live.Generation || live.Spec.Image != "nginx:1.27" {
			t.Errorf("spec %+v, status %+v", live.Spec, live.Status)
		}
	}
	if rep := r.Report(); rep.Converged || rep.Summary.Errors != 2 {
		t.Errorf("converged %t, summary %+v", rep.Converged, rep.Summary)
	}
	quiet(t, 5*time.Second)
	if w := writes(t, mark); len(w) != 6 {
		t.Errorf("%d writes for two objects: %+v", len(w), w)
	}

	shared.Apply(t, manifests.CRD())
	r.converges()
}

// rewriting makes the proxy change an image, in whatever way it is encoded, in
// the requests that match.
func rewriting(match func(*http.Request) bool) labtest.Fault {
	return labtest.When(match, labtest.RewriteRequest(func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte("nginx:1.27"), []byte("nginx:6.66"))
	}))
}

// TestMutated: something on the way changes what we write. That is one error,
// which names the field, and the write isn't repeated until something changes.
func TestMutated(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	for _, c := range []struct {
		name  string
		path  string
		field string
		most  int
	}{
		{"the WebService", "/webservices/", "spec.image", 3},
		{"the ConfigMap", "/configmaps", "data.image", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy := labtest.NewProxy(t, shared)
			proxy.Set(rewriting(func(r *http.Request) bool {
				return labtest.IsWrite(r) && strings.Contains(r.URL.Path, c.path) && !strings.HasSuffix(r.URL.Path, "/status")
			}))
			key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
			mark := shared.Audit().Mark(t)
			r := work(t, connect(t, proxy.Kubeconfig(t, account)))
			r.take("nginx:1.27", key)
			if it := r.fails(key); !strings.Contains(it.Error, c.field) {
				t.Errorf("%s isn't named: %s", c.field, it.Error)
			}
			quiet(t, 3*time.Second)
			if w := writes(t, mark); len(w) > c.most {
				t.Errorf("%d writes: %+v", len(w), w)
			}
			live, _ := r.cluster.webservices.get(key)
			if ready := live.Status.Conditions; len(ready) != 1 || ready[0].Reason != v1.ReasonNotAccepted {
				t.Errorf("conditions %+v", ready)
			}

			proxy.Set(nil)
			edit(t, key, `{"metadata":{"annotations":{"touched":"yes"}}}`)
			r.take("nginx:1.28", key)
			r.converges()
		})
	}
}

// TestPreconditions: a write that was decided on for another object, or on an
// older version of it, changes nothing and counts as outdated.
func TestPreconditions(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	c := connect(t, account)
	r := work(t, c)
	r.take("nginx:1.27", key)
	r.converges()
	live, _ := c.webservices.get(key)
	child, _ := c.children.get(childKey(key))
	desired := &plan.Desired{Image: "other"}
	content := &plan.ChildContent{Data: map[string]string{"image": "other"}}
	status := &plan.Status{Replicas: 9}
	for _, tt := range []struct {
		name string
		step plan.Step
	}{
		{"spec, another uid and version", plan.Step{Kind: plan.StepApply, Desired: desired, UID: "x", ResourceVersion: "1"}},
		{"spec, another version", plan.Step{Kind: plan.StepApply, Desired: desired, UID: live.UID, ResourceVersion: "1"}},
		{"status, another version", plan.Step{Kind: plan.StepWriteStatus, Status: status, ResourceVersion: "1"}},
		{"child, another version", plan.Step{Kind: plan.StepUpdateChild, Child: content, UID: child.UID, ResourceVersion: "1"}},
		{"child, another uid and version", plan.Step{Kind: plan.StepUpdateChild, Child: content, UID: "x", ResourceVersion: "1"}},
		{"deletion, another uid", plan.Step{Kind: plan.StepDeleteChild, UID: "x", ResourceVersion: child.ResourceVersion}},
		{"finalizers, another version", plan.Step{Kind: plan.StepDropFinalizer, ResourceVersion: "1", Finalizers: []string{}, Spared: child.UID}},
		{"finalizers, another ConfigMap", plan.Step{Kind: plan.StepDropFinalizer, ResourceVersion: live.ResourceVersion, Finalizers: []string{}, Spared: "x"}},
		{"deletion, another version", plan.Step{Kind: plan.StepDeleteChild, UID: child.UID, ResourceVersion: "1"}},
		{"creation of what is there", plan.Step{Kind: plan.StepApply, Desired: desired}},
		{"creation of what is there, and the same", plan.Step{Kind: plan.StepApply, Desired: &plan.Desired{Image: "nginx:1.27"}}},
		{"pruning, another uid", plan.Step{Kind: plan.StepDelete, UID: "x", ResourceVersion: live.ResourceVersion}},
		{"pruning, another version", plan.Step{Kind: plan.StepDelete, UID: live.UID, ResourceVersion: "1"}},
		{"adoption, another uid", plan.Step{Kind: plan.StepAdoptFields, UID: "x", ResourceVersion: live.ResourceVersion}},
		{"adoption, another version", plan.Step{Kind: plan.StepAdoptFields, UID: live.UID, ResourceVersion: "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Do(t.Context(), key, &tt.step)
			is(t, err, plan.Outdated)
		})
	}
	got, _ := c.webservices.get(key)
	if left, _ := c.children.get(childKey(key)); got.ResourceVersion != live.ResourceVersion || left.ResourceVersion != child.ResourceVersion {
		t.Error("something was written")
	}
	missing := plan.Key{Namespace: "no-such-namespace", Name: "checkout"}
	_, err := c.Do(t.Context(), missing, &plan.Step{Kind: plan.StepApply, Desired: desired})
	is(t, err, plan.NotReady)
}

// TestCleanUp: the finalizer stays while there is a ConfigMap that the step doesn't
// know of. One that is held counts as there, and as told of.
func TestCleanUp(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	r := work(t, connect(t, account))
	r.take("nginx:1.27", key)
	r.converges()
	c := look(t, account)
	live, _ := c.webservices.get(key)
	drop := plan.Step{Kind: plan.StepDropFinalizer, ResourceVersion: live.ResourceVersion, Finalizers: []string{}}
	answer, err := c.Do(t.Context(), key, &drop)
	if err != nil || !answer.Found || plan.ClaimOf(&answer.Child, key.Name, live.UID) != plan.ClaimOurs || answer.Live.Exists() {
		t.Errorf("%v, answer %+v", err, answer)
	}
	if now, _ := c.webservices.get(key); now.ResourceVersion != live.ResourceVersion {
		t.Error("something was written")
	}

	hold := func(patch string) {
		if _, err := shared.Client(t).CoreV1().ConfigMaps(key.Namespace).Patch(t.Context(), key.Name+"-desired", types.MergePatchType,
			[]byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hold(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	defer hold(`{"metadata":{"finalizers":null}}`)
	labtest.Eventually(t, soon, func() error {
		child, _ := c.children.get(childKey(key))
		answer, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepDeleteChild, UID: child.UID, ResourceVersion: child.ResourceVersion})
		if err != nil {
			return err
		}
		if !answer.Child.Terminating {
			t.Errorf("answer %+v", answer.Child)
		}
		return nil
	})
	labtest.Eventually(t, soon, func() error {
		if child, fresh := c.children.get(childKey(key)); !fresh || !child.Terminating || !c.CaughtUp() {
			return fmt.Errorf("fresh %t, terminating %t", fresh, child.Terminating)
		}
		return nil
	})
}

// TestGate is asked with the kind of each step, and what it refuses isn't sent.
func TestGate(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := connect(t, account)
	closed := &plan.Failure{Class: plan.NotWriter, Phrase: "closed"}
	var asked []plan.StepKind
	gate := func(_ context.Context, kind plan.StepKind) error {
		asked = append(asked, kind)
		return closed
	}
	background(t, func(ctx context.Context) { c.Run(ctx, &deaf{}, gate) })
	labtest.Eventually(t, recovery, c.State)
	var kinds []plan.StepKind
	for kind := plan.StepCreateNamespace; kind <= plan.StepDelete; kind++ {
		kinds = append(kinds, kind)
		if _, err := c.Do(t.Context(), keyNamed("checkout"), &plan.Step{Kind: kind}); !errors.Is(err, closed) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if !slices.Equal(asked, kinds) {
		t.Errorf("the gate was asked for %q, want %q", asked, kinds)
	}
	if r, w := c.Requests(); r+w != 0 {
		t.Errorf("%d reads, %d writes", r, w)
	}
}

// TestCRDGone: the CRD is deleted, with all objects, while we work. It is
// installed anew, and the objects are made anew from their files.
func TestCRDGone(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, nil)
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	c := connect(t, account)
	r := work(t, c)
	r.take("nginx:1.27", key)
	r.converges()
	before, _ := c.webservices.get(key)
	crds := admin(t).Resource(crdResource())
	if err := crds.Delete(t.Context(), v1.CRDName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, recovery, func() error {
		live, _ := c.webservices.get(key)
		if !live.Exists() || live.UID == before.UID {
			return errors.New("not made anew yet: " + r.Report().WaitingFor)
		}
		return nil
	})
	r.converges()
	edit(t, key, `{"spec":{"image":"mine"}}`)
	labtest.Eventually(t, soon, func() error {
		if live, fresh := c.webservices.get(key); live.Spec.Image != "nginx:1.27" || !fresh || live.Generation < 3 {
			return errors.New("the new watch is deaf")
		}
		return nil
	})
}

// TestServerRestarts: while the server is away nothing is lost, and all goes on
// soon after it is back.
func TestServerRestarts(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, nil)
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	r := work(t, connect(t, account))
	r.take("nginx:1.27", key)
	r.converges()

	shared.Stop(t)
	labtest.Eventually(t, recovery, func() error {
		if rep := r.Report(); rep.Converged || r.Ready() == nil {
			return errors.New("the server is away, and nobody has noticed")
		}
		return nil
	})
	r.take("nginx:1.28", key)
	shared.Restart(t)
	began := time.Now()
	r.converges()
	t.Logf("converged %v after the server was back", time.Since(began).Round(time.Millisecond))
	edit(t, key, `{"spec":{"image":"mine"}}`)
	labtest.Eventually(t, soon, func() error {
		if live, fresh := r.cluster.webservices.get(key); live.Spec.Image != "nginx:1.28" || !fresh || live.Generation < 4 {
			return errors.New("the watch is deaf")
		}
		return nil
	})
}

// allBut are the rules for everything that we do, without those for one resource.
func allBut(resource string) []string {
	return slices.DeleteFunc([]string{
		`{apiGroups: [apps.labhub.io], resources: [webservices, webservices/status, webservices/finalizers], verbs: ["*"]}`,
		`{apiGroups: [""], resources: [configmaps], verbs: ["*"]}`,
		`{apiGroups: [""], resources: [namespaces], verbs: ["*"]}`,
		`{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: ["*"]}`,
	}, func(rule string) bool { return strings.Contains(rule, "["+resource) })
}

// without is an account whose rights lack one resource.
func without(t *testing.T, resource string) string {
	t.Helper()
	return account(t, "without-"+resource, allBut(resource)...)
}

// account is one with these rules.
func account(t *testing.T, name string, rules ...string) string {
	t.Helper()
	shared.Apply(t, fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [%[2]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: default}]
`, name, strings.Join(rules, ", ")))
	return shared.ServiceAccount(t, "default", name)
}

// TestForbidden: what we may not watch is named with the verb, where it is needed.
func TestForbidden(t *testing.T) {
	onlyCRD(t, manifests.CRD())
	for _, c := range []struct {
		resource string
		want     string // in the state; "" is none
	}{
		{"configmaps", `cannot list resource "configmaps"`},
		{"webservices", `cannot list resource "webservices"`},
		{"namespaces", ""},
		{"customresourcedefinitions", ""},
	} {
		t.Run(c.resource, func(t *testing.T) {
			key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
			r := work(t, connect(t, without(t, c.resource)))
			r.take("nginx:1.27", key, plan.Key{Namespace: "no-such-namespace", Name: "checkout"})
			if c.want != "" {
				labtest.Eventually(t, recovery, func() error {
					if err := r.cluster.State(); err == nil || !strings.Contains(err.Error(), c.want) || !apierrors.IsForbidden(err) {
						return fmt.Errorf("state: %w", err)
					}
					return nil
				})
				return
			}
			labtest.Eventually(t, recovery, func() error {
				it, err := r.item(key)
				if err == nil && it.Action == "requeue" {
					err = errors.New(it.Reason)
				}
				return err
			})
			if c.resource != "namespaces" {
				return
			}
			it, err := r.item(plan.Key{Namespace: "no-such-namespace", Name: "checkout"})
			if err != nil || it.Requeue == nil || it.Requeue.IsError {
				t.Errorf("in a namespace that doesn't exist: %v, %+v", err, it)
			}
		})
	}
}

// TestConfined: with namespaces.only nothing else is watched or looked at.
func TestConfined(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	one, other, third := shared.Namespace(t), shared.Namespace(t), shared.Namespace(t)
	mark := shared.Audit().Mark(t)
	c := connect(t, account, func(o *Options) { o.Namespaces = []string{one, other} })
	r := work(t, c)
	r.take("nginx:1.27", plan.Key{Namespace: one, Name: "checkout"}, plan.Key{Namespace: other, Name: "checkout"})
	shared.Apply(t, fmt.Appendf(nil, "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: theirs, namespace: %s}\nspec: {image: x}\n", third))
	r.converges()
	if n := r.Report().Summary.Total; n != 2 {
		t.Errorf("%d objects", n)
	}
	for _, req := range shared.Audit().Requests(t, agent(t), mark) {
		if (req.Resource == "webservices" || req.Resource == "configmaps") && req.Namespace != one && req.Namespace != other {
			t.Errorf("a request elsewhere: %+v", req)
		}
	}
}
