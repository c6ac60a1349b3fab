package kube

import (
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// crdState is what matters of the CRD. The zero value is one that isn't there.
type crdState struct {
	uid         types.UID
	established bool
	served      bool
	terminating bool
	// ours: our own apply made it, so we may upgrade it.
	ours    bool
	version int
	// missing are the fields that we write and that it doesn't declare.
	missing []string
}

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// toCRD reads a CRD. Whatever is not as expected counts as missing.
func toCRD(obj any) (crdState, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return crdState{}, fmt.Errorf("a %T among the CRDs", obj)
	}
	version := versionOf(u)
	served, _, _ := unstructured.NestedBool(version, "served")
	return crdState{
		uid:         u.GetUID(),
		established: hasCondition(u, "Established"),
		served:      served,
		terminating: u.GetDeletionTimestamp() != nil,
		ours:        slices.ContainsFunc(u.GetManagedFields(), isOurApply),
		version:     crdVersion(u),
		missing:     undeclared(version),
	}, nil
}

func isOurApply(e metav1.ManagedFieldsEntry) bool {
	return isOurs(e) && e.Operation == metav1.ManagedFieldsOperationApply
}

// crdVersion is the number by which older schemas are told; 0 without one.
func crdVersion(u *unstructured.Unstructured) int {
	n, err := strconv.Atoi(u.GetAnnotations()[v1.CRDVersionAnnotation])
	if err != nil {
		return 0
	}
	return n
}

func hasCondition(u *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m["status"] == "True"
		}
	}
	return false
}

// versionOf is the version of the CRD that we speak; nil if it has none.
func versionOf(u *unstructured.Unstructured) map[string]any {
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["name"] == v1.Version {
			return m
		}
	}
	return nil
}

// written are the fields that we write, as paths through a schema. "[]" stands
// for the items of a list.
func written() [][]string {
	return [][]string{
		{"spec", "image"}, {"spec", "replicas"}, {"spec", "tier"},
		{"status", "replicas"}, {"status", "observedGeneration"},
		{"status", "conditions", "[]", "type"}, {"status", "conditions", "[]", "status"},
		{"status", "conditions", "[]", "reason"}, {"status", "conditions", "[]", "message"},
		{"status", "conditions", "[]", "lastTransitionTime"}, {"status", "conditions", "[]", "observedGeneration"},
	}
}

// undeclared lists the fields that the version's schema would drop or refuse.
func undeclared(version map[string]any) []string {
	root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
	var missing []string
	for _, path := range written() {
		if !declares(root, path) {
			missing = append(missing, pathName(path))
		}
	}
	if _, ok, _ := unstructured.NestedMap(version, "subresources", "status"); !ok {
		missing = append(missing, "the status subresource")
	}
	return missing
}

func declares(node map[string]any, path []string) bool {
	for _, name := range path {
		if open, _ := node["x-kubernetes-preserve-unknown-fields"].(bool); open {
			return true
		}
		if name == "[]" {
			node, _ = node["items"].(map[string]any)
		} else {
			properties, _ := node["properties"].(map[string]any)
			node, _ = properties[name].(map[string]any)
		}
		if node == nil {
			return false
		}
	}
	return true
}

func pathName(path []string) string {
	name := ""
	for _, p := range path {
		switch {
		case p == "[]":
			name += "[]"
		case name == "":
			name = p
		default:
			name += "." + p
		}
	}
	return name
}
