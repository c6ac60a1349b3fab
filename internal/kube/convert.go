package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// toLive keeps a WebService with its managed fields read and dropped. Entries
// that can't be read leave every field unowned: such an object is never taken
// for ours.
func toLive(obj any) (plan.Live, error) {
	ws, ok := obj.(*v1.WebService)
	if !ok {
		return plan.Live{}, fmt.Errorf("a %T among the WebServices", obj)
	}
	fields, err := plan.OwnedFields(ws.ManagedFields, ws.CreationTimestamp.Time)
	if err != nil {
		fields = plan.Fields{}
	}
	ws.ManagedFields = nil
	return plan.Live{WebService: ws, Fields: fields}, nil
}

// toChild keeps what decisions need of a ConfigMap.
func toChild(obj any) (plan.Child, error) {
	cm, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return plan.Child{}, fmt.Errorf("a %T among the ConfigMaps", obj)
	}
	return plan.Child{
		UID:             cm.UID,
		ResourceVersion: cm.ResourceVersion,
		Labels:          cm.Labels,
		Owners:          cm.OwnerReferences,
		Data:            cm.Data,
		Terminating:     cm.DeletionTimestamp != nil,
		Immutable:       cm.Immutable != nil && *cm.Immutable,
		Managed:         slices.ContainsFunc(cm.ManagedFields, isOurs),
		By:              plan.OwnersOfChild(cm.ManagedFields),
	}, nil
}

func isOurs(e metav1.ManagedFieldsEntry) bool { return e.Manager == v1.Manager }

// toNamespace keeps whether a namespace is there to stay.
func toNamespace(obj any) (plan.NamespaceState, error) {
	switch ns := obj.(type) {
	case *metav1.PartialObjectMetadata:
		return namespaceState(ns.DeletionTimestamp), nil
	case *corev1.Namespace:
		return namespaceState(ns.DeletionTimestamp), nil
	}
	return plan.NamespaceUnknown, fmt.Errorf("a %T among the namespaces", obj)
}

func namespaceState(deleted *metav1.Time) plan.NamespaceState {
	if deleted != nil {
		return plan.NamespaceTerminating
	}
	return plan.NamespaceActive
}
