package plan

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entry is an item of managedFields as the API server writes it.
func entry(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "apps.labhub.io/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

const (
	oursApplied = `{"f:metadata":{"f:annotations":{"f:note":{}},` +
		`"f:finalizers":{"v:\"webservice.labhub.io/cleanup\"":{}},` +
		`"f:labels":{"f:webservice.labhub.io/source":{},"f:team":{}}},` +
		`"f:spec":{"f:image":{},"f:replicas":{}}}`
	kubectlEdited = `{"f:metadata":{"f:labels":{".":{},"f:hand":{}}},"f:spec":{"f:image":{},"f:tier":{}}}`
	statusWritten = `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:replicas":{}}}`
)

func TestOwnedFields(t *testing.T) {
	t.Parallel()
	ours := entry("webservice-controller", "Apply", "", oursApplied)
	oursWant := Fields{
		Image: true, Replicas: true,
		Labels:      []string{"team", "webservice.labhub.io/source"},
		Annotations: []string{"note"},
		Finalizers:  []string{"webservice.labhub.io/cleanup"},
	}
	edited := oursWant
	edited.ImageBy, edited.TierBy = "kubectl-edit", "kubectl-edit"
	edited.LabelsBy = map[string]string{"hand": "kubectl-edit"}
	scaled := oursWant
	scaled.Replicas, scaled.ReplicasBy = true, "kubectl"
	handTier := oursWant
	handTier.TierBy, handTier.ClientSide = kubectlApply, true
	statusOurs := oursWant
	statusOurs.Status = OwnersOf(StatusOwners{Replicas: "webservice-controller", Ready: "webservice-controller"})
	merged := oursWant
	merged.Tier, merged.Labels = true, []string{"older", "team", "webservice.labhub.io/source"}

	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    Fields
	}{
		{"no entries", nil, Fields{}},
		{"our apply", []metav1.ManagedFieldsEntry{ours}, oursWant},
		{"our apply, then kubectl edit", []metav1.ManagedFieldsEntry{ours, entry("kubectl-edit", "Update", "", kubectlEdited)}, edited},
		{"entries of status are apart", []metav1.ManagedFieldsEntry{
			ours, entry("webservice-controller", "Update", "status", statusWritten), entry("webservice-controller", "Apply", "status", `{"f:spec":{"f:tier":{}}}`),
		}, statusOurs},
		{"another manager's apply isn't ours", []metav1.ManagedFieldsEntry{entry("kubectl", "Apply", "", `{"f:spec":{"f:replicas":{}}}`)}, Fields{ReplicasBy: "kubectl"}},
		{"our own update isn't an apply", []metav1.ManagedFieldsEntry{entry("webservice-controller", "Update", "", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{}}}}`)},
			Fields{FinalizersBy: map[string]string{"x": "webservice-controller"}}},
		{"two applies of ours add up", []metav1.ManagedFieldsEntry{
			ours, entry("webservice-controller", "Apply", "", `{"f:metadata":{"f:labels":{"f:older":{},"f:team":{}}},"f:spec":{"f:tier":{}}}`),
		}, merged},
		{"the later of two others is named", []metav1.ManagedFieldsEntry{
			entry("kubectl-create", "Update", "", kubectlEdited), entry("kubectl-edit", "Update", "", kubectlEdited),
		}, Fields{ImageBy: "kubectl-edit", TierBy: "kubectl-edit", LabelsBy: map[string]string{"hand": "kubectl-edit"}}},
		{"scaling counts, though it goes by a subresource", []metav1.ManagedFieldsEntry{
			ours, entry("kubectl", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`),
		}, scaled},
		{"annotations of others are named", []metav1.ManagedFieldsEntry{
			entry("kubectl-annotate", "Update", "", `{"f:metadata":{"f:annotations":{".":{},"f:note":{}}}}`),
		}, Fields{AnnotationsBy: map[string]string{"note": "kubectl-annotate"}}},
		{"kubectl's client-side apply", []metav1.ManagedFieldsEntry{ours, entry(kubectlApply, "Update", "", `{"f:spec":{"f:tier":{}}}`)}, handTier},
		{"kubectl's client-side apply of an annotation alone", []metav1.ManagedFieldsEntry{
			entry(kubectlApply, "Update", "", `{"f:metadata":{"f:annotations":{".":{},"f:note":{}}}}`),
		}, Fields{AnnotationsBy: map[string]string{"note": kubectlApply}, ClientSide: true}},
		{"kubectl's client-side apply of a label alone", []metav1.ManagedFieldsEntry{
			entry(kubectlApply, "Update", "", `{"f:metadata":{"f:labels":{"f:team":{}}}}`),
		}, Fields{LabelsBy: map[string]string{"team": kubectlApply}, ClientSide: true}},
		{"kubectl's client-side apply of nothing that a file states", []metav1.ManagedFieldsEntry{
			entry(kubectlApply, "Update", "", `{"f:metadata":{"f:finalizers":{"v:\"x\"":{}}},"f:other":{}}`),
		}, Fields{FinalizersBy: map[string]string{"x": kubectlApply}}},
		{"its name on another operation", []metav1.ManagedFieldsEntry{entry(kubectlApply, "Apply", "", `{"f:spec":{"f:tier":{}}}`)}, Fields{TierBy: kubectlApply}},
		{"its name on a subresource", []metav1.ManagedFieldsEntry{entry(kubectlApply, "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)}, Fields{ReplicasBy: kubectlApply}},
		{"an entry without fields", []metav1.ManagedFieldsEntry{{Manager: "webservice-controller", Operation: "Apply"}}, Fields{}},
		{"members of unknown kinds are passed over", []metav1.ManagedFieldsEntry{
			entry("webservice-controller", "Apply", "", `{"f:metadata":{"f:finalizers":{"i:0":{},"k:{}":{},"v:1":{},"v:\"a\"":{}}},"f:other":{}}`),
		}, Fields{Finalizers: []string{"a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := OwnedFields(c.entries, longAgo.Time)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestOwnedFieldsThatCantBeRead(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"not JSON":       `{"f:spec":`,
		"not an object":  `"f:spec"`,
		"spec is a text": `{"f:spec":"f:image"}`,
	} {
		got, err := OwnedFields([]metav1.ManagedFieldsEntry{
			entry("webservice-controller", "Apply", "", oursApplied), entry("odd-tool", "Update", "", fields),
		}, longAgo.Time)
		if err == nil || !reflect.DeepEqual(got, Fields{}) {
			t.Errorf("%s: %+v, %v; want no fields and an error", name, got, err)
		} else if want := "managedFields of odd-tool: "; len(err.Error()) <= len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: the error %q doesn't name the manager", name, err)
		}
	}
}

// TestRestored: an apply that is more than a minute older than the object was one of
// another object. The times are seconds before the object's creation.
func TestRestored(t *testing.T) {
	t.Parallel()
	const source, team = `{"f:metadata":{"f:labels":{"f:webservice.labhub.io/source":{}}}}`, `{"f:metadata":{"f:labels":{"f:team":{}}}}`
	at := func(seconds int, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.Time = new(metav1.NewTime(longAgo.Add(-time.Duration(seconds) * time.Second)))
		return e
	}
	ours := func(fields string) metav1.ManagedFieldsEntry {
		return entry("webservice-controller", "Apply", "", fields)
	}
	for _, c := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		{"no entries", nil, false},
		{"as old as the object", []metav1.ManagedFieldsEntry{at(0, ours(source))}, false},
		{"younger than the object", []metav1.ManagedFieldsEntry{at(-3600, ours(source))}, false},
		{"a minute older", []metav1.ManagedFieldsEntry{at(60, ours(source))}, false},
		{"more than a minute older", []metav1.ManagedFieldsEntry{at(61, ours(source))}, true},
		{"much older", []metav1.ManagedFieldsEntry{at(86400, ours(source))}, true},
		{"without a time", []metav1.ManagedFieldsEntry{ours(source)}, false},
		{"two old ones", []metav1.ManagedFieldsEntry{at(61, ours(source)), at(3600, ours(source))}, true},
		{"an old one, then a new one", []metav1.ManagedFieldsEntry{at(61, ours(source)), at(0, ours(source))}, false},
		{"a new one, then an old one", []metav1.ManagedFieldsEntry{at(0, ours(source)), at(61, ours(source))}, false},
		{"an old one, and one without a time", []metav1.ManagedFieldsEntry{at(61, ours(source)), ours(source)}, false},
		{"an old one, and a new one of another label", []metav1.ManagedFieldsEntry{at(61, ours(source)), at(0, ours(team))}, true},
		{"a new one, and an old one of another label", []metav1.ManagedFieldsEntry{at(0, ours(source)), at(61, ours(team))}, false},
		{"an old one of another label", []metav1.ManagedFieldsEntry{at(61, ours(team))}, false},
		{"an old one, and a new one of another manager", []metav1.ManagedFieldsEntry{
			at(61, ours(source)), at(0, entry("kubectl", "Apply", "", source)),
		}, true},
		{"an old one, and a new write of the status", []metav1.ManagedFieldsEntry{
			at(61, ours(source)), at(0, entry("webservice-controller", "Update", "status", statusWritten)),
		}, true},
		{"an old one of another manager", []metav1.ManagedFieldsEntry{at(61, entry("kubectl", "Apply", "", source))}, false},
	} {
		got, err := OwnedFields(c.entries, longAgo.Time)
		if err != nil || got.Restored != c.want {
			t.Errorf("%s: restored %t, %v; want %t", c.name, got.Restored, err, c.want)
		}
	}
}

func TestHasLabel(t *testing.T) {
	t.Parallel()
	f := Fields{Labels: []string{"a", "c"}}
	if !f.HasLabel("a") || f.HasLabel("b") || !f.HasLabel("c") {
		t.Error("a and c are there, b isn't")
	}
}
