package export

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// The server's defaults: what equals them needn't be said.
const (
	defaultReplicas = 1
	defaultTier     = "dev"
)

// lastApplied is where kubectl's client-side apply keeps a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// clean is what a file says of a live object: what a user may have wanted, also
// where the source would refuse it.
func clean(u *unstructured.Unstructured) map[string]any {
	meta := map[string]any{"name": u.GetName(), "namespace": u.GetNamespace()}
	put(meta, "labels", without(u.GetLabels(), v1.SourceLabel))
	put(meta, "annotations", without(u.GetAnnotations(), lastApplied))
	if slices.Contains(u.GetFinalizers(), v1.CleanupFinalizer) {
		meta["finalizers"] = []any{v1.CleanupFinalizer}
	}
	return map[string]any{"apiVersion": v1.APIVersion, "kind": v1.Kind, "metadata": meta, "spec": spec(u)}
}

// spec is the object's without nulls and defaults. Fields that WebServices don't
// have, as in a definition made by hand, stay: a person has to decide about them.
func spec(u *unstructured.Unstructured) map[string]any {
	live, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil || live == nil {
		return map[string]any{}
	}
	maps.DeleteFunc(live, func(_ string, value any) bool { return value == nil })
	if live["replicas"] == any(int64(defaultReplicas)) {
		delete(live, "replicas")
	}
	if live["tier"] == any(defaultTier) {
		delete(live, "tier")
	}
	return live
}

func without(texts map[string]string, name string) map[string]any {
	kept := map[string]any{}
	for key, value := range texts {
		if key != name {
			kept[key] = value
		}
	}
	return kept
}

func put(in map[string]any, name string, value map[string]any) {
	if len(value) > 0 {
		in[name] = value
	}
}
