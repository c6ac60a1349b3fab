package plan

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Names and values of the starting states.
const (
	sourceName   = "main"
	name         = "checkout"
	liveUID      = types.UID("uid-live")
	newUID       = types.UID("uid-new")
	oldUID       = types.UID("uid-old")
	image        = "nginx:1.27"
	newImage     = "nginx:1.28"
	handImage    = "nginx:handmade"
	mutatedImage = "mutated:1"
	toolLabel    = "tool.example.org/keep"

	sourceLabel = "webservice.labhub.io/source"
	managedBy   = "app.kubernetes.io/managed-by"
	finalizer   = "webservice.labhub.io/cleanup"
	toolHold    = "tool.example.org/hold"

	kubectlApply = "kubectl-client-side-apply"
	lastApplied  = "kubectl.kubernetes.io/last-applied-configuration"
)

var (
	longAgo  = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	startNow = time.Date(2026, 6, 7, 8, 9, 10, 11, time.UTC)
	testKey  = Key{Namespace: "crd-lab", Name: name}
)

// What the files say.
const (
	unknown           = iota // the source wasn't read whole yet, and nothing names the object
	unknownEqual             // not read whole yet, but a file that equals the live spec was
	unknownImage             // the same with another image
	removed                  // no file
	broken                   // a document that can't be used
	brokenTwice              // two documents, one of them usable
	equal                    // equals the live spec
	otherImage               // another image
	replicasGone             // spec.replicas isn't stated any more
	labelDiffers             // states a label that the live object doesn't have
	annotationDiffers        // states another value of an annotation
	finalizerNamed           // states our finalizer
	suspendedByFile          // has the annotation that suspends
	desiredKinds
)

func desiredState(kind int) (d *Desired, known, isBroken bool) {
	known, isBroken = kind > unknownImage, kind == broken || kind == brokenTwice
	switch kind {
	case unknown, removed, broken:
		return nil, known, isBroken
	}
	d = &Desired{Image: image, Replicas: new(int32(3)), Labels: map[string]string{sourceLabel: sourceName}, Digest: "equal"}
	switch kind {
	case unknownImage, brokenTwice, otherImage:
		d.Image, d.Digest = newImage, "image"
	case replicasGone:
		d.Replicas, d.Digest = nil, "replicas"
	case labelDiffers:
		d.Labels["team"], d.Digest = "a", "label"
	case annotationDiffers:
		d.Annotations, d.Digest = map[string]string{"note": "new"}, "annotation"
	case finalizerNamed:
		d.Finalizers, d.Digest = []string{finalizer}, "finalizer"
	case suspendedByFile:
		d.Suspended, d.Digest = true, "suspended"
	}
	return d, known, isBroken
}

// What the cluster holds under the object's name.
const (
	absent        = iota
	inSync        // as our own apply of the file "equal" left it
	edited        // somebody has taken the image and changed it
	taken         // somebody has taken the image with the same value
	unlabelled    // made by hand
	labelOnly     // made by hand, our source label included
	otherSources  // has the label of another source
	terminating   // deleted, waits for another tool's finalizer
	suspendedLive // has the annotation that suspends
	finalized     // in sync with the file "finalizerNamed"
	clientSide    // in sync, and kubectl's client-side apply left an annotation of its own
	handApplied   // made by hand, with kubectl's client-side apply
	pruneDisabled // in sync, with the annotation that keeps it
	restored      // in sync, but all our own applies are of an earlier object

	cleaning           // deleted, waits for our finalizer
	cleaningShared     // the same, with another tool's finalizer on both sides of ours
	cleaningSuspended  // the same as cleaning, with the annotation that suspends
	cleaningUnlabelled // the same, made by hand
	cleaningOthers     // the same, of another source
	liveKinds
)

const generation = 4

func liveState(kind int) Live {
	if kind == absent {
		return Live{}
	}
	ws := &v1.WebService{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "crd-lab", UID: liveUID, Generation: generation, ResourceVersion: "live-1",
		Labels:      map[string]string{sourceLabel: sourceName, toolLabel: "yes"},
		Annotations: map[string]string{"note": "old"},
	}}
	ws.Spec = v1.WebServiceSpec{Image: image, Replicas: new(int32(3)), Tier: "dev"}
	ours := Fields{Image: true, Replicas: true, Labels: []string{sourceLabel}}
	byHand := Fields{ImageBy: "kubectl-create", ReplicasBy: "kubectl-create"}
	switch kind {
	case edited:
		ws.Spec.Image = handImage
		ours.Image, ours.ImageBy = false, "kubectl-edit"
	case taken:
		ours.Image, ours.ImageBy = false, "kubectl-edit"
	case unlabelled:
		delete(ws.Labels, sourceLabel)
		return Live{ws, byHand}
	case labelOnly:
		return Live{ws, byHand}
	case otherSources:
		ws.Labels[sourceLabel] = "other"
	case terminating:
		ws.DeletionTimestamp, ws.Finalizers = &longAgo, []string{toolHold}
	case suspendedLive:
		ws.Annotations["webservice.labhub.io/reconcile"] = "disabled"
	case restored:
		ours.Restored = true
	case pruneDisabled:
		ws.Annotations["webservice.labhub.io/prune"] = "disabled"
	case finalized:
		ws.Finalizers, ours.Finalizers = []string{finalizer}, []string{finalizer}
	case clientSide:
		ws.Annotations[lastApplied] = "{}"
		ours.ClientSide, ours.AnnotationsBy = true, map[string]string{lastApplied: kubectlApply}
	case handApplied:
		delete(ws.Labels, sourceLabel)
		ws.Annotations[lastApplied] = "{}"
		return Live{ws, Fields{
			ImageBy: kubectlApply, ReplicasBy: kubectlApply, ClientSide: true,
			AnnotationsBy: map[string]string{lastApplied: kubectlApply},
		}}
	case cleaning, cleaningShared, cleaningSuspended, cleaningUnlabelled, cleaningOthers:
		return cleaningState(kind)
	}
	return Live{ws, ours}
}

// cleaningState is what cleaning is said to be the same as, deleted.
func cleaningState(kind int) Live {
	same := map[int]int{
		cleaning: inSync, cleaningShared: inSync, cleaningSuspended: suspendedLive,
		cleaningUnlabelled: unlabelled, cleaningOthers: otherSources,
	}
	l := liveState(same[kind])
	l.DeletionTimestamp, l.Finalizers = &longAgo, []string{finalizer}
	if kind == cleaningShared {
		l.Finalizers = []string{toolHold, finalizer, toolHold + "2"}
	}
	return l
}

// What the live status says.
const (
	noStatus       = iota
	currentStatus  // Ready for this generation
	staleStatus    // Ready for an earlier generation
	conflictStatus // says that the name is taken
	foreignStatus  // current, beside a condition of another tool
	timelessStatus // current, without lastTransitionTime
	statusKinds
)

func statusState(kind int) v1.WebServiceStatus {
	ready := metav1.Condition{
		Type: "Ready", Status: "True", Reason: "Reconciled", Message: "The ConfigMap says what the spec says",
		ObservedGeneration: generation, LastTransitionTime: longAgo,
	}
	s := v1.WebServiceStatus{Replicas: 3, ObservedGeneration: generation}
	switch kind {
	case noStatus:
		return v1.WebServiceStatus{}
	case staleStatus:
		ready.ObservedGeneration, s.ObservedGeneration, s.Replicas = generation-1, generation-1, 2
	case conflictStatus:
		ready.Status, ready.Reason = "False", "NameConflict"
		ready.Message = "A ConfigMap of the name checkout-desired belongs to someone else"
	case foreignStatus:
		s.Conditions = append(s.Conditions, foreignCondition())
	case timelessStatus:
		ready.LastTransitionTime = metav1.Time{}
	}
	s.Conditions = append(s.Conditions, ready)
	return s
}

func foreignCondition() metav1.Condition {
	return metav1.Condition{Type: "Audited", Status: "True", Reason: "Fine", LastTransitionTime: longAgo}
}

// What the cluster holds under the ConfigMap's name.
const (
	noChild           = iota
	childInSync       // as we made it
	childDrifted      // with another image
	childExtraKey     // with one more key
	childNoLabel      // our label taken away
	childByScript     // an owner, but not a controller
	childStale        // controlled by an earlier object of the name
	childStaleShared  // the same, with an owner of another kind beside
	childUnowned      // owner taken away; our label and field manager
	childImmutable    // as we made it, then made immutable
	childFrozen       // immutable with another image
	childTerminating  // deleted, waits for a finalizer
	foreignUnowned    // without owner and label
	foreignControlled // controlled by something else, in spite of our label
	foreignLabelled   // our label, but neither owner nor field manager
	childKinds
)

// childState is the child of an object with that image.
func childState(kind int, liveImage string) Child {
	c := Child{
		UID: "uid-child", ResourceVersion: "child-1", Managed: true,
		Labels: map[string]string{managedBy: "webservice-controller", toolLabel: "yes"},
		Owners: []metav1.OwnerReference{ownedBy(liveUID)},
		Data:   map[string]string{"image": liveImage, "replicas": "3", "tier": "dev"},
	}
	switch kind {
	case noChild:
		return Child{}
	case childDrifted:
		c.Data["image"] = "drifted"
	case childExtraKey:
		c.Data["extra"] = "x"
	case childNoLabel:
		delete(c.Labels, managedBy)
	case childByScript:
		c.Owners[0].Controller, c.Managed = nil, false
	case childStale:
		c.Owners[0].UID = oldUID
	case childStaleShared:
		c.Owners[0].UID = oldUID
		c.Owners = append(c.Owners, foreignOwner(false))
	case childUnowned:
		c.Owners = nil
	case childImmutable:
		c.Immutable = true
	case childFrozen:
		c.Immutable, c.Data["image"] = true, "drifted"
	case childTerminating:
		c.Terminating = true
	default:
		return foreignChild(kind, c)
	}
	return c
}

func foreignChild(kind int, c Child) Child {
	switch kind {
	case foreignUnowned:
		c.Owners, c.Managed, c.Data = nil, false, map[string]string{"theirs": "x"}
		delete(c.Labels, managedBy)
	case foreignControlled:
		c.Owners = append(c.Owners, foreignOwner(true))
		c.Owners[0].Controller = nil
	case foreignLabelled:
		c.Owners, c.Managed = nil, false
	}
	return c
}

func ownedBy(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps.labhub.io/v1", Kind: "WebService", Name: name, UID: uid, Controller: new(true)}
}

func foreignOwner(controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "uid-other", Controller: &controls}
}

// What is known of the namespace, with the setting that matters there.
const (
	nsUnknown = iota
	nsActive
	nsMissing       // and namespaces.create is off
	nsMissingCreate // and namespaces.create is on
	nsTerminating
	nsKinds
)

func namespaceState(kind int) (state NamespaceState, create bool) {
	switch kind {
	case nsUnknown:
		return NamespaceUnknown, true
	case nsActive:
		return NamespaceActive, true
	case nsMissing:
		return NamespaceMissing, false
	case nsMissingCreate:
		return NamespaceMissing, true
	}
	return NamespaceTerminating, true
}

// What else a decision is made from. But for plain and allowedButOff, pruning is on.
const (
	plain             = iota
	unjudged          // the guard hasn't judged the object yet
	keptByGuard       // its removal, and so on
	due               //
	held              //
	allowed           //
	allowedButOff     // the same, though pruning is off
	heldUnready       // held, and something that it depends on isn't ready
	creationHeld      // nothing new may be created
	dependencyReady   // what it depends on is ready
	dependencyUnready // or not
	specContested     // somebody else keeps changing the image
	childContested    // or the ConfigMap
	unread            // no look at the source has ended yet
	overdue           // what is deleted has been so for long
	extraKinds
)

// extra puts kind into the input.
func extra(in *Input, kind int) {
	in.Policy.Prune.Enabled = kind != plain && kind != allowedButOff
	removals := map[int]Removal{
		keptByGuard:   {State: RemovalKept, Reason: "kept"},
		due:           {State: RemovalDue, Reason: "due", After: time.Minute},
		held:          {State: RemovalHeld, Reason: "held", After: time.Hour},
		heldUnready:   {State: RemovalHeld, Reason: "held", After: time.Hour},
		allowed:       {State: RemovalAllowed, Reason: "its file is gone"},
		allowedButOff: {State: RemovalAllowed, Reason: "its file is gone"},
	}
	in.Removal = removals[kind]
	in.CreationHeld, in.Unread, in.Overdue = kind == creationHeld, kind == unread, kind == overdue
	switch db := (Dependency{Key: Key{Namespace: "crd-lab", Name: "db"}}); kind {
	case dependencyReady:
		db.Ready = true
		in.Dependencies = []Dependency{db}
	case dependencyUnready, heldUnready:
		db.Reason = "it doesn't exist yet"
		in.Dependencies = []Dependency{db}
	case specContested:
		in.Contested = []string{"spec.image"}
	case childContested:
		in.Contested = []string{"configmap", "data.image", "data.replicas"}
	}
}

// matters says what else is walked with each file.
func matters(desired, kind int) bool {
	switch desired {
	case unknown:
		return in(kind, []int{plain, allowed, unread, overdue})
	case unknownEqual, brokenTwice:
		return kind == plain || kind == allowed
	case removed:
		return kind <= heldUnready || kind == childContested || kind == overdue
	case broken:
		return in(kind, []int{plain, allowed, dependencyUnready, childContested, overdue})
	case equal:
		return kind == plain || kind >= creationHeld && kind != unread || kind == allowed
	case unknownImage, otherImage, replicasGone, finalizerNamed:
		return kind == plain || kind >= creationHeld && kind < unread
	}
	return kind == plain
}

// convergedInput is an object that needs nothing.
func convergedInput() *Input {
	in := &Input{
		Key:    testKey,
		Policy: &Policy{SourceName: sourceName, Unlabelled: true, CreateNamespaces: true},
		Live:   liveState(inSync), Child: childState(childInSync, image),
		Namespace: NamespaceActive, CRD: CRD{Ready: true}, Now: startNow,
	}
	in.Desired, in.Known, in.Broken = desiredState(equal)
	in.Live.Status = statusState(currentStatus)
	return in
}

// with is m and one more member.
func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}
