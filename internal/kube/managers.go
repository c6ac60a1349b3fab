package kube

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// clientSideManager is the name by which kubectl's client-side apply owns fields.
const clientSideManager = "kubectl-client-side-apply"

// adopted is entries with those of kubectl's client-side apply made part of our own.
// What others own stays theirs.
func adopted(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	var ws v1.WebService
	var clientSide, kept []metav1.ManagedFieldsEntry
	for _, e := range entries {
		if !isClientSide(&e) {
			ws.ManagedFields = append(ws.ManagedFields, e)
			continue
		}
		stated, rest, err := split(e.FieldsV1)
		if err != nil {
			return nil, fmt.Errorf("the managed fields of %s: %w", clientSideManager, err)
		}
		clientSide = appendOwner(clientSide, e, stated)
		kept = appendOwner(kept, e, rest)
	}
	for _, e := range clientSide {
		// One by one, and as of our version: of several, each of another version, the
		// upgrade takes one and drops the others, whose fields nobody could release then.
		e.APIVersion = v1.APIVersion
		ws.ManagedFields = append(ws.ManagedFields, e)
		if err := csaupgrade.UpgradeManagedFields(&ws, sets.New(clientSideManager), v1.Manager); err != nil {
			return nil, fmt.Errorf("the managed fields of %s: %w", clientSideManager, err)
		}
	}
	return append(ws.ManagedFields, kept...), nil
}

func isClientSide(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == clientSideManager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" && e.FieldsV1 != nil
}

// appendOwner adds e as the owner of these fields, if there are any.
func appendOwner(to []metav1.ManagedFieldsEntry, e metav1.ManagedFieldsEntry, fields *metav1.FieldsV1) []metav1.ManagedFieldsEntry {
	if fields == nil {
		return to
	}
	e.FieldsV1 = fields
	return append(to, e)
}

// split parts the fields that a file states from those that we never apply for
// others: their finalizers and owner references. Were those ours, our next apply
// would take them off the object. nil is no fields.
func split(fields *metav1.FieldsV1) (stated, rest *metav1.FieldsV1, err error) {
	var all map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &all); err != nil {
		return nil, nil, err
	}
	meta, _ := all["f:metadata"].(map[string]any)
	left := map[string]any{}
	for _, name := range []string{"f:finalizers", "f:ownerReferences"} {
		if members, ok := meta[name]; ok {
			left[name] = members
			delete(meta, name)
		}
	}
	if len(left) == 0 {
		return fields, nil, nil
	}
	if len(meta) == 0 {
		delete(all, "f:metadata") // an empty one would stand for metadata itself
	}
	if stated, err = fieldsOf(all); err == nil {
		rest, err = fieldsOf(map[string]any{"f:metadata": left})
	}
	return stated, rest, err
}

func fieldsOf(set map[string]any) (*metav1.FieldsV1, error) {
	if len(set) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(set)
	return metav1.NewFieldsV1(string(raw)), err
}

// managersBody is the JSON patch for StepAdoptFields.
func managersBody(version string, entries []metav1.ManagedFieldsEntry) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	return json.Marshal([]operation{
		{"replace", "/metadata/managedFields", entries},
		// Not a test: the server answers a failed one as if the patch were invalid,
		// and another version with a conflict.
		{"replace", "/metadata/resourceVersion", version},
	})
}
