package plan

import (
	"bytes"
	"encoding/json"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// StatusOwners names the managers of the fields of status that we write. Several
// managers of one field are separated by ", "; "" is nobody.
type StatusOwners struct {
	Replicas, ObservedGeneration, Ready string
}

// ChildOwners names the managers of the fields that our ConfigMap has, as
// StatusOwners does.
type ChildOwners struct {
	Image, Replicas, Tier, Label, Controller string
}

// Owners is a record of owners that objects share: next to all of them are managed
// in the same way, so that the record of one costs a pointer. Nothing is decided by
// it; people are told of it. The zero value is a record of nobody.
type Owners[T comparable] struct{ handle unique.Handle[T] }

// OwnersOf shares the record.
func OwnersOf[T comparable](record T) Owners[T] { return Owners[T]{unique.Make(record)} }

// Record is what is shared.
func (o Owners[T]) Record() T {
	var nobody T
	if o == (Owners[T]{}) {
		return nobody
	}
	return o.handle.Value()
}

// What our own writes of a status and of a ConfigMap come to in managedFields, and the
// most of all that comes along. There, nothing has to be parsed.
const (
	ownStatusFields = `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},` +
		`"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}`
	// The uid of the owner follows.
	ownChildFields = `{"f:data":{".":{},"f:image":{},"f:replicas":{},"f:tier":{}},"f:metadata":{"f:labels":{".":{},` +
		`"f:app.kubernetes.io/managed-by":{}},"f:ownerReferences":{".":{},"k:{\"uid\":`
)

// add adds what an entry of the status subresource owns.
func (o *StatusOwners) add(raw []byte, manager string) {
	if string(raw) == ownStatusFields {
		addOwner(&o.Replicas, true, manager)
		addOwner(&o.ObservedGeneration, true, manager)
		addOwner(&o.Ready, true, manager)
		return
	}
	var set struct {
		Status struct {
			Replicas           *struct{}                  `json:"f:replicas"`
			ObservedGeneration *struct{}                  `json:"f:observedGeneration"`
			Conditions         map[string]json.RawMessage `json:"f:conditions"`
		} `json:"f:status"`
	}
	if json.Unmarshal(raw, &set) != nil {
		return // who owns it is unknown, as if nobody did
	}
	s := &set.Status
	addOwner(&o.Replicas, s.Replicas != nil, manager)
	addOwner(&o.ObservedGeneration, s.ObservedGeneration != nil, manager)
	_, ready := s.Conditions[`k:{"type":"Ready"}`]
	// A CRD made by hand may have conditions as a list without keys: whoever owns that
	// owns them all.
	addOwner(&o.Ready, ready || s.Conditions != nil && len(s.Conditions) == 0, manager)
}

// OwnersOfChild reads the entries of the managedFields of a ConfigMap. An entry that
// can't be read owns nothing.
func OwnersOfChild(entries []metav1.ManagedFieldsEntry) Owners[ChildOwners] {
	var o ChildOwners
	for i := range entries {
		if e := &entries[i]; e.FieldsV1 != nil {
			o.add(e.FieldsV1.GetRawBytes(), e.Manager)
		}
	}
	return OwnersOf(o)
}

func (o *ChildOwners) add(raw []byte, manager string) {
	if bytes.HasPrefix(raw, []byte(ownChildFields)) {
		for _, field := range []*string{&o.Image, &o.Replicas, &o.Tier, &o.Label, &o.Controller} {
			addOwner(field, true, manager)
		}
		return
	}
	var set struct {
		Data     map[string]json.RawMessage `json:"f:data"`
		Metadata struct {
			Labels map[string]json.RawMessage `json:"f:labels"`
			Owners json.RawMessage            `json:"f:ownerReferences"`
		} `json:"f:metadata"`
	}
	if json.Unmarshal(raw, &set) != nil {
		return
	}
	addOwner(&o.Image, has(set.Data, dataImage), manager)
	addOwner(&o.Replicas, has(set.Data, dataReplicas), manager)
	addOwner(&o.Tier, has(set.Data, dataTier), manager)
	addOwner(&o.Label, has(set.Metadata.Labels, v1.ManagedByLabel), manager)
	addOwner(&o.Controller, set.Metadata.Owners != nil, manager)
}

func has(members map[string]json.RawMessage, name string) bool {
	_, ok := members["f:"+name]
	return ok
}

// addOwner adds a manager once: there is an entry for each way in which it writes.
func addOwner(to *string, owns bool, manager string) {
	switch {
	case !owns:
	case *to == "":
		*to = manager
	case !strings.Contains(", "+*to+", ", ", "+manager+", "):
		*to += ", " + manager
	}
}
