package kube

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// A cluster without our CRD can be read; what is to be done first is known then.
func TestReadWithoutDefinition(t *testing.T) {
	onlyCRD(t, nil)
	c := connect(t, shipped(t))
	if err := c.Read(t.Context(), soon); err != nil {
		t.Fatal(err)
	}
	if got := c.Preparation(); got != plan.Create {
		t.Errorf("the preparation is %q", got)
	}
	if err := c.TryPrepare(t.Context()); err != nil {
		t.Error(err)
	}
	var in plan.Input
	if c.Look(keyNamed("a"), &in); in.CRD.Ready || in.Namespace != plan.NamespaceMissing {
		t.Errorf("seen %+v, %v", in.CRD, in.Namespace)
	}
	shared.Apply(t, manifests.CRD())
	c = connect(t, shipped(t), func(o *Options) { o.CRD = versioned("2") })
	if err := c.Read(t.Context(), soon); err != nil || c.Preparation() != plan.Noop {
		t.Errorf("somebody else's definition: %v, %q", err, c.Preparation())
	}
}

// All that is there is read, however many pages it takes, and nothing is watched.
func TestRead(t *testing.T) {
	shared.Apply(t, manifests.CRD())
	namespace := shared.Namespace(t)
	var manifest strings.Builder
	const many = 520 // more than one page
	for i := range many {
		manifest.WriteString(webserviceText(namespace, "w"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+string(rune('a'+i/26))))
	}
	if _, problem, code := shared.KubectlExit(t, manifest.String(), "create", "-f", "-"); code != 0 {
		t.Fatal(problem)
	}
	mark := shared.Audit().Mark(t)
	c := connect(t, shipped(t))
	if err := c.Read(t.Context(), soon); err != nil {
		t.Fatal(err)
	}
	if err := c.State(); err != nil {
		t.Error(err)
	}
	n := 0
	for key := range c.All() {
		if key.Namespace == namespace {
			n++
		}
	}
	if n != many {
		t.Errorf("%d objects were read, want %d", n, many)
	}
	for _, r := range shared.Audit().Requests(t, agent(t), mark) {
		if r.Verb != "list" {
			t.Errorf("it sent %s %s", r.Verb, r.URI)
		}
	}
}

func webserviceText(namespace, name string) string {
	return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {image: a}\n---\n"
}

// Confined to namespaces, it reads just these.
func TestReadConfined(t *testing.T) {
	shared.Apply(t, manifests.CRD())
	here, there := shared.Namespace(t), shared.Namespace(t)
	for _, namespace := range []string{here, there} {
		if _, problem, code := shared.KubectlExit(t, webserviceText(namespace, "web"), "create", "-f", "-"); code != 0 {
			t.Fatal(problem)
		}
	}
	c := connect(t, shared.Kubeconfig, func(o *Options) { o.Namespaces = []string{here} })
	if err := c.Read(t.Context(), soon); err != nil {
		t.Fatal(err)
	}
	keys := maps.Collect(c.All())
	if len(keys) != 1 || !slices.Contains(slices.Collect(maps.Keys(keys)), plan.Key{Namespace: here, Name: "web"}) {
		t.Errorf("read %v", keys)
	}
}

// Without an answer it gives up in time; a refusal is told at once.
func TestReadGivesUp(t *testing.T) {
	t.Parallel()
	away := func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
	}
	cfg := rest.CopyConfig(labtest.ConfigFrom(t, shared.Kubeconfig))
	cfg.Wrap(away)
	c, err := New(cfg, Options{CRD: manifests.CRD()})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Read(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "no route") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	refused := connect(t, shared.ServiceAccount(t, "default", "without-rights"))
	began = time.Now()
	if err := refused.Read(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "not allowed") || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestStandingAndChildWriters(t *testing.T) {
	key := plan.Key{Namespace: shared.Namespace(t), Name: "web"}
	c := connect(t, shared.Kubeconfig)
	if child, err := c.Standing(t.Context(), key); err != nil || child.Exists() {
		t.Errorf("where there is none: %+v, %v", child, err)
	}
	configmaps := shared.Client(t).CoreV1().ConfigMaps(key.Namespace)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: v1.ChildName("web")}, Data: map[string]string{"image": "a", "tier": "dev"}}
	if _, err := configmaps.Create(t.Context(), cm, metav1.CreateOptions{FieldManager: v1.Manager}); err != nil {
		t.Fatal(err)
	}
	_, err := configmaps.Patch(t.Context(), cm.Name, types.MergePatchType, []byte(`{"data": {"image": "b"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	if child, err := c.Standing(t.Context(), key); err != nil || child.Data["image"] != "b" {
		t.Errorf("the one that stands there: %+v, %v", child, err)
	}
	writers, err := c.ChildWriters(t.Context(), key)
	if want := map[string]string{"data.image": "somebody"}; err != nil || !maps.Equal(writers, want) {
		t.Errorf("writers %v, %v; want %v", writers, err, want)
	}
}
