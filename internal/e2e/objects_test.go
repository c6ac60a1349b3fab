package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
)

// otherManager is who writes what the controller didn't.
const otherManager = "somebody"

func webservices() schema.GroupVersionResource { return v1.GroupVersion().WithResource(v1.Resource) }

func configmaps() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// webservice reads a WebService of the lab's namespace, past the controller.
func (l *lab) webservice(name string) (*v1.WebService, error) {
	return read[v1.WebService](l, webservices(), name)
}

// child reads the ConfigMap of a WebService.
func (l *lab) child(name string) (*corev1.ConfigMap, error) {
	return read[corev1.ConfigMap](l, configmaps(), v1.ChildName(name))
}

func read[T any](l *lab, resource schema.GroupVersionResource, name string) (*T, error) {
	u, err := l.objects.Resource(resource).Namespace(l.namespace).Get(l.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var object T
	return &object, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &object)
}

// done says what is missing until a WebService is all that it should be: its
// spec, its ConfigMap and its status, as the API server has them.
func (l *lab) done(name, image string) error {
	ws, err := l.webservice(name)
	if err != nil {
		return err
	}
	cm, err := l.child(name)
	if err != nil {
		return err
	}
	ready := readyOf(ws)
	switch {
	case ws.Spec.Image != image:
		return fmt.Errorf("%s: spec.image is %s", name, ws.Spec.Image)
	case cm.Data["image"] != image || cm.Data["replicas"] != fmt.Sprint(*ws.Spec.Replicas) || cm.Data["tier"] != ws.Spec.Tier || len(cm.Data) != 3:
		return fmt.Errorf("%s: the ConfigMap says %v", name, cm.Data)
	case cm.Labels[v1.ManagedByLabel] != v1.Manager:
		return fmt.Errorf("%s: the ConfigMap's labels are %v", name, cm.Labels)
	case len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != ws.UID || !*cm.OwnerReferences[0].Controller:
		return fmt.Errorf("%s: the ConfigMap's owners are %v", name, cm.OwnerReferences)
	case ready.Status != metav1.ConditionTrue || ready.Reason != v1.ReasonReconciled:
		return fmt.Errorf("%s: Ready is %q, %q", name, ready.Status, ready.Reason)
	case ws.Status.ObservedGeneration != ws.Generation || ready.ObservedGeneration != ws.Generation || ws.Status.Replicas != *ws.Spec.Replicas:
		return fmt.Errorf("%s: at generation %d the status is %+v", name, ws.Generation, ws.Status)
	}
	return nil
}

// readyOf is the condition Ready, or an empty one.
func readyOf(ws *v1.WebService) metav1.Condition {
	i := slices.IndexFunc(ws.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1.ReadyCondition })
	if i < 0 {
		return metav1.Condition{}
	}
	return ws.Status.Conditions[i]
}

// states has, for every WebService and ConfigMap of the lab's namespace, what
// any write to it would change: version, generation, and who wrote what when.
func (l *lab) states() map[string]string {
	l.Helper()
	states := map[string]string{}
	for _, resource := range []schema.GroupVersionResource{webservices(), configmaps()} {
		list, err := l.objects.Resource(resource).Namespace(l.namespace).List(l.Context(), metav1.ListOptions{})
		l.must(err)
		for i := range list.Items {
			states[resource.Resource+"/"+list.Items[i].GetName()] = state(&list.Items[i])
		}
	}
	return states
}

func state(u *unstructured.Unstructured) string {
	var fields []string
	for _, e := range u.GetManagedFields() {
		at := "no time" // what went through the scale subresource has none
		if e.Time != nil {
			at = e.Time.UTC().String()
		}
		fields = append(fields, fmt.Sprintf("%s %s%s at %s", e.Manager, e.Operation, e.Subresource, at))
	}
	return fmt.Sprintf("uid %s version %s generation %d; %s", u.GetUID(), u.GetResourceVersion(), u.GetGeneration(), strings.Join(fields, ", "))
}

// create puts an object there by another hand than the controller's.
func (l *lab) create(resource schema.GroupVersionResource, object any) *unstructured.Unstructured {
	l.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	l.must(err)
	u, err := l.objects.Resource(resource).Namespace(l.namespace).Create(l.Context(),
		&unstructured.Unstructured{Object: content}, metav1.CreateOptions{FieldManager: otherManager})
	l.must(err)
	return u
}

// edit changes an object by another hand than the controller's.
func (l *lab) edit(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	l.Helper()
	l.must(l.patch(l.Context(), resource, name, patch, subresources...))
}

func (l *lab) patch(ctx context.Context, resource schema.GroupVersionResource, name, patch string, subresources ...string) error {
	_, err := l.objects.Resource(resource).Namespace(l.namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: otherManager}, subresources...)
	return err
}

// remove deletes an object by another hand than the controller's.
func (l *lab) remove(resource schema.GroupVersionResource, name string) {
	l.Helper()
	l.must(l.objects.Resource(resource).Namespace(l.namespace).Delete(l.Context(), name, metav1.DeleteOptions{}))
}

// handmade is a WebService that comes from no file.
func handmade(name, image string, labels map[string]string) *v1.WebService {
	return &v1.WebService{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.APIVersion, Kind: v1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       v1.WebServiceSpec{Image: image},
	}
}

// asked are the requests of controllers since a mark, by the server's own
// record: all but watches and the lease's. Only a test that runs alone may ask.
func (l *lab) asked(since labtest.Mark) []string {
	l.Helper()
	var asked []string
	for _, r := range l.cluster.Audit().Requests(l, "webservice-controller/", since) {
		if r.Verb == "watch" || r.Resource == "leases" {
			continue
		}
		what := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
		asked = append(asked, fmt.Sprintf("%s %s %s", r.Verb, what, r.Name))
	}
	slices.Sort(asked)
	return asked
}

// wantAsked wants exactly these requests. Events follow when all is done, so they are
// left out where there are others, and count where there are none.
func (l *lab) wantAsked(since labtest.Mark, want ...string) {
	l.Helper()
	slices.Sort(want)
	got := l.asked(since)
	if len(want) > 0 {
		got = slices.DeleteFunc(got, func(request string) bool { return strings.Contains(request, " events ") })
	}
	if !slices.Equal(got, want) {
		l.Errorf("the server was asked\n got %q\nwant %q", got, want)
	}
}
