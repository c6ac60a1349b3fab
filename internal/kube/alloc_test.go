package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// listed is a cluster whose watches have told of everything, with no server.
func listed(t testing.TB, objects ...any) *Cluster {
	t.Helper()
	c, err := New(&rest.Config{Host: "127.0.0.1:1"}, Options{InstallCRD: true, CRD: manifests.CRD()})
	if err != nil {
		t.Fatal(err)
	}
	c.listener = &deaf{}
	var crd unstructured.Unstructured
	if err := crd.UnmarshalJSON(c.definition.body); err != nil {
		t.Fatal(err)
	}
	crd.SetUID("u1")
	established := []any{map[string]any{"type": "Established", "status": "True"}}
	if err := unstructured.SetNestedSlice(crd.Object, established, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		c.crds.newFeed(anyKey).Replace([]any{&crd}, "10"),
		c.namespaces.newFeed(anyKey).Replace(nil, "10"),
		c.children.newFeed(anyKey).Replace(nil, "10"),
		c.webservices.newFeed(anyKey).Replace(objects, "10"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func webservice() *v1.WebService {
	ws := &v1.WebService{}
	ws.Namespace, ws.Name, ws.UID, ws.ResourceVersion = "lab", "checkout", "u2", "5"
	return ws
}

// TestLookAllocates nothing but the name of the ConfigMap, where that is long.
func TestLookAllocates(t *testing.T) {
	c := listed(t, webservice())
	if err := c.State(); err != nil {
		t.Fatal(err)
	}
	key, in := keyNamed("checkout"), &plan.Input{}
	if n := testing.AllocsPerRun(1000, func() { c.Look(key, in); _ = c.State() }); n > 1 {
		t.Errorf("%v allocations in a look", n)
	}
	if !in.Live.Exists() || !in.CRD.Ready || in.Namespace != plan.NamespaceMissing {
		t.Errorf("seen %+v", in)
	}
}

func BenchmarkLook(b *testing.B) {
	c := listed(b, webservice())
	key, in := keyNamed("checkout"), &plan.Input{}
	b.ReportAllocs()
	for b.Loop() {
		c.Look(key, in)
		_ = c.State()
	}
}
