package walk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

func webservices() schema.GroupVersionResource { return v1.GroupVersionResource() }

func configmaps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

func namespaces() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
}

// strangersMark is the annotation on what the walk makes to be somebody else's.
const strangersMark = "example.com/strangers"

// mirror tells history of every version that the server has of some resources, by
// a watch of the admin's own, and holds the latest.
type mirror struct {
	testing.TB
	objects dynamic.Interface
	history *history
	now     map[string]map[plan.Key]*unstructured.Unstructured // by resource
}

func newMirror(t testing.TB, objects dynamic.Interface, h *history) *mirror {
	t.Helper()
	m := &mirror{TB: t, objects: objects, history: h, now: map[string]map[plan.Key]*unstructured.Unstructured{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	resources := []schema.GroupVersionResource{webservices(), configmaps(), namespaces()}
	for _, resource := range resources {
		m.now[resource.Resource] = map[plan.Key]*unstructured.Unstructured{}
	}
	for _, resource := range resources {
		list, err := objects.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			m.tell(resource.Resource, &list.Items[i], false)
		}
		go func() {
			defer func() { ended <- struct{}{} }()
			if err := m.follow(ctx, resource, list.GetResourceVersion()); err != nil {
				t.Errorf("watch %s: %v", resource.Resource, err)
			}
		}()
	}
	t.Cleanup(func() {
		cancel()
		for range resources {
			<-ended
		}
	})
	return m
}

// follow watches until the context is done. A watch that the server ends is begun
// anew where it ended, so that no version is missed.
func (m *mirror) follow(ctx context.Context, resource schema.GroupVersionResource, from string) error {
	for ctx.Err() == nil {
		w, err := m.objects.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: from})
		if err == nil {
			from, err = m.take(resource, w, from)
		}
		switch {
		case ctx.Err() != nil: // however a watch ends that is over with its context
		case err != nil:
			return err
		}
	}
	return nil
}

// take tells of all that a watch says until its end, and returns the version up to
// which that is.
func (m *mirror) take(resource schema.GroupVersionResource, w watch.Interface, from string) (string, error) {
	defer w.Stop()
	for event := range w.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return from, fmt.Errorf("event %s: %v", event.Type, event.Object)
		}
		from = object.GetResourceVersion()
		m.tell(resource.Resource, object, event.Type == watch.Deleted)
	}
	return from, nil
}

func (m *mirror) tell(resource string, u *unstructured.Unstructured, gone bool) {
	v := versionOf(resource, u)
	v.gone = gone
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	v.at = time.Now()
	m.history.versions = append(m.history.versions, v)
	if gone {
		delete(m.now[resource], v.key)
	} else {
		m.now[resource][v.key] = u
	}
}

// live is a copy of the latest objects of a resource.
func (m *mirror) live(resource schema.GroupVersionResource) map[plan.Key]*unstructured.Unstructured {
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	return maps.Clone(m.now[resource.Resource])
}

func keyOf(u *unstructured.Unstructured) plan.Key {
	return plan.Key{Namespace: u.GetNamespace(), Name: u.GetName()}
}

func versionOf(resource string, u *unstructured.Unstructured) version {
	_, kept := u.GetAnnotations()[v1.PruneAnnotation]
	_, suspended := u.GetAnnotations()[v1.ReconcileAnnotation]
	_, strangers := u.GetAnnotations()[strangersMark]
	return version{
		resource: resource, key: keyOf(u), rv: u.GetResourceVersion(), uid: u.GetUID(),
		terminating: u.GetDeletionTimestamp() != nil,
		cleanup:     hasFinalizer(u, v1.CleanupFinalizer),
		source:      u.GetLabels()[v1.SourceLabel],
		owned:       appliedByUs(u).Metadata.Labels["f:"+v1.SourceLabel] != nil,
		kept:        kept, suspended: suspended, strangers: strangers,
	}
}

func hasFinalizer(u *unstructured.Unstructured, name string) bool {
	for _, f := range u.GetFinalizers() {
		if f == name {
			return true
		}
	}
	return false
}

// applied is what an entry of managedFields says of the fields of a WebService.
type applied struct {
	Spec     map[string]any `json:"f:spec"`
	Metadata struct {
		Labels      map[string]any `json:"f:labels"`
		Annotations map[string]any `json:"f:annotations"`
		Finalizers  map[string]any `json:"f:finalizers"`
	} `json:"f:metadata"`
}

// appliedByUs is the controller's own entry.
func appliedByUs(u *unstructured.Unstructured) (a applied) {
	for _, e := range u.GetManagedFields() {
		if isOurApply(&e) {
			_ = json.Unmarshal(e.FieldsV1.GetRawBytes(), &a) // nothing of it is ours then
		}
	}
	return a
}

func isOurApply(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == v1.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// setByOthers says whether anybody else's entry has the field of spec.
func setByOthers(u *unstructured.Unstructured, field string) bool {
	for _, e := range u.GetManagedFields() {
		var a applied
		if !isOurApply(&e) && json.Unmarshal(e.FieldsV1.GetRawBytes(), &a) == nil && a.Spec[field] != nil {
			return true
		}
	}
	return false
}
