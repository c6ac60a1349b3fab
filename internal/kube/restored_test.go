package kube

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// TestRestoredCopy: what a backup puts into another namespace, managed fields
// included, isn't ours, until an apply of ours has changed it.
func TestRestoredCopy(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	file := &plan.Desired{Image: "nginx:1.27", Labels: map[string]string{v1.SourceLabel: "default"}}
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	if _, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepApply, Desired: file}); err != nil {
		t.Fatal(err)
	}
	if live := seenAs(t, c, key); live.BelongsTo("default") != plan.Ours {
		t.Fatalf("what we have just made isn't ours: %+v", live.Fields)
	}

	copied := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	restore(t, key, copied, time.Hour)
	live := seenAs(t, c, copied)
	if live.BelongsTo("default") != plan.Nobodys || !live.Fields.HasLabel(v1.SourceLabel) {
		t.Errorf("the copy is taken for ours: %+v", live.Fields)
	}
	if changes := plan.Drift(file, &live); changes != nil {
		t.Errorf("its file would be applied again and again: %v", changes)
	}

	file.Image = "nginx:1.28"
	step := &plan.Step{Kind: plan.StepApply, Desired: file, UID: live.UID, ResourceVersion: live.ResourceVersion}
	if _, err := c.Do(t.Context(), copied, step); err != nil {
		t.Fatal(err)
	}
	if live := seenAs(t, c, copied); live.BelongsTo("default") != plan.Ours {
		t.Errorf("after an apply of ours: %+v", live.Fields)
	}
}

// restore copies an object whose managed fields are that old.
func restore(t *testing.T, from, to plan.Key, age time.Duration) {
	t.Helper()
	u := managed(t, from)
	entries := u.GetManagedFields()
	for i := range entries {
		entries[i].Time = new(metav1.NewTime(time.Now().Add(-age)))
	}
	u.SetNamespace(to.Namespace)
	u.SetUID("")
	u.SetResourceVersion("")
	u.SetManagedFields(nil)
	if _, err := admin(t).Resource(v1.GroupVersionResource()).Namespace(to.Namespace).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": entries}})
	if err != nil {
		t.Fatal(err)
	}
	edit(t, to, string(patch))
}
