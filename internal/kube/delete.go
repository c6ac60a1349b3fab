package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// deleteObject deletes the WebService, if it is still the one that was judged. One
// that finalizers hold is still there, and is the answer then.
func (c *Cluster) deleteObject(ctx context.Context, key plan.Key, step *plan.Step) (plan.Live, error) {
	// In the background: the ConfigMap is the collector's to remove, or goes by our
	// finalizer, and the object shall not wait for it.
	background := metav1.DeletePropagationBackground
	// Not the typed client's Delete: it keeps the server's answer to itself.
	answer, err := c.write.webservices(key.Namespace).GetClient().Delete().Namespace(key.Namespace).
		Resource(v1.Resource).Name(key.Name).
		Body(&metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion},
			PropagationPolicy: &background,
		}).
		Do(ctx).Get()
	if err != nil && !isGone(err) {
		return plan.Live{}, err
	}
	if ws, ok := answer.(*v1.WebService); ok && err == nil {
		return c.webservices.wrote(key, ws)
	}
	c.webservices.deleted(key, step.UID)
	return plan.Live{}, nil
}

// isGone says whether err is the server's word that the object isn't there. That
// nothing answers at its path isn't: so says a proxy on the way too.
func isGone(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !apierrors.IsNotFound(err) || !ok {
		return false
	}
	s := status.Status()
	return !hasCause(&s, metav1.CauseTypeUnexpectedServerResponse)
}
