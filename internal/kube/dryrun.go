package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Try asks the API server what would become of a step, with the very request that Do
// would send and dryRun=All: the server judges it, fills in defaults, has webhooks
// look at it, and stores nothing. The answer is the object as it would be. The mirrors
// stay as they are. The error is a *plan.Failure.
//
// A step can only be tried on what the server has: one that follows another step on
// the same object can't be.
func (c *Cluster) Try(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	answer, err := c.try(ctx, key, step)
	if err != nil {
		return plan.Answer{}, failure(err)
	}
	return answer, nil
}

func (c *Cluster) try(ctx context.Context, key plan.Key, step *plan.Step) (answer plan.Answer, err error) {
	var body []byte
	switch step.Kind {
	case plan.StepCreateNamespace:
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}
		_, err = c.write.core.Namespaces().Create(ctx, ns, metav1.CreateOptions{FieldManager: v1.Manager, DryRun: dryRun()})
	case plan.StepApply:
		if body, err = applyBody(key, step); err == nil {
			answer.Live, err = c.tryPatch(ctx, key, types.ApplyPatchType, body)
		}
	case plan.StepWriteStatus:
		if body, err = statusBody(step); err == nil {
			answer.Live, err = c.tryPatch(ctx, key, types.MergePatchType, body, "status")
		}
	case plan.StepDropFinalizer:
		if body, err = finalizersBody(step); err == nil {
			_, err = c.tryPatch(ctx, key, types.MergePatchType, body)
		}
	case plan.StepAdoptFields:
		answer.Live, err = c.tryAdopt(ctx, key, step)
	case plan.StepCreateChild, plan.StepUpdateChild:
		answer.Child, err = c.tryChild(ctx, key, step)
	case plan.StepDeleteChild:
		err = tryDelete(ctx, c.write.core.RESTClient(), key.Namespace, string(corev1.ResourceConfigMaps), v1.ChildName(key.Name), step)
	case plan.StepDelete:
		err = tryDelete(ctx, c.write.webservices(key.Namespace).GetClient(), key.Namespace, v1.Resource, key.Name, step)
	default:
		err = fmt.Errorf("a step of unknown kind %d", step.Kind)
	}
	return answer, err
}

// TryPrepare asks the API server what would become of Prepare, with dryRun=All. The
// error is a *plan.Failure.
func (c *Cluster) TryPrepare(ctx context.Context) error {
	_, err := c.write.dynamic.Resource(crdResource()).Patch(ctx, v1.CRDName, types.ApplyPatchType, c.definition.body,
		metav1.PatchOptions{FieldManager: v1.Manager, Force: new(true), DryRun: dryRun()})
	if err != nil {
		return failure(err)
	}
	return nil
}

func dryRun() []string { return []string{metav1.DryRunAll} }

func (c *Cluster) tryPatch(ctx context.Context, key plan.Key, kind types.PatchType, body []byte, sub ...string) (plan.Live, error) {
	opts := metav1.PatchOptions{FieldManager: v1.Manager, DryRun: dryRun()}
	if kind == types.ApplyPatchType {
		opts.Force, opts.FieldValidation = new(true), metav1.FieldValidationStrict
	}
	ws, err := c.write.webservices(key.Namespace).Patch(ctx, key.Name, kind, body, opts, sub...)
	if err != nil {
		return plan.Live{}, err
	}
	return toLive(ws)
}

func (c *Cluster) tryAdopt(ctx context.Context, key plan.Key, step *plan.Step) (plan.Live, error) {
	body, err := c.adoption(ctx, key, step)
	if err != nil {
		return plan.Live{}, err
	}
	return c.tryPatch(ctx, key, types.JSONPatchType, body)
}

func (c *Cluster) tryChild(ctx context.Context, key plan.Key, step *plan.Step) (plan.Child, error) {
	configmaps := c.write.core.ConfigMaps(key.Namespace)
	if step.Kind == plan.StepCreateChild {
		cm, err := configmaps.Create(ctx, newChild(key, step.Child), metav1.CreateOptions{FieldManager: v1.Manager, DryRun: dryRun()})
		if err != nil {
			return plan.Child{}, err
		}
		return toChild(cm)
	}
	body, err := childPatch(step)
	if err != nil {
		return plan.Child{}, err
	}
	cm, err := configmaps.Patch(ctx, v1.ChildName(key.Name), types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: v1.Manager, DryRun: dryRun()})
	if err != nil {
		return plan.Child{}, err
	}
	return toChild(cm)
}

// tryDelete says that it is a dry run twice: in the body, which is what counts, and
// in the address, so that no proxy that drops the body of a delete makes it a real
// one, and the audit log shows it.
func tryDelete(ctx context.Context, client rest.Interface, namespace, resource, name string, step *plan.Step) error {
	background := metav1.DeletePropagationBackground
	err := client.Delete().Namespace(namespace).Resource(resource).Name(name).Param("dryRun", metav1.DryRunAll).
		Body(&metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion},
			PropagationPolicy: &background, DryRun: dryRun(),
		}).Do(ctx).Error()
	if isGone(err) {
		return nil
	}
	return err
}

// dataOf lists the keys of a ConfigMap's data that an entry of its managed fields owns.
func dataOf(e *metav1.ManagedFieldsEntry) []string {
	var set struct {
		Data map[string]json.RawMessage `json:"f:data"`
	}
	if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &set) != nil {
		return nil
	}
	var names []string
	for member := range set.Data {
		if name, ok := strings.CutPrefix(member, "f:"); ok {
			names = append(names, name)
		}
	}
	return names
}
