package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Do carries out one step. Its effect is in the mirror when Do returns. The error
// is a *plan.Failure.
func (c *Cluster) Do(ctx context.Context, key plan.Key, step *plan.Step) (answer plan.Answer, err error) {
	if err := c.gate(ctx, step.Kind); err != nil {
		return plan.Answer{}, failure(err)
	}
	switch step.Kind {
	case plan.StepCreateNamespace:
		answer.Unsent, err = c.createNamespace(ctx, key.Namespace)
	case plan.StepApply:
		answer.Live, err = c.applyOnce(ctx, key, step)
	case plan.StepWriteStatus:
		answer.Live, err = c.writeStatus(ctx, key, step)
	case plan.StepCreateChild:
		answer.Child, answer.Found, err = c.createChild(ctx, key, step)
	case plan.StepUpdateChild:
		answer.Child, err = c.updateChild(ctx, key, step)
	case plan.StepDeleteChild:
		answer.Child, err = c.deleteChild(ctx, key, step)
	case plan.StepDropFinalizer:
		answer, err = c.dropFinalizer(ctx, key, step)
	case plan.StepAdoptFields:
		answer.Live, err = c.adoptFields(ctx, key, step)
	case plan.StepDelete:
		answer.Live, err = c.deleteObject(ctx, key, step)
	default:
		err = fmt.Errorf("a step of unknown kind %d", step.Kind)
	}
	if err != nil {
		return plan.Answer{}, failure(err)
	}
	return answer, nil
}

// applyOnce applies. Where namespaces can't be watched, the creation of one object
// finds out for all of its namespace whether that takes any.
func (c *Cluster) applyOnce(ctx context.Context, key plan.Key, step *plan.Step) (live plan.Live, err error) {
	if step.UID != "" || c.namespaces.ready() {
		return c.apply(ctx, key, step)
	}
	try := func() error {
		if live, err = c.apply(ctx, key, step); err != nil && failure(err).Class == plan.NotReady {
			return err
		}
		return nil
	}
	sent, closed := c.closed.ask(ctx, key.Namespace, try)
	switch {
	case sent:
		return live, err
	case closed != nil:
		return plan.Live{}, closed
	}
	if closed = try(); closed != nil {
		c.closed.note(key.Namespace, closed)
	}
	return live, err
}

func (c *Cluster) apply(ctx context.Context, key plan.Key, step *plan.Step) (plan.Live, error) {
	body, err := applyBody(key, step)
	if err != nil {
		return plan.Live{}, err
	}
	force := true
	ws, err := c.write.webservices(key.Namespace).Patch(ctx, key.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: v1.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return plan.Live{}, err
	}
	return c.webservices.wrote(key, ws)
}

func (c *Cluster) writeStatus(ctx context.Context, key plan.Key, step *plan.Step) (plan.Live, error) {
	body, err := statusBody(step)
	if err != nil {
		return plan.Live{}, err
	}
	ws, err := c.write.webservices(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: v1.Manager}, "status")
	if err != nil {
		return plan.Live{}, err
	}
	return c.webservices.wrote(key, ws)
}

// createChild creates the ConfigMap, or finds the one that stands in its place.
func (c *Cluster) createChild(ctx context.Context, key plan.Key, step *plan.Step) (child plan.Child, found bool, err error) {
	if step.Look {
		if child, err = c.standing(ctx, key); err != nil || child.Exists() {
			return child, true, err
		}
	}
	cm, err := c.write.core.ConfigMaps(key.Namespace).Create(ctx, newChild(key, step.Child), metav1.CreateOptions{FieldManager: v1.Manager})
	if apierrors.IsAlreadyExists(err) {
		child, err = c.standing(ctx, key)
		return child, true, err
	}
	if err != nil {
		return plan.Child{}, false, err
	}
	child, err = c.children.wrote(childKey(key), cm)
	return child, false, err
}

// standing is the ConfigMap of the child's name, if there is one. Where the watch
// doesn't tell of it, it lacks the label by which ConfigMaps are watched, so only a
// look at the live object tells whose it is. What it says isn't kept.
func (c *Cluster) standing(ctx context.Context, key plan.Key) (plan.Child, error) {
	cm, err := c.write.core.ConfigMaps(key.Namespace).Get(ctx, v1.ChildName(key.Name), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return plan.Child{}, nil
	case err != nil:
		return plan.Child{}, err
	}
	return toChild(cm)
}

func (c *Cluster) updateChild(ctx context.Context, key plan.Key, step *plan.Step) (plan.Child, error) {
	body, err := childPatch(step)
	if err != nil {
		return plan.Child{}, err
	}
	cm, err := c.write.core.ConfigMaps(key.Namespace).Patch(ctx, v1.ChildName(key.Name), types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: v1.Manager})
	if err != nil {
		return plan.Child{}, err
	}
	return c.children.wrote(childKey(key), cm)
}

// deleteChild deletes the ConfigMap. One that others' finalizers hold is still
// there, and is the answer then.
func (c *Cluster) deleteChild(ctx context.Context, key plan.Key, step *plan.Step) (plan.Child, error) {
	// Not the typed client: it keeps the server's answer to itself.
	answer, err := c.write.core.RESTClient().Delete().Namespace(key.Namespace).
		Resource(string(corev1.ResourceConfigMaps)).Name(v1.ChildName(key.Name)).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion}}).
		Do(ctx).Get()
	if err != nil && !isGone(err) {
		return plan.Child{}, err
	}
	if cm, ok := answer.(*corev1.ConfigMap); ok && err == nil {
		return c.children.wrote(childKey(key), cm)
	}
	c.children.deleted(childKey(key), step.UID)
	return plan.Child{}, nil
}

// dropFinalizer takes our finalizer off, unless it finds a ConfigMap that has to
// go before. Not every ConfigMap is watched, and with the finalizer gone nobody
// would come back for one, so the server itself is asked.
func (c *Cluster) dropFinalizer(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	if child, err := c.leftover(ctx, key, step); err != nil || child.Exists() {
		return plan.Answer{Child: child, Found: true}, err
	}
	body, err := finalizersBody(step)
	if err != nil {
		return plan.Answer{}, err
	}
	ws, err := c.write.webservices(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: v1.Manager})
	if err != nil {
		return plan.Answer{}, err
	}
	if len(ws.Finalizers) == 0 {
		// It was the last one: the answer is the object as it was, and it is gone.
		c.webservices.deleted(key, ws.UID)
		return plan.Answer{}, nil
	}
	live, err := c.webservices.wrote(key, ws)
	return plan.Answer{Live: live}, err
}

// leftover is the ConfigMap of the child's name that the step doesn't know of.
func (c *Cluster) leftover(ctx context.Context, key plan.Key, step *plan.Step) (plan.Child, error) {
	cm, err := c.write.core.ConfigMaps(key.Namespace).Get(ctx, v1.ChildName(key.Name), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && cm.UID == step.Spared:
		return plan.Child{}, nil
	case err != nil:
		return plan.Child{}, err
	case step.Spared != "":
		return plan.Child{}, &plan.Failure{Class: plan.Outdated, Phrase: "the ConfigMap has changed meanwhile"}
	}
	return toChild(cm)
}

// createNamespace is asked for by every object of the namespace at once; one
// request is enough for all. done says that another worker has sent it already.
func (c *Cluster) createNamespace(ctx context.Context, name string) (done bool, err error) {
	c.creating.Lock()
	defer c.creating.Unlock()
	if state := c.namespaceState(name); state != plan.NamespaceMissing {
		return true, nil
	}
	if _, err := c.uncreated.last(name); err != nil {
		return false, err
	}
	ns, err := c.write.core.Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{FieldManager: v1.Manager})
	if apierrors.IsAlreadyExists(err) {
		c.closed.note(name, nil)
		return false, &plan.Failure{Class: plan.Outdated, Phrase: "the namespace has just been created by someone else", Err: err}
	}
	if err != nil {
		if failure(err).Class == plan.Refused {
			c.uncreated.note(name, err)
		}
		return false, err
	}
	c.closed.note(name, nil)
	if !c.namespaces.ready() {
		return false, nil // no watch would ever tell of it
	}
	_, err = c.namespaces.wrote(plan.Key{Name: name}, ns)
	return false, err
}

func childKey(key plan.Key) plan.Key {
	return plan.Key{Namespace: key.Namespace, Name: v1.ChildName(key.Name)}
}
