package kube

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// TestApplyBody: an apply states what the file states and nothing else but the
// version: that of no object where it shall create one. An empty map or list would
// move the resourceVersion on every apply.
func TestApplyBody(t *testing.T) {
	t.Parallel()
	three, none, tier := int32(3), int32(0), "prod"
	for _, c := range []struct {
		name string
		step plan.Step
		want string
	}{
		{
			"the least", plan.Step{Desired: &plan.Desired{Image: "nginx:1.27"}},
			`{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"name":"checkout","namespace":"lab","resourceVersion":"1"},"spec":{"image":"nginx:1.27"}}`,
		},
		{
			"empty maps and lists", plan.Step{Desired: &plan.Desired{
				Image: "nginx:1.27", Labels: map[string]string{}, Annotations: map[string]string{}, Finalizers: []string{},
			}},
			`{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"name":"checkout","namespace":"lab","resourceVersion":"1"},"spec":{"image":"nginx:1.27"}}`,
		},
		{
			"no replicas at all", plan.Step{Desired: &plan.Desired{Image: "nginx:1.27", Replicas: &none}},
			`{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"name":"checkout","namespace":"lab","resourceVersion":"1"},"spec":{"image":"nginx:1.27","replicas":0}}`,
		},
		{
			"all there is", plan.Step{UID: "u1", ResourceVersion: "7", Desired: &plan.Desired{
				Image: "nginx:1.27", Replicas: &three, Tier: &tier,
				Labels:      map[string]string{"webservice.labhub.io/source": "default"},
				Annotations: map[string]string{"owner": "a \"team\""},
				Finalizers:  []string{"webservice.labhub.io/cleanup"},
			}},
			`{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"annotations":{"owner":"a \"team\""},` +
				`"finalizers":["webservice.labhub.io/cleanup"],"labels":{"webservice.labhub.io/source":"default"},` +
				`"name":"checkout","namespace":"lab","resourceVersion":"7","uid":"u1"},` +
				`"spec":{"image":"nginx:1.27","replicas":3,"tier":"prod"}}`,
		},
	} {
		got, err := applyBody(keyNamed("checkout"), &c.step)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func owners() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{
		{APIVersion: "apps.labhub.io/v1", Kind: "WebService", Name: "checkout", UID: "u1", Controller: &yes},
		{APIVersion: "v1", Kind: "Secret", Name: "theirs", UID: "u2"},
	}
}

const ownersJSON = `"ownerReferences":[{"apiVersion":"apps.labhub.io/v1","kind":"WebService","name":"checkout","uid":"u1","controller":true},` +
	`{"apiVersion":"v1","kind":"Secret","name":"theirs","uid":"u2"}]`

func TestNewChild(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(newChild(keyNamed("checkout"), &plan.ChildContent{
		Data:   map[string]string{"image": "nginx:1.27", "replicas": "3", "tier": "dev"},
		Labels: map[string]string{"app.kubernetes.io/managed-by": "webservice-controller"},
		Owners: owners()[:1],
	}))
	want := `{"metadata":{"name":"checkout-desired","namespace":"lab","labels":{"app.kubernetes.io/managed-by":"webservice-controller"},` +
		`"ownerReferences":[{"apiVersion":"apps.labhub.io/v1","kind":"WebService","name":"checkout","uid":"u1","controller":true}]},` +
		`"data":{"image":"nginx:1.27","replicas":"3","tier":"dev"}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestChildPatch: keys that must go are null, and all owners are named, since a
// merge patch replaces a list.
func TestChildPatch(t *testing.T) {
	t.Parallel()
	got, err := childPatch(&plan.Step{UID: "u9", ResourceVersion: "12", Child: &plan.ChildContent{
		Data:     map[string]string{"image": "nginx:1.27"},
		DropData: []string{"extra"},
		Labels:   map[string]string{"app.kubernetes.io/managed-by": "webservice-controller"},
		Owners:   owners(),
	}})
	want := `{"data":{"extra":null,"image":"nginx:1.27"},"metadata":{"labels":{"app.kubernetes.io/managed-by":"webservice-controller"},` +
		ownersJSON + `,"resourceVersion":"12","uid":"u9"}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestFinalizersBody: all that is touched is the list, of the version that was
// looked at. Where none is left it is empty, and not null.
func TestFinalizersBody(t *testing.T) {
	t.Parallel()
	for want, left := range map[string][]string{
		`{"metadata":{"finalizers":[],"resourceVersion":"7"}}`:                  {},
		`{"metadata":{"finalizers":["a.io/x","b.io/y"],"resourceVersion":"7"}}`: {"a.io/x", "b.io/y"},
	} {
		got, err := finalizersBody(&plan.Step{Kind: plan.StepDropFinalizer, ResourceVersion: "7", Finalizers: left, Spared: "u9"})
		if err != nil || string(got) != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
}

// TestStatusBody: zero is written too, and conditions of other types stay.
func TestStatusBody(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 6, 7, 8, 9, 10, 0, time.UTC))
	got, err := statusBody(&plan.Step{ResourceVersion: "7", Status: &plan.Status{ObservedGeneration: 2, Conditions: []metav1.Condition{
		{Type: "Ready", Status: "True", ObservedGeneration: 2, LastTransitionTime: at, Reason: "Reconciled", Message: "m"},
		{Type: "Theirs", Status: "False", LastTransitionTime: at, Reason: "R"},
	}}})
	want := `{"metadata":{"resourceVersion":"7"},"status":{"conditions":[` +
		`{"type":"Ready","status":"True","observedGeneration":2,"lastTransitionTime":"2026-06-07T08:09:10Z","reason":"Reconciled","message":"m"},` +
		`{"type":"Theirs","status":"False","lastTransitionTime":"2026-06-07T08:09:10Z","reason":"R","message":""}],` +
		`"observedGeneration":2,"replicas":0}}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}
