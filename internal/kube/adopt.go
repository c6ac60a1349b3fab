package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// adoptFields makes ours what kubectl's client-side apply owns, so that the next
// apply drops what the file doesn't state. The mirror keeps no managed fields, so
// the object itself is read.
func (c *Cluster) adoptFields(ctx context.Context, key plan.Key, step *plan.Step) (plan.Live, error) {
	webservices := c.write.webservices(key.Namespace)
	ws, err := webservices.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return plan.Live{}, err
	}
	if ws.UID != step.UID || ws.ResourceVersion != step.ResourceVersion {
		return plan.Live{}, &plan.Failure{Class: plan.Outdated, Phrase: "the object has changed meanwhile"}
	}
	entries, err := adopted(ws.ManagedFields)
	if err != nil {
		return plan.Live{}, err
	}
	body, err := managersBody(ws.ResourceVersion, entries)
	if err != nil {
		return plan.Live{}, err
	}
	ws, err = webservices.Patch(ctx, key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: v1.Manager})
	if err != nil {
		return plan.Live{}, err
	}
	return c.webservices.wrote(key, ws)
}
