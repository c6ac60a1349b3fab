package kube

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

func TestToLive(t *testing.T) {
	t.Parallel()
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	label := `{"f:metadata":{"f:labels":{"f:` + v1.SourceLabel + `":{}}}}`
	for _, c := range []struct {
		name            string
		fields          string
		before          time.Duration // its own creation
		owned, restored bool
	}{
		{"an entry of ours", label, 0, true, false},
		{"one that is a minute older", label, time.Minute, true, false},
		{"one that is older still", label, time.Minute + time.Second, true, true},
		{"an entry that can't be read", `{"f:metadata":7}`, 0, false, false},
		{"an old one that can't be read", `{"f:metadata":7}`, time.Hour, false, false},
	} {
		ws := &v1.WebService{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created, ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: v1.Manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(c.fields),
			Time: new(metav1.NewTime(created.Add(-c.before))),
		}}}}
		live, err := toLive(ws)
		if err != nil || live.Fields.HasLabel(v1.SourceLabel) != c.owned || live.Fields.Restored != c.restored || live.ManagedFields != nil {
			t.Errorf("%s: %v, fields %+v", c.name, err, live.Fields)
		}
	}
	if _, err := toLive(&corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap is taken for a WebService")
	}
}

func TestToChild(t *testing.T) {
	t.Parallel()
	yes, now := true, metav1.NewTime(time.Now())
	got, err := toChild(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			UID: "u1", ResourceVersion: "5", DeletionTimestamp: &now, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: v1.Manager}},
		},
		Immutable: &yes, Data: map[string]string{"a": "b"},
	})
	if err != nil || !got.Terminating || !got.Immutable || !got.Managed || got.UID != "u1" || got.Data["a"] != "b" {
		t.Errorf("%v, %+v", err, got)
	}
	if got, _ := toChild(&corev1.ConfigMap{}); got.Terminating || got.Immutable || got.Managed || got.Exists() {
		t.Errorf("%+v", got)
	}
}

func TestToNamespace(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Now())
	for _, c := range []struct {
		obj  any
		want plan.NamespaceState
		ok   bool
	}{
		{&corev1.Namespace{}, plan.NamespaceActive, true},
		{&metav1.PartialObjectMetadata{}, plan.NamespaceActive, true},
		{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, plan.NamespaceTerminating, true},
		{"text", plan.NamespaceUnknown, false},
	} {
		if got, err := toNamespace(c.obj); got != c.want || (err == nil) != c.ok {
			t.Errorf("%T: %v, %v", c.obj, got, err)
		}
	}
}

// TestHealth: the watch whose name comes first is named, and one that can be
// done without is no trouble where it is forbidden.
func TestHealth(t *testing.T) {
	t.Parallel()
	changes := 0
	h := &health{changed: func() { changes++ }}
	refused := errors.New("connection refused")
	no := &forbiddenError{apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "", errors.New("no"))}
	for _, c := range []struct {
		what    string
		err     error
		changes int
		first   error
	}{
		{"webservices", nil, 1, nil},
		{"webservices", nil, 1, nil},
		{"webservices", refused, 2, refused},
		{"webservices", errors.New("connection reset"), 2, errors.New("connection reset")},
		{"namespaces", no, 3, errors.New("connection reset")},
		{"configmaps", refused, 4, refused},
		{"webservices", nil, 5, refused},
		{"configmaps", nil, 6, nil},
	} {
		h.set(c.what, c.err)
		first := h.first()
		if changes != c.changes || (first == nil) != (c.first == nil) || first != nil && first.Error() != c.first.Error() {
			t.Errorf("%s %v: %d changes, first %v", c.what, c.err, changes, first)
		}
	}
	if !forbidden(h.err("namespaces")) || forbidden(h.err("configmaps")) || !apierrors.IsForbidden(h.err("namespaces")) {
		t.Error("the wrong watch is forbidden")
	}
	h.forget("namespaces")
	if h.err("namespaces") != nil {
		t.Error("it isn't forgotten")
	}
}

func TestBroadcast(t *testing.T) {
	t.Parallel()
	var b broadcast
	b.fire() // nobody waits
	one, other := b.wait(), b.wait()
	select {
	case <-one:
		t.Fatal("woken by what came before")
	default:
	}
	b.fire()
	<-one
	<-other
}
