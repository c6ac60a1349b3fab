package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// simulated begins the versions and uids that no server has given.
const simulated = "simulated-"

// clientSideManager is the name by which kubectl's client-side apply owns fields.
const clientSideManager = "kubectl-client-side-apply"

// IsSimulated says whether a resourceVersion or a uid was made up by Simulate.
func IsSimulated(id string) bool { return strings.HasPrefix(id, simulated) }

// SimulatedID makes a version, or a uid, of an object that was written by nobody
// yet. Each serial makes another.
func SimulatedID(serial string) string { return simulated + serial }

// Simulate says what in would become if the API server carried out step, as one
// does that refuses nothing, has no webhooks, and fills in the defaults of the CRD
// that this version brings. It writes to nothing that in holds.
//
// serial is for the version of what is written, and for the uid of what is made;
// it must be another one each time. The server's collector is part of the picture:
// a ConfigMap that has lost its last owner is gone at once.
func Simulate(in *Input, step *Step, serial string) Input {
	after := *in
	id := SimulatedID(serial)
	switch step.Kind {
	case StepCreateNamespace:
		after.Namespace = NamespaceActive
	case StepApply:
		after.Live = afterApply(in, step.Desired, id)
	case StepAdoptFields:
		after.Live = afterAdopt(&in.Live, id)
	case StepWriteStatus:
		after.Live = afterStatus(&in.Live, step.Status, id)
	case StepCreateChild:
		after.Child = Child{
			UID: types.UID(id), ResourceVersion: id, Managed: true,
			Labels: step.Child.Labels, Owners: step.Child.Owners, Data: step.Child.Data,
		}
	case StepUpdateChild:
		after.Child = afterPatch(&in.Child, step.Child, id)
	case StepDeleteChild:
		after.Child = Child{}
	case StepDropFinalizer:
		after.Live = afterFinalizers(&in.Live, step.Finalizers, id)
	case StepDelete:
		after.Live = afterDelete(&in.Live, metav1.NewTime(in.Now), id)
	}
	if in.Live.Exists() && !after.Live.Exists() {
		after.Child = afterCollection(&in.Child, in.Live.UID)
	}
	return after
}

// afterApply is the object after a server-side apply with force.
func afterApply(in *Input, d *Desired, id string) Live {
	ws := &v1.WebService{}
	if in.Live.Exists() {
		*ws = *in.Live.WebService
	} else {
		ws.Namespace, ws.Name, ws.UID, ws.Generation = in.Key.Namespace, in.Key.Name, types.UID(id), 1
		ws.CreationTimestamp = metav1.NewTime(in.Now)
	}
	f := &in.Live.Fields
	ws.Spec = appliedSpec(ws.Spec, d, f)
	ws.Labels = appliedMap(ws.Labels, d.Labels, f.Labels, f.LabelsBy)
	ws.Annotations = appliedMap(ws.Annotations, d.Annotations, f.Annotations, f.AnnotationsBy)
	ws.Finalizers = appliedSet(ws.Finalizers, d.Finalizers, f.Finalizers)
	if in.Live.Exists() && !reflect.DeepEqual(ws.Spec, in.Live.Spec) {
		ws.Generation++
	}
	ws.ResourceVersion = id
	return Live{WebService: ws, Fields: appliedFields(&in.Live, d)}
}

// appliedSpec sets what the file states. What it states no more, and nobody else
// owns, returns to its default.
func appliedSpec(spec v1.WebServiceSpec, d *Desired, owned *Fields) v1.WebServiceSpec {
	spec.Image = d.Image
	switch {
	case d.Replicas != nil:
		spec.Replicas = d.Replicas
	case spec.Replicas == nil || owned.Replicas && owned.ReplicasBy == "":
		spec.Replicas = new(int32(defaultReplicas))
	}
	switch {
	case d.Tier != nil:
		spec.Tier = *d.Tier
	case spec.Tier == "" || owned.Tier && owned.TierBy == "":
		spec.Tier = defaultTier
	}
	return spec
}

// appliedMap is a map of labels or annotations after an apply of want. owned is
// what our last one stated; what others own as well stays.
func appliedMap(live, want map[string]string, owned []string, others map[string]string) map[string]string {
	out := maps.Clone(live)
	for _, key := range owned {
		if others[key] == "" {
			delete(out, key)
		}
	}
	if out == nil && len(want) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, want)
	return out
}

func appliedSet(live, want, owned []string) []string {
	var out []string
	for _, member := range live {
		if slices.Contains(want, member) || !slices.Contains(owned, member) {
			out = append(out, member)
		}
	}
	for _, member := range want {
		if !slices.Contains(out, member) {
			out = append(out, member)
		}
	}
	return out
}

// appliedFields is who owns what after an apply of d: we do all that it states,
// and others only what they had already with the same value.
func appliedFields(l *Live, d *Desired) Fields {
	var spec v1.WebServiceSpec
	var labels, annotations map[string]string
	if l.Exists() {
		spec, labels, annotations = l.Spec, l.Labels, l.Annotations
	}
	f := l.Fields
	f.Image, f.Replicas, f.Tier = true, d.Replicas != nil, d.Tier != nil
	f.Labels = slices.Sorted(maps.Keys(d.Labels))
	f.Annotations = slices.Sorted(maps.Keys(d.Annotations))
	f.Finalizers = slices.Sorted(slices.Values(d.Finalizers))
	if d.Image != spec.Image {
		f.ImageBy = ""
	}
	if d.Replicas != nil && (spec.Replicas == nil || *d.Replicas != *spec.Replicas) {
		f.ReplicasBy = ""
	}
	if d.Tier != nil && *d.Tier != spec.Tier {
		f.TierBy = ""
	}
	f.LabelsBy = stillOwned(f.LabelsBy, labels, d.Labels)
	f.AnnotationsBy = stillOwned(f.AnnotationsBy, annotations, d.Annotations)
	return f
}

func stillOwned(by, live, want map[string]string) map[string]string {
	by = maps.Clone(by)
	maps.DeleteFunc(by, func(key, _ string) bool {
		value, stated := want[key]
		return stated && value != live[key]
	})
	if len(by) == 0 {
		return nil
	}
	return by
}

// afterAdopt is the object after kubectl's client-side apply has handed its fields to us.
func afterAdopt(l *Live, id string) Live {
	ws, f := *l.WebService, l.Fields
	ws.ResourceVersion = id
	f.Image, f.ImageBy = handedOver(f.Image, f.ImageBy)
	f.Replicas, f.ReplicasBy = handedOver(f.Replicas, f.ReplicasBy)
	f.Tier, f.TierBy = handedOver(f.Tier, f.TierBy)
	f.Labels, f.LabelsBy = allHandedOver(f.Labels, f.LabelsBy)
	f.Annotations, f.AnnotationsBy = allHandedOver(f.Annotations, f.AnnotationsBy)
	f.ClientSide = false
	return Live{WebService: &ws, Fields: f}
}

func handedOver(ours bool, by string) (bool, string) {
	if by == clientSideManager {
		return true, ""
	}
	return ours, by
}

func allHandedOver(owned []string, by map[string]string) ([]string, map[string]string) {
	owned = slices.Clone(owned)
	var left map[string]string
	for key, manager := range by {
		if manager == clientSideManager {
			owned = append(owned, key)
			continue
		}
		if left == nil {
			left = map[string]string{}
		}
		left[key] = manager
	}
	slices.Sort(owned)
	return slices.Compact(owned), left
}

func afterStatus(l *Live, s *Status, id string) Live {
	ws := *l.WebService
	ws.ResourceVersion = id
	ws.Status = v1.WebServiceStatus{
		Replicas: s.Replicas, ObservedGeneration: s.ObservedGeneration, Conditions: slices.Clone(s.Conditions),
	}
	return Live{WebService: &ws, Fields: l.Fields}
}

// afterFinalizers is the object with these finalizers alone; the last one takes an
// object that is being deleted with it.
func afterFinalizers(l *Live, finalizers []string, id string) Live {
	if len(finalizers) == 0 && l.Terminating() {
		return Live{}
	}
	ws := *l.WebService
	ws.ResourceVersion, ws.Finalizers = id, finalizers
	return Live{WebService: &ws, Fields: l.Fields}
}

// afterDelete is the object after somebody has deleted it: there are finalizers to
// wait for, or it is gone.
func afterDelete(l *Live, now metav1.Time, id string) Live {
	if len(l.Finalizers) == 0 {
		return Live{}
	}
	ws := *l.WebService
	ws.ResourceVersion, ws.DeletionTimestamp = id, &now
	ws.Generation++
	return Live{WebService: &ws, Fields: l.Fields}
}

// afterPatch is the ConfigMap after a merge patch: labels and data are merged, owners
// replaced.
func afterPatch(c *Child, content *ChildContent, id string) Child {
	out := *c
	out.ResourceVersion, out.Managed = id, true
	out.Labels = appliedMap(c.Labels, content.Labels, nil, nil)
	out.Data = appliedMap(c.Data, content.Data, content.DropData, nil)
	out.Owners = content.Owners
	return out
}

// afterCollection is what the collector leaves of the ConfigMap once the object with that
// uid is gone.
func afterCollection(c *Child, uid types.UID) Child {
	owned := slices.ContainsFunc(c.Owners, func(o metav1.OwnerReference) bool { return o.UID == uid })
	shared := slices.ContainsFunc(c.Owners, func(o metav1.OwnerReference) bool { return o.UID != uid })
	if owned && !shared {
		return Child{}
	}
	return *c
}
