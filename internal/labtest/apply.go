package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// kindTimeout is how long a kind may take to be served after its CRD was applied.
const kindTimeout = 10 * time.Second

// Apply puts the objects of YAML documents on the server, as the admin and in their order. It returns when the kinds
// that they define can be used.
func (c *Cluster) Apply(t testing.TB, manifest []byte) {
	t.Helper()
	objects, err := decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	a := newApplier(t, c)
	for _, object := range objects {
		Eventually(t, kindTimeout, func() error { return a.apply(t, object) })
	}
}

func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

type applier struct {
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
}

func newApplier(t testing.TB, c *Cluster) *applier {
	t.Helper()
	config := c.Config(t)
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &applier{discovery: kinds, dynamic: objects}
}

// apply returns an error while the object's kind, or the kind that it defines, isn't served yet.
func (a *applier) apply(t testing.TB, object *unstructured.Unstructured) error {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(a.discovery)
	if err != nil {
		return err
	}
	gvk := object.GroupVersionKind()
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = a.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = a.dynamic.Resource(mapping.Resource).Namespace(namespaceOf(object))
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	live, err := client.Patch(t.Context(), object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: userAgent, Force: &force})
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	if gvk.Kind == "CustomResourceDefinition" && !established(live) {
		return fmt.Errorf("CRD %s is not established yet", object.GetName())
	}
	return nil
}

func namespaceOf(object *unstructured.Unstructured) string {
	if ns := object.GetNamespace(); ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if ok && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
