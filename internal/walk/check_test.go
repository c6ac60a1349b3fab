package walk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// check holds what the server has, by a list of now, against the directory.
func (w *walk) check() error {
	live, err := w.list(webservices())
	if err != nil {
		return err
	}
	children, err := w.list(configmaps())
	if err != nil {
		return err
	}
	var errs []error
	says := w.disk.picture()
	for _, key := range slices.SortedFunc(maps.Keys(says.usable), compareKeys) {
		errs = append(errs, checkNamed(says.usable[key], live[key], children[childOf(key)]))
	}
	for _, key := range slices.SortedFunc(maps.Keys(live), compareKeys) {
		if says.usable[key] == nil {
			errs = append(errs, checkUnnamed(live[key], children[childOf(key)]))
		}
	}
	return errors.Join(errs...)
}

func (w *walk) list(resource schema.GroupVersionResource) (map[plan.Key]*unstructured.Unstructured, error) {
	list, err := w.objects.Resource(resource).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	found := map[plan.Key]*unstructured.Unstructured{}
	for i := range list.Items {
		found[keyOf(&list.Items[i])] = &list.Items[i]
	}
	return found, nil
}

// checkNamed: what a file names says what the file says, and all else follows.
func checkNamed(doc *document, u, child *unstructured.Unstructured) error {
	switch {
	case doc.suspended() || u != nil && isSuspended(u):
		return nil
	case u == nil:
		return fmt.Errorf("%s isn't there", doc.key)
	case u.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted", doc.key)
	}
	return errors.Join(checkStated(doc, u), checkOwnership(doc, u), checkDone(u, child))
}

// checkStated: the fields that the file states have its values, and the others
// their defaults.
func checkStated(doc *document, u *unstructured.Unstructured) error {
	var ws v1.WebService
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &ws); err != nil {
		return err
	}
	replicas, tier := int32(1), "dev"
	if doc.replicas != nil {
		replicas = *doc.replicas
	}
	if doc.tier != "" {
		tier = doc.tier
	}
	// What the file doesn't state and somebody else has set stays as that one set it.
	if doc.replicas == nil && setByOthers(u, "f:replicas") {
		replicas = *ws.Spec.Replicas
	}
	if doc.tier == "" && setByOthers(u, "f:tier") {
		tier = ws.Spec.Tier
	}
	if ws.Spec.Image != doc.image || *ws.Spec.Replicas != replicas || ws.Spec.Tier != tier {
		return fmt.Errorf("%s: the spec is %s, %d, %s; the file says %s, %d, %s",
			doc.key, ws.Spec.Image, *ws.Spec.Replicas, ws.Spec.Tier, doc.image, replicas, tier)
	}
	for key, value := range doc.labels {
		if ws.Labels[key] != value {
			return fmt.Errorf("%s: the label %s is %q, the file says %q", doc.key, key, ws.Labels[key], value)
		}
	}
	for key, value := range doc.annotations {
		if ws.Annotations[key] != value {
			return fmt.Errorf("%s: the annotation %s is %q, the file says %q", doc.key, key, ws.Annotations[key], value)
		}
	}
	if ws.Labels[v1.SourceLabel] != sourceName {
		return fmt.Errorf("%s: the source label is %q", doc.key, ws.Labels[v1.SourceLabel])
	}
	return nil
}

// checkOwnership: our own apply owns exactly what the file states, with our label.
func checkOwnership(doc *document, u *unstructured.Unstructured) error {
	want := []string{"spec.image", "label " + v1.SourceLabel}
	if doc.replicas != nil {
		want = append(want, "spec.replicas")
	}
	if doc.tier != "" {
		want = append(want, "spec.tier")
	}
	for key := range doc.labels {
		want = append(want, "label "+key)
	}
	for key := range doc.annotations {
		want = append(want, "annotation "+key)
	}
	if doc.cleanup {
		want = append(want, "finalizer "+v1.CleanupFinalizer)
	}
	if got := fieldsOf(appliedByUs(u)); !slices.Equal(got, sorted(want)) {
		return fmt.Errorf("%s: our apply owns %q, the file states %q", doc.key, got, want)
	}
	return nil
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func fieldsOf(a applied) []string {
	var fields []string
	add := func(what, prefix string, members map[string]any) {
		for m := range members {
			if name, ok := strings.CutPrefix(m, prefix); ok {
				fields = append(fields, what+strings.Trim(name, `"`))
			}
		}
	}
	add("spec.", "f:", a.Spec)
	add("label ", "f:", a.Metadata.Labels)
	add("annotation ", "f:", a.Metadata.Annotations)
	add("finalizer ", "v:", a.Metadata.Finalizers)
	return sorted(fields)
}

// checkUnnamed: nothing of ours is left that nothing keeps, and what was made by
// hand is taken care of.
func checkUnnamed(u, child *unstructured.Unstructured) error {
	v := versionOf(v1.Resource, u)
	switch {
	case isOthers(u) || v.suspended:
		return nil
	case v.source == sourceName && v.owned && !v.kept:
		return fmt.Errorf("%s is still there, and no file names it", v.key)
	case v.terminating:
		return fmt.Errorf("%s is being deleted", v.key)
	}
	return checkDone(u, child)
}

// checkDone: the ConfigMap says what the spec says, and the status says so.
func checkDone(u, child *unstructured.Unstructured) error {
	var ws v1.WebService
	var cm corev1.ConfigMap
	key := keyOf(u)
	if child == nil {
		return fmt.Errorf("%s has no ConfigMap", key)
	}
	if err := errors.Join(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &ws),
		runtime.DefaultUnstructuredConverter.FromUnstructured(child.Object, &cm)); err != nil {
		return err
	}
	data := map[string]string{"image": ws.Spec.Image, "replicas": fmt.Sprint(*ws.Spec.Replicas), "tier": ws.Spec.Tier}
	owner := metav1.GetControllerOf(&cm)
	var ready metav1.Condition
	for _, c := range ws.Status.Conditions {
		if c.Type == v1.ReadyCondition {
			ready = c
		}
	}
	switch {
	case !maps.Equal(cm.Data, data):
		return fmt.Errorf("%s: the ConfigMap says %v, want %v", key, cm.Data, data)
	case cm.Labels[v1.ManagedByLabel] != v1.Manager:
		return fmt.Errorf("%s: the ConfigMap's labels are %v", key, cm.Labels)
	case owner == nil || owner.UID != ws.UID:
		return fmt.Errorf("%s: the ConfigMap's owners are %v, want %s", key, cm.OwnerReferences, ws.UID)
	case ready.Status != metav1.ConditionTrue || ready.Reason != v1.ReasonReconciled:
		return fmt.Errorf("%s: Ready is %q, %q", key, ready.Status, ready.Reason)
	case ws.Status.ObservedGeneration != ws.Generation || ready.ObservedGeneration != ws.Generation || ws.Status.Replicas != *ws.Spec.Replicas:
		return fmt.Errorf("%s: at generation %d the status is %+v", key, ws.Generation, ws.Status)
	}
	return nil
}
