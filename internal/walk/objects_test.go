package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

const (
	// hand is the field manager of a person's edits.
	hand = "kubectl-edit"
	// foreignFinalizer is one that nobody takes off but the walk.
	foreignFinalizer = "example.com/hold"
	otherSource      = "team-b"

	// A field that somebody changes again and again is no longer taken back at
	// once: the walk doesn't go as far.
	mostEdits  = 3
	editWindow = 65 * time.Second
)

func objectSteps() []weighted {
	return []weighted{
		{6, (*walk).editSpec}, {3, (*walk).editMetadata}, {3, (*walk).deleteObject},
		{3, (*walk).deleteConfigMap}, {4, (*walk).editConfigMap}, {1, (*walk).wipeStatus},
		{1, (*walk).release}, {2, (*walk).giveAway},
		{3, (*walk).makeByHand}, {2, (*walk).makeStrangers},
		{2, (*walk).putFinalizer}, {3, (*walk).takeFinalizer},
		{2, (*walk).suspendLive}, {4, (*walk).resumeLive}, {2, (*walk).keepLive},
	}
}

// patch merges into an object by hand. What goes away meanwhile, or changes, is
// left as it is.
func (w *walk) patch(resource schema.GroupVersionResource, key plan.Key, patch map[string]any, subresources ...string) {
	w.Helper()
	body, err := json.Marshal(patch)
	w.must(err)
	_, err = w.objects.Resource(resource).Namespace(key.Namespace).Patch(w.Context(), key.Name, types.MergePatchType,
		body, metav1.PatchOptions{FieldManager: hand}, subresources...)
	w.tolerate(err)
}

func (w *walk) annotate(key plan.Key, name string, value any) {
	w.patch(webservices(), key, metadata("annotations", name, value))
}

func metadata(field, name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{field: map[string]any{name: value}}}
}

func (w *walk) delete(resource schema.GroupVersionResource, key plan.Key) {
	w.Helper()
	w.tolerate(w.objects.Resource(resource).Namespace(key.Namespace).Delete(w.Context(), key.Name, metav1.DeleteOptions{}))
}

func (w *walk) create(resource schema.GroupVersionResource, key plan.Key, content map[string]any) {
	w.Helper()
	u := &unstructured.Unstructured{Object: content}
	u.SetName(key.Name)
	_, err := w.objects.Resource(resource).Namespace(key.Namespace).Create(w.Context(), u, metav1.CreateOptions{FieldManager: hand})
	w.tolerate(err)
}

// tolerate ends the walk but for what others may have been quicker at.
func (w *walk) tolerate(err error) {
	w.Helper()
	var status apierrors.APIStatus
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, "NamespaceTerminating") {
		return
	}
	if errors.As(err, &status) && apierrors.IsInvalid(err) {
		return // a finalizer for an object that is being deleted
	}
	w.Fatal(err)
}

// anyLive is any live WebService that fits.
func (w *walk) anyLive(fit func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	live := w.mirror.live(webservices())
	keys := slices.SortedFunc(maps.Keys(live), compareKeys)
	keys = slices.DeleteFunc(keys, func(key plan.Key) bool { return !fit(live[key]) })
	if len(keys) == 0 {
		return nil
	}
	return live[pick(w, keys)]
}

// reconciled are those that the controller works on.
func reconciled(u *unstructured.Unstructured) bool {
	source := u.GetLabels()[v1.SourceLabel]
	return (source == "" || source == sourceName) && u.GetDeletionTimestamp() == nil
}

func any1(*unstructured.Unstructured) bool { return true }

// mayEdit says whether a field that will be taken back may be changed once more.
func (w *walk) mayEdit(key plan.Key, field string) bool {
	id := key.String() + " " + field
	w.edits[id] = slices.DeleteFunc(w.edits[id], func(at time.Time) bool { return time.Since(at) > editWindow })
	if len(w.edits[id]) >= mostEdits {
		return false
	}
	w.edits[id] = append(w.edits[id], time.Now())
	return true
}

func (w *walk) editSpec() string {
	u := w.anyLive(reconciled)
	field := pick(w, []string{"image", "replicas", "tier"})
	if u == nil || !w.mayEdit(keyOf(u), field) {
		return ""
	}
	value := map[string]any{"image": "evil:1", "replicas": 9, "tier": "evil"}[field]
	w.patch(webservices(), keyOf(u), map[string]any{"spec": map[string]any{field: value}})
	return fmt.Sprintf("edit spec by hand: %s of %s", field, keyOf(u))
}

func (w *walk) editMetadata() string {
	u := w.anyLive(reconciled)
	if u == nil || !w.mayEdit(keyOf(u), "team") {
		return ""
	}
	w.patch(webservices(), keyOf(u), metadata("labels", "team", pick(w, []any{"evil", nil})))
	return fmt.Sprintf("edit label by hand: team of %s", keyOf(u))
}

func (w *walk) deleteObject() string {
	u := w.anyLive(any1)
	if u == nil {
		return ""
	}
	w.delete(webservices(), keyOf(u))
	return fmt.Sprintf("delete by hand: %s", keyOf(u))
}

func childOf(key plan.Key) plan.Key {
	return plan.Key{Namespace: key.Namespace, Name: v1.ChildName(key.Name)}
}

// anyChild is the key of a live object whose ConfigMap may be harmed.
func (w *walk) anyChild() (plan.Key, bool) {
	u := w.anyLive(reconciled)
	if u == nil {
		return plan.Key{}, false
	}
	cm := w.mirror.live(configmaps())[childOf(keyOf(u))]
	if cm == nil || isStrangers(cm) || !w.mayEdit(keyOf(u), "configmap") {
		return plan.Key{}, false
	}
	return childOf(keyOf(u)), true
}

func isStrangers(u *unstructured.Unstructured) bool {
	_, marked := u.GetAnnotations()[strangersMark]
	return marked
}

func (w *walk) deleteConfigMap() string {
	key, ok := w.anyChild()
	if !ok {
		return ""
	}
	w.delete(configmaps(), key)
	return fmt.Sprintf("delete ConfigMap by hand: %s", key)
}

func (w *walk) editConfigMap() string {
	key, ok := w.anyChild()
	if !ok {
		return ""
	}
	edit := pick(w, []map[string]any{
		{"data": map[string]any{"image": "evil:1"}},
		{"data": map[string]any{"more": "evil"}},
		{"data": nil},
		disown(key),
	})
	w.patch(configmaps(), key, edit)
	return fmt.Sprintf("edit ConfigMap by hand: %s, %v", key, edit)
}

// disown takes away one of the two marks by which a ConfigMap is known to be a
// child's, always the same one of a key: without both it is somebody else's, and
// nothing that the controller does may end that.
func disown(key plan.Key) map[string]any {
	if key.Name[len(key.Name)-len(v1.ChildSuffix)-1]%2 == 0 {
		return metadata("labels", v1.ManagedByLabel, nil)
	}
	return map[string]any{"metadata": map[string]any{"ownerReferences": nil}}
}

func (w *walk) wipeStatus() string {
	u := w.anyLive(reconciled)
	if u == nil || !w.mayEdit(keyOf(u), "status") {
		return ""
	}
	w.patch(webservices(), keyOf(u), map[string]any{"status": nil}, "status")
	return fmt.Sprintf("wipe status by hand: %s", keyOf(u))
}

// release takes the source label off.
func (w *walk) release() string {
	u := w.anyLive(func(u *unstructured.Unstructured) bool { return u.GetLabels()[v1.SourceLabel] != "" })
	if u == nil || !w.mayEdit(keyOf(u), "source") {
		return ""
	}
	w.patch(webservices(), keyOf(u), metadata("labels", v1.SourceLabel, nil))
	return fmt.Sprintf("take label off by hand: %s", keyOf(u))
}

// giveAway sets another source's name, or ours where our own apply didn't.
func (w *walk) giveAway() string {
	u := w.anyLive(any1)
	if u == nil || !w.mayEdit(keyOf(u), "source") {
		return ""
	}
	name := pick(w, []any{otherSource, otherSource, sourceName})
	w.patch(webservices(), keyOf(u), metadata("labels", v1.SourceLabel, name))
	return fmt.Sprintf("label by hand: %s as of %s", keyOf(u), name)
}

// makeByHand makes an object under a name of its own, or under one that a file may
// name as well: without a label, with ours, or with another source's.
func (w *walk) makeByHand() string {
	key := w.anyKey()
	if w.chance(50) {
		key.Name = fmt.Sprint("hand-", w.IntN(3))
	}
	content := map[string]any{
		"apiVersion": v1.APIVersion, "kind": v1.Kind, "spec": map[string]any{"image": "hand:1"},
	}
	labels := map[string]any{}
	if label := pick(w, []string{"", "", sourceName, otherSource}); label != "" {
		labels[v1.SourceLabel] = label
	}
	annotations := map[string]any{}
	if w.chance(15) {
		annotations[v1.ReconcileAnnotation] = pick(w, []any{v1.Disabled, "whatever"})
	}
	content["metadata"] = map[string]any{"labels": labels, "annotations": annotations}
	w.create(webservices(), key, content)
	return fmt.Sprintf("make by hand: %s, %v %v", key, labels, annotations)
}

// makeStrangers makes a ConfigMap of a child's name that is somebody else's.
func (w *walk) makeStrangers() string {
	parent := w.anyKey()
	key := childOf(parent)
	if cm := w.mirror.live(configmaps())[key]; cm != nil && isStrangers(cm) || !w.mayEdit(parent, "configmap") {
		return ""
	}
	labels := map[string]any{}
	if w.chance(50) {
		labels[v1.ManagedByLabel] = v1.Manager
	}
	w.delete(configmaps(), key)
	w.create(configmaps(), key, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"image": "theirs:1"},
		"metadata": map[string]any{"labels": labels, "annotations": map[string]any{strangersMark: "yes"}},
	})
	return fmt.Sprintf("make a stranger's ConfigMap: %s %v", key, labels)
}

func (w *walk) putFinalizer() string {
	u := w.anyLive(func(u *unstructured.Unstructured) bool {
		return u.GetDeletionTimestamp() == nil && !hasFinalizer(u, foreignFinalizer)
	})
	if u == nil {
		return ""
	}
	w.setFinalizers(u, append(u.GetFinalizers(), foreignFinalizer))
	return fmt.Sprintf("put finalizer: %s", keyOf(u))
}

func (w *walk) takeFinalizer() string {
	u := w.anyLive(func(u *unstructured.Unstructured) bool { return hasFinalizer(u, foreignFinalizer) })
	if u == nil {
		return ""
	}
	w.dropFinalizer(u)
	return fmt.Sprintf("take finalizer: %s", keyOf(u))
}

func (w *walk) dropFinalizer(u *unstructured.Unstructured) {
	w.setFinalizers(u, slices.DeleteFunc(slices.Clone(u.GetFinalizers()), func(f string) bool { return f == foreignFinalizer }))
}

func (w *walk) setFinalizers(u *unstructured.Unstructured, finalizers []string) {
	w.patch(webservices(), keyOf(u), map[string]any{
		"metadata": map[string]any{"finalizers": finalizers, "resourceVersion": u.GetResourceVersion()},
	})
}

func (w *walk) suspendLive() string {
	u := w.anyLive(func(u *unstructured.Unstructured) bool { return !isSuspended(u) })
	if u == nil {
		return ""
	}
	w.annotate(keyOf(u), v1.ReconcileAnnotation, pick(w, []any{v1.Disabled, "whatever"}))
	return fmt.Sprintf("suspend by hand: %s", keyOf(u))
}

func (w *walk) resumeLive() string {
	u := w.anyLive(isSuspended)
	if u == nil {
		return ""
	}
	w.annotate(keyOf(u), v1.ReconcileAnnotation, nil)
	return fmt.Sprintf("resume by hand: %s", keyOf(u))
}

func isSuspended(u *unstructured.Unstructured) bool {
	_, ok := u.GetAnnotations()[v1.ReconcileAnnotation]
	return ok
}

func isKept(u *unstructured.Unstructured) bool {
	_, ok := u.GetAnnotations()[v1.PruneAnnotation]
	return ok
}

// keepLive turns an object's prune annotation on or off.
func (w *walk) keepLive() string {
	u := w.anyLive(any1)
	if u == nil || !w.mayEdit(keyOf(u), "prune") {
		return ""
	}
	var value any
	if !isKept(u) {
		value = pick(w, []any{v1.Disabled, "whatever"})
	}
	w.annotate(keyOf(u), v1.PruneAnnotation, value)
	return fmt.Sprintf("keep by hand: %s, %v", keyOf(u), value)
}

func compareKeys(a, b plan.Key) int {
	switch as, bs := a.String(), b.String(); {
	case as < bs:
		return -1
	case as > bs:
		return 1
	}
	return 0
}
