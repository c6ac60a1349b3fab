package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Fields says who owns which of the fields that a file can state. It is worked
// out once for each version of an object, so that comparing costs nothing.
type Fields struct {
	// Image, Replicas and Tier: our own apply owns the field of spec.
	Image, Replicas, Tier bool
	// Labels, Annotations and Finalizers are those that our own apply owns, sorted.
	Labels, Annotations, Finalizers []string
	// ImageBy, ReplicasBy and TierBy name another manager that owns the field;
	// "" where there is none.
	ImageBy, ReplicasBy, TierBy string
	// LabelsBy, AnnotationsBy and FinalizersBy name another manager by the key that it
	// owns; nil where there is none.
	LabelsBy, AnnotationsBy, FinalizersBy map[string]string
	// ClientSide: kubectl's client-side apply owns fields of its own, which a file
	// that doesn't state them any more couldn't release.
	ClientSide bool
	// Restored: no apply of ours that owns the source label can be one of this very
	// object, since the object is younger. Somebody has copied the managed fields of
	// another, as backups do.
	Restored bool
	// Status says who owns the fields of status.
	Status Owners[StatusOwners]
}

// stampedBefore is how much older than its object an apply may be that made it. The
// server notes the time of the apply first and that of the creation last, and
// webhooks may keep it waiting in between.
const stampedBefore = time.Minute

// HasLabel says whether our own apply owns the label key.
func (f *Fields) HasLabel(key string) bool {
	_, ok := slices.BinarySearch(f.Labels, key)
	return ok
}

// OwnedFields reads the entries of the managedFields of an object that was created
// then. An entry that can't be read is an error: guessing at ownership would
// release or take fields that it shouldn't.
func OwnedFields(entries []metav1.ManagedFieldsEntry, created time.Time) (Fields, error) {
	var f Fields
	var status StatusOwners
	genuine := false
	for i := range entries {
		e := &entries[i]
		if e.FieldsV1 == nil {
			continue
		}
		if e.Subresource == "status" {
			status.add(e.FieldsV1.GetRawBytes(), e.Manager)
			continue
		}
		var set fieldSet
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &set); err != nil {
			return Fields{}, fmt.Errorf("managedFields of %s: %w", e.Manager, err)
		}
		// Scaling writes spec by way of a subresource, and so may others.
		if e.Manager == v1.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			f.take(&set)
			genuine = genuine || set.hasLabel(v1.SourceLabel) && !predates(e, created)
		} else {
			f.note(&set, e.Manager)
			f.ClientSide = f.ClientSide || isClientSide(e) && set.stated()
		}
	}
	f.Restored = !genuine && f.HasLabel(v1.SourceLabel)
	if status != (StatusOwners{}) {
		f.Status = OwnersOf(status)
	}
	return f, nil
}

// predates is true for an entry that can't be of the object that was created then.
// One without a time may be.
func predates(e *metav1.ManagedFieldsEntry, created time.Time) bool {
	return e.Time != nil && e.Time.Time.Before(created.Add(-stampedBefore))
}

// isClientSide is true for what kubectl apply writes without --server-side.
func isClientSide(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == "kubectl-client-side-apply" && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
}

// fieldSet is the part of a FieldsV1 that a file can state.
type fieldSet struct {
	Spec struct {
		Image    *struct{} `json:"f:image"`
		Replicas *struct{} `json:"f:replicas"`
		Tier     *struct{} `json:"f:tier"`
	} `json:"f:spec"`
	Metadata struct {
		Labels      map[string]json.RawMessage `json:"f:labels"`
		Annotations map[string]json.RawMessage `json:"f:annotations"`
		Finalizers  map[string]json.RawMessage `json:"f:finalizers"`
	} `json:"f:metadata"`
}

// stated says whether s has any field that a file states by itself.
func (s *fieldSet) stated() bool {
	return s.Spec.Image != nil || s.Spec.Replicas != nil || s.Spec.Tier != nil ||
		len(s.Metadata.Labels) > 0 || len(s.Metadata.Annotations) > 0
}

func (s *fieldSet) hasLabel(key string) bool {
	_, ok := s.Metadata.Labels["f:"+key]
	return ok
}

// take adds an entry of ours: there is one for each API version that we applied with.
func (f *Fields) take(s *fieldSet) {
	f.Image = f.Image || s.Spec.Image != nil
	f.Replicas = f.Replicas || s.Spec.Replicas != nil
	f.Tier = f.Tier || s.Spec.Tier != nil
	f.Labels = names(f.Labels, s.Metadata.Labels)
	f.Annotations = names(f.Annotations, s.Metadata.Annotations)
	f.Finalizers = names(f.Finalizers, s.Metadata.Finalizers)
}

func (f *Fields) note(s *fieldSet, manager string) {
	manager = unique.Make(manager).Value() // few managers own the fields of many objects
	if s.Spec.Image != nil {
		f.ImageBy = manager
	}
	if s.Spec.Replicas != nil {
		f.ReplicasBy = manager
	}
	if s.Spec.Tier != nil {
		f.TierBy = manager
	}
	f.LabelsBy = noteNames(f.LabelsBy, s.Metadata.Labels, manager)
	f.AnnotationsBy = noteNames(f.AnnotationsBy, s.Metadata.Annotations, manager)
	f.FinalizersBy = noteNames(f.FinalizersBy, s.Metadata.Finalizers, manager)
}

func noteNames(by map[string]string, members map[string]json.RawMessage, manager string) map[string]string {
	for _, name := range names(nil, members) {
		if by == nil {
			by = map[string]string{}
		}
		by[name] = manager
	}
	return by
}

// names adds the members of a map ("f:name") or of a set (`v:"name"`) to out,
// sorted. The member "." stands for the collection itself.
func names(out []string, members map[string]json.RawMessage) []string {
	for m := range members {
		if name, ok := strings.CutPrefix(m, "f:"); ok {
			out = append(out, name)
		} else if quoted, ok := strings.CutPrefix(m, "v:"); ok {
			var name string
			if json.Unmarshal([]byte(quoted), &name) == nil {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
