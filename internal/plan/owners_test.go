package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const childWritten = `{"f:data":{".":{},"f:image":{},"f:replicas":{},"f:tier":{}},"f:metadata":{` +
	`"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"u1\"}":{}}}}`

func TestOwnersOfChild(t *testing.T) {
	t.Parallel()
	const ours = "webservice-controller"
	all := ChildOwners{Image: ours, Replicas: ours, Tier: ours, Label: ours, Controller: ours}
	edited := all
	edited.Image = ours + ", kubectl-edit"
	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    ChildOwners
	}{
		{"nobody", nil, ChildOwners{}},
		{"we alone", []metav1.ManagedFieldsEntry{entry(ours, "Update", "", childWritten)}, all},
		{"somebody else too", []metav1.ManagedFieldsEntry{
			entry(ours, "Update", "", childWritten), entry("kubectl-edit", "Update", "", `{"f:data":{"f:image":{}}}`),
		}, edited},
		{"one manager in two ways", []metav1.ManagedFieldsEntry{
			entry(ours, "Update", "", childWritten), entry(ours, "Apply", "", `{"f:data":{"f:tier":{}}}`),
		}, all},
		{"one whose name is a part of another's", []metav1.ManagedFieldsEntry{
			entry("kubectl-edit", "Update", "", `{"f:data":{"f:tier":{}}}`), entry("kubectl", "Update", "", `{"f:data":{"f:tier":{}}}`),
		}, ChildOwners{Tier: "kubectl-edit, kubectl"}},
		{"an entry that can't be read", []metav1.ManagedFieldsEntry{entry("odd", "Update", "", `{"f:data":`), {Manager: "odd"}}, ChildOwners{}},
	} {
		if got := OwnersOfChild(c.entries).Record(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestStatusOwners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields string
		want   StatusOwners
	}{
		"ours":                  {statusWritten, StatusOwners{Replicas: "m", Ready: "m"}},
		"another condition":     {`{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Healthy\"}":{}}}}`, StatusOwners{}},
		"a list without keys":   {`{"f:status":{"f:conditions":{},"f:observedGeneration":{}}}`, StatusOwners{ObservedGeneration: "m", Ready: "m"}},
		"what can't be read":    {`{"f:status":[]}`, StatusOwners{}},
		"nothing of the status": {`{"f:metadata":{}}`, StatusOwners{}},
	} {
		var got StatusOwners
		got.add([]byte(c.fields), "m")
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Objects that are managed alike share one record.
func TestOwnersAreShared(t *testing.T) {
	t.Parallel()
	entries := []metav1.ManagedFieldsEntry{entry("m", "Update", "", childWritten)}
	if one, other := OwnersOfChild(entries), OwnersOfChild(entries); one != other {
		t.Error("two records of the same owners")
	}
	if got := (Owners[StatusOwners]{}).Record(); got != (StatusOwners{}) {
		t.Errorf("of nobody: %+v", got)
	}
}

// What is known without parsing is what parsing would find, also where somebody else
// owns some of it; and it costs no memory.
func TestOwnWritesNeedNoParsing(t *testing.T) {
	child, status := ownChildFields+`\"u1\"}":{}}}}`, ownStatusFields
	if child != childWritten {
		t.Fatalf("not the same: %s", child)
	}
	for _, other := range []string{"", "kubectl-edit"} {
		var quick, slow ChildOwners
		var quickStatus, slowStatus StatusOwners
		if other != "" {
			quick.Image, slow.Image, quickStatus.Ready, slowStatus.Ready = other, other, other, other
		}
		quick.add([]byte(child), "m")
		slow.add([]byte(" "+child), "m")
		quickStatus.add([]byte(status), "m")
		slowStatus.add([]byte(" "+status), "m")
		if quick != slow || quickStatus != slowStatus || slow.Controller != "m" || slowStatus.ObservedGeneration != "m" {
			t.Errorf("beside %q: %+v and %+v, %+v and %+v", other, quick, slow, quickStatus, slowStatus)
		}
	}
	entries := []metav1.ManagedFieldsEntry{entry("m", "Update", "", child)}
	before := OwnersOfChild(entries)
	if n := testing.AllocsPerRun(100, func() { before = OwnersOfChild(entries) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
	if before.Record().Tier != "m" {
		t.Errorf("%+v", before.Record())
	}
}
