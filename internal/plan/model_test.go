package plan

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// behaviour is how the modelled API server answers writes.
type behaviour struct {
	refuses      StepKind // writes of this kind are refused
	mutatesSpec  bool     // a webhook replaces the image of what is applied
	mutatesChild bool     // a webhook replaces the tier of what is written
	dropsStatus  bool     // a CRD that declares only type and status of a condition

	keepsFinalizer  bool // a webhook puts our finalizer back
	keepsClientSide bool // what kubectl owns stays its own
	holdsDeleted    bool // another tool's finalizer is on what is deleted
}

// world is a small model of the API server, with the memory that the engine
// keeps. A step is carried out on copies, so that starting states can be shared.
type world struct {
	t      *testing.T
	in     Input
	server behaviour
	memory Memory
	rv     int
}

// decide asks as the engine does.
func (w *world) decide() Decision {
	in := w.in
	in.Outcomes = w.memory.Outcomes(&in)
	return Decide(&in)
}

// do carries out a step, or refuses it.
func (w *world) do(s *Step) {
	if w.server.refuses == s.Kind {
		w.memory.Refused(s.Kind, &Failure{Class: Refused, Phrase: "forbidden", Err: errTold})
		return
	}
	switch s.Kind {
	case StepCreateNamespace:
		w.in.Namespace = NamespaceActive
	case StepApply:
		w.apply(s)
	case StepCreateChild:
		w.createChild(s)
	case StepUpdateChild:
		w.updateChild(s)
	case StepDeleteChild:
		w.wantPreconditions(s, w.in.Child.UID, w.in.Child.ResourceVersion)
		w.in.Child = Child{}
	case StepWriteStatus:
		w.writeStatus(s)
	case StepDropFinalizer:
		w.dropFinalizer(s)
	case StepAdoptFields:
		w.adoptFields(s)
	case StepDelete:
		w.delete(s)
	default:
		w.t.Errorf("a step of unknown kind %d", s.Kind)
	}
	w.memory.Sent(s, &w.in)
}

var errTold = errors.New("a text that differs from time to time")

func (w *world) version() string {
	w.rv++
	return strconv.Itoa(w.rv)
}

func (w *world) wantPreconditions(s *Step, uid types.UID, rv string) {
	if s.UID != uid || s.ResourceVersion != rv {
		w.t.Errorf("to %s: preconditions %q, %q; want %q, %q", s.Kind, s.UID, s.ResourceVersion, uid, rv)
	}
}

// apply is a server-side apply with force.
func (w *world) apply(s *Step) {
	ws, fields := &v1.WebService{}, w.in.Live.Fields
	w.wantNotDeleted(s.Kind)
	if w.in.Live.Exists() {
		w.wantPreconditions(s, w.in.Live.UID, w.in.Live.ResourceVersion)
		*ws = *w.in.Live.WebService
	} else {
		w.wantPreconditions(s, "", "")
		w.wantNamespace(s.Kind)
		ws.Name, ws.Namespace, ws.UID = w.in.Key.Name, w.in.Key.Namespace, newUID
	}
	d := s.Desired
	applySpec(&ws.Spec, d, &fields)
	if w.server.mutatesSpec {
		ws.Spec.Image = mutatedImage
	}
	ws.Labels = applyMap(ws.Labels, d.Labels, fields.Labels)
	ws.Annotations = applyMap(ws.Annotations, d.Annotations, fields.Annotations)
	ws.Finalizers = applySet(ws.Finalizers, d.Finalizers, fields.Finalizers)
	w.store(ws, Fields{
		Image: true, Replicas: d.Replicas != nil, Tier: d.Tier != nil,
		Labels:      slices.Sorted(maps.Keys(d.Labels)),
		Annotations: slices.Sorted(maps.Keys(d.Annotations)),
		Finalizers:  slices.Sorted(slices.Values(d.Finalizers)),
		ClientSide:  fields.ClientSide, AnnotationsBy: fields.AnnotationsBy,
	})
}

// store keeps an applied object; an apply that changes nothing is a mistake.
func (w *world) store(ws *v1.WebService, fields Fields) {
	switch old := w.in.Live; {
	case !old.Exists():
		ws.Generation = 1
	case !reflect.DeepEqual(ws.Spec, old.Spec):
		ws.Generation++
	case reflect.DeepEqual(ws, old.WebService) && reflect.DeepEqual(fields, old.Fields):
		w.t.Error("an apply that changes nothing was sent")
	}
	ws.ResourceVersion = w.version()
	w.in.Live = Live{WebService: ws, Fields: fields}
}

// applySpec sets what the file states; what only we owned and it states no more
// returns to its default.
func applySpec(spec *v1.WebServiceSpec, d *Desired, owned *Fields) {
	spec.Image = d.Image
	if d.Replicas != nil {
		spec.Replicas = d.Replicas
	} else if spec.Replicas == nil || owned.Replicas && owned.ReplicasBy == "" {
		one := int32(1)
		spec.Replicas = &one
	}
	if d.Tier != nil {
		spec.Tier = *d.Tier
	} else if spec.Tier == "" || owned.Tier && owned.TierBy == "" {
		spec.Tier = "dev"
	}
}

func applyMap(live, want map[string]string, owned []string) map[string]string {
	out := maps.Clone(live)
	for _, k := range owned {
		delete(out, k)
	}
	if out == nil && len(want) > 0 {
		out = map[string]string{}
	}
	maps.Copy(out, want)
	return out
}

func applySet(live, want, owned []string) []string {
	var out []string
	for _, f := range live {
		if !slices.Contains(owned, f) && !slices.Contains(want, f) {
			out = append(out, f)
		}
	}
	return append(out, want...)
}

func (w *world) createChild(s *Step) {
	w.wantNotDeleted(s.Kind)
	w.wantPreconditions(s, "", "")
	w.wantNamespace(s.Kind)
	if w.in.Child.Exists() {
		w.t.Error("a ConfigMap was created where there is one")
	}
	w.wantOneController(s.Child.Owners)
	w.in.Child = Child{
		UID: "uid-new-child", ResourceVersion: w.version(), Managed: true,
		Labels: s.Child.Labels, Owners: s.Child.Owners, Data: w.admit(s.Child.Data),
	}
}

// updateChild is a merge patch: labels and data are merged, owners replaced.
func (w *world) updateChild(s *Step) {
	c := w.in.Child
	w.wantNotDeleted(s.Kind)
	w.wantPreconditions(s, c.UID, c.ResourceVersion)
	w.wantOneController(s.Child.Owners)
	data := applyMap(c.Data, w.admit(s.Child.Data), s.Child.DropData)
	if c.Immutable && !maps.Equal(data, c.Data) {
		w.t.Error("an immutable ConfigMap was given other data")
	}
	c.Data, c.Labels, c.Owners = data, applyMap(c.Labels, s.Child.Labels, nil), s.Child.Owners
	if reflect.DeepEqual(c, w.in.Child) {
		w.t.Error("an update that changes nothing was sent")
	}
	c.ResourceVersion, c.Managed = w.version(), true
	w.in.Child = c
}

// admit is what webhooks make of the data of a ConfigMap.
func (w *world) admit(data map[string]string) map[string]string {
	if w.server.mutatesChild {
		data = maps.Clone(data)
		data["tier"] = "mutated"
	}
	return data
}

func (w *world) writeStatus(s *Step) {
	ws := *w.in.Live.WebService
	w.wantNotDeleted(s.Kind)
	w.wantPreconditions(s, "", ws.ResourceVersion)
	ws.Status = v1.WebServiceStatus{
		Replicas: s.Status.Replicas, ObservedGeneration: s.Status.ObservedGeneration,
		Conditions: slices.Clone(s.Status.Conditions),
	}
	if w.server.dropsStatus {
		for i, c := range ws.Status.Conditions {
			ws.Status.Conditions[i] = metav1.Condition{Type: c.Type, Status: c.Status}
		}
	} else if reflect.DeepEqual(ws.Status, w.in.Live.Status) {
		w.t.Error("a status that changes nothing was sent")
	}
	ws.ResourceVersion = w.version()
	w.in.Live.WebService = &ws
}

// dropFinalizer is a merge patch of the list. The last finalizer takes the object
// with it.
func (w *world) dropFinalizer(s *Step) {
	ws := *w.in.Live.WebService
	w.wantPreconditions(s, "", ws.ResourceVersion)
	if s.Spared != w.in.Child.UID {
		w.t.Errorf("the ConfigMap %q is left behind unseen: %q", w.in.Child.UID, s.Spared)
	}
	if c := &w.in.Child; c.Exists() && ClaimOf(c, name, ws.UID) != ClaimForeign {
		w.t.Error("a ConfigMap of ours is left behind")
	}
	if !slices.Contains(ws.Finalizers, finalizer) {
		w.t.Error("a finalizer that isn't there was dropped")
	}
	if w.server.keepsFinalizer {
		return
	}
	for _, f := range ws.Finalizers {
		if slices.Contains(s.Finalizers, f) != (f != finalizer) {
			w.t.Errorf("of the finalizers %v these were left: %v", ws.Finalizers, s.Finalizers)
		}
	}
	if ws.Finalizers = s.Finalizers; len(ws.Finalizers) == 0 {
		w.in.Live = Live{}
		return
	}
	ws.ResourceVersion = w.version()
	w.in.Live.WebService = &ws
}

// adoptFields makes ours what kubectl's client-side apply owns.
func (w *world) adoptFields(s *Step) {
	ws, fields := *w.in.Live.WebService, w.in.Live.Fields
	w.wantNotDeleted(s.Kind)
	w.wantPreconditions(s, ws.UID, ws.ResourceVersion)
	if !fields.ClientSide {
		w.t.Error("there is nothing to adopt")
	}
	if ws.ResourceVersion = w.version(); !w.server.keepsClientSide {
		fields.Image, fields.ImageBy = true, ""
		fields.Replicas, fields.ReplicasBy = true, ""
		fields.Annotations, fields.AnnotationsBy = []string{lastApplied}, nil
		fields.ClientSide = false
	}
	w.in.Live = Live{WebService: &ws, Fields: fields}
}

// delete is the one thing that can't be undone, so all that must hold is looked
// at here once more, in words of its own.
func (w *world) delete(s *Step) {
	ws := *w.in.Live.WebService
	w.wantNotDeleted(s.Kind)
	w.wantPreconditions(s, ws.UID, ws.ResourceVersion)
	in := &w.in
	if !in.Known || in.Desired != nil || in.Broken || in.Removal.State != RemovalAllowed || !in.Policy.Prune.Enabled || !in.CRD.Ready {
		w.t.Errorf("deleted though known %t, named %t, removal %+v", in.Known, in.Desired != nil || in.Broken, in.Removal)
	}
	_, kept := ws.Annotations["webservice.labhub.io/prune"]
	if _, suspended := ws.Annotations["webservice.labhub.io/reconcile"]; kept || suspended {
		w.t.Error("deleted in spite of its annotations")
	}
	if ws.Labels[sourceLabel] != sourceName || in.Live.Fields.Restored || !slices.Contains(in.Live.Fields.Labels, sourceLabel) {
		w.t.Error("somebody else's object was deleted")
	}
	if w.server.holdsDeleted {
		ws.Finalizers = append(slices.Clone(ws.Finalizers), toolHold)
	}
	if len(ws.Finalizers) == 0 {
		in.Live = Live{}
		return
	}
	ws.ResourceVersion, ws.DeletionTimestamp = w.version(), &longAgo
	in.Live.WebService = &ws
}

// wantNotDeleted: to what is being deleted nothing may be written any more, and
// nothing made for it.
func (w *world) wantNotDeleted(k StepKind) {
	if w.in.Live.Terminating() {
		w.t.Errorf("to %s: the object is being deleted", k)
	}
}

func (w *world) wantNamespace(k StepKind) {
	if w.in.Namespace == NamespaceMissing || w.in.Namespace == NamespaceTerminating {
		w.t.Errorf("to %s: the namespace takes no new objects", k)
	}
}

func (w *world) wantOneController(owners []metav1.OwnerReference) {
	n := 0
	for _, o := range owners {
		if o.Controller != nil && *o.Controller {
			n++
		}
	}
	if n != 1 {
		w.t.Errorf("%d controller references: the server takes at most one, and ours is to be it", n)
	}
}

// later moves the clock, of which no verdict may depend.
func (w *world) later() { w.in.Now = w.in.Now.Add(time.Hour) }
