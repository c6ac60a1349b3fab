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
	body, err := c.adoption(ctx, key, step)
	if err != nil {
		return plan.Live{}, err
	}
	ws, err := c.write.webservices(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: v1.Manager})
	if err != nil {
		return plan.Live{}, err
	}
	return c.webservices.wrote(key, ws)
}

// adoption is the patch that adoptFields sends, made from the object as it is now.
func (c *Cluster) adoption(ctx context.Context, key plan.Key, step *plan.Step) ([]byte, error) {
	ws, err := c.write.webservices(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if ws.UID != step.UID || ws.ResourceVersion != step.ResourceVersion {
		return nil, &plan.Failure{Class: plan.Outdated, Phrase: "the object has changed meanwhile"}
	}
	entries, err := adopted(ws.ManagedFields)
	if err != nil {
		return nil, err
	}
	return managersBody(ws.ResourceVersion, entries)
}
