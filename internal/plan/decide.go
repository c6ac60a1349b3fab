package plan

import (
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// recheck is how long a requeue waits for something that isn't ready yet. An
// event on the object, its namespace or its file ends the wait at once, so this
// is only for what no event tells.
const recheck = 5 * time.Second

// Decide answers what to do next. The first thing that applies counts.
//
// A step is taken before any status is written. A verdict says something about
// the live object, so where its status doesn't say that yet, writing the status
// is the step, and the verdict follows when it is written.
func Decide(in *Input) Decision {
	v := judge(in)
	d := v.Decision
	if v.Verdict() && v.ready != (readiness{}) && in.Live.Exists() {
		d = statusFirst(in, v)
	}
	// A hold is told of whatever else is the matter: it never looks converged.
	d.Held = in.removal().State == RemovalHeld
	return d
}

// verdict is a decision with what it means for the condition Ready. The zero
// readiness: no status is to be written. Without an action it is no decision.
type verdict struct {
	Decision
	ready readiness
}

func judge(in *Input) verdict {
	belongs := in.Live.BelongsTo(in.Policy.SourceName)
	switch {
	case belongs == Anothers && !in.forsaken():
		return anothers(in)
	case in.Live.Terminating():
		return judgeDeleted(in, belongs)
	case in.Live.Suspended() || in.Desired != nil && in.Desired.Suspended:
		return suspended(in)
	case in.file() == nil && !in.Live.Exists():
		return nothing("there is no object, and no usable file asks for one")
	case in.file() == nil && belongs == Nobodys && !in.Policy.Unlabelled:
		return nothing(noSource)
	case in.Unread:
		return wait(WebService, "the source hasn't been read yet, and a file may ask for the object to be left alone", readiness{})
	case !in.CRD.Ready:
		return wait(WebService, in.CRD.Reason, readiness{})
	}
	// A CRD that is being deleted takes all objects with it: nothing is pruned
	// beside that, thus the CRD comes first.
	if r := in.removal(); r.State == RemovalAllowed {
		return remove(in, r, belongs)
	}
	return judgePlaced(in, belongs)
}

const noSource = "the object comes from no source, and reconcile.unlabelled is off"

// judgePlaced sees to the object's place before the object.
func judgePlaced(in *Input, belongs Belongs) verdict {
	switch {
	case !in.Known && !in.Live.Exists():
		return wait(WebService, "the source hasn't been read whole yet, and until then nothing is created", readiness{})
	case in.Namespace == NamespaceMissing:
		return namespaceMissing(in)
	case in.Namespace == NamespaceTerminating:
		return wait(Namespace, "the namespace is being deleted", waiting("The namespace is being deleted"))
	case !in.Live.Exists():
		return create(in)
	}
	return judgeLive(in, belongs)
}

// judgeLive compares a live object that is ours to reconcile with its file, and
// its child with it. A spec that the server doesn't take is no reason to neglect
// the child of the one that it has.
func judgeLive(in *Input, belongs Belongs) verdict {
	var spec verdict
	if heldFromTaking(in, belongs) {
		return notTaken(in, belongs)
	}
	if d := in.file(); d != nil {
		if spec = judgeSpec(in, d); spec.Action != "" && !spec.Verdict() {
			return spec
		}
	}
	child := judgeDependencies(in)
	switch removal := in.removal(); {
	case child.Action == "":
		child = judgeChild(in, belongs)
	case removal.State == RemovalHeld:
		// That it waits for others as well is no reason that helps anybody.
		child.Reason = removal.Reason
	}
	if spec.Action != "" && child.Verdict() {
		return spec
	}
	return child
}

// statusFirst makes v wait for the status that it implies. Where that can't be
// written, v is an error, and what was one before is said too.
func statusFirst(in *Input, v verdict) Decision {
	changes := statusDrift(&in.Live, v.ready)
	if changes == nil {
		return v.Decision
	}
	step := Step{
		Kind:            StepWriteStatus,
		ResourceVersion: in.Live.ResourceVersion,
		Status:          statusOf(&in.Live, v.ready, in.Now),
	}
	s := attempt(in, step, Update, WebService, "the status isn't up to date: "+paths(changes), changes)
	if !s.Verdict() {
		return s.Decision
	}
	if len(in.CRD.Missing) > 0 && in.Outcomes.Of(step.Kind).Refused == "" {
		s.Reason = undeclared(in.CRD.Missing)
	}
	if v.Error {
		v.Reason += "; " + s.Reason
		return v.Decision
	}
	return s.Decision
}

func anothers(in *Input) verdict {
	source := in.Live.Labels[v1.SourceLabel]
	if in.Desired == nil && !in.Broken {
		return nothing("the object belongs to the source " + quote(source))
	}
	return failing(WebService, "the object belongs to the source "+quote(source)+
		": take it out of these files; to hand it over, give it the annotation "+v1.PruneAnnotation+
		": disabled, take it out of the other's files, and then remove its label "+v1.SourceLabel, readiness{})
}

func suspended(in *Input) verdict {
	where := "in the file"
	if in.Live.Suspended() {
		where = "on the live object"
	}
	v := nothing("suspended by the annotation " + v1.ReconcileAnnotation + " " + where)
	v.Suspended = true
	return v
}

func namespaceMissing(in *Input) verdict {
	missing := waiting("The namespace doesn't exist")
	switch step := (Step{Kind: StepCreateNamespace}); {
	case in.file() == nil || !in.Known:
		return wait(Namespace, "the namespace doesn't exist", missing)
	case !in.Policy.CreateNamespaces:
		return wait(Namespace, "the namespace doesn't exist: create it, or switch namespaces.create on", missing)
	case in.Outcomes.Of(step.Kind).Sent:
		return wait(Namespace, "the namespace was created and isn't there yet", missing)
	case in.CreationHeld:
		return heldBack(Namespace, missing)
	default:
		return attempt(in, step, Create, Namespace, "the namespace doesn't exist", nil)
	}
}

func judgeChild(in *Input, belongs Belongs) verdict {
	if len(in.Key.Name)+len(v1.ChildSuffix) > v1.MaxChildName {
		return failing(ConfigMap, "the ConfigMap's name would be longer than 253 characters: use a name of at most 245",
			readiness{reason: v1.ReasonNameTooLong, message: "The ConfigMap's name would be longer than 253 characters"})
	}
	switch ClaimOf(&in.Child, in.Key.Name, in.Live.UID) {
	case ClaimForeign:
		return failing(ConfigMap, "a ConfigMap of that name belongs to someone else: remove or rename it, or rename the WebService",
			readiness{reason: v1.ReasonNameConflict, message: "A ConfigMap of the name " + v1.ChildName(in.Key.Name) + " belongs to someone else"})
	case ClaimAbsent:
		return createChild(in)
	case ClaimStale:
		if !in.Child.Terminating {
			return deleteChild(in, "the ConfigMap belongs to an earlier object of this name", nil)
		}
	}
	if in.Child.Terminating {
		return wait(ConfigMap, "the ConfigMap is being deleted and waits for its finalizers", waiting("The ConfigMap is being deleted"))
	}
	if changes := ChildDrift(&in.Child, &in.Live); changes != nil {
		return mendChild(in, changes)
	}
	return done(in, belongs)
}

func createChild(in *Input) verdict {
	step := Step{Kind: StepCreateChild, Child: childContent(&in.Child, &in.Live)}
	return attempt(in, step, Create, ConfigMap, "the ConfigMap doesn't exist", []Change{made()})
}

func mendChild(in *Input, changes []Change) verdict {
	if in.Child.Immutable && dataDrift(&in.Child, &in.Live) != nil {
		reason := "the ConfigMap is immutable, and " + sentence(changes)
		return deleteChild(in, reason, append(changes, made())) // which isn't done where none could be made after
	}
	step := Step{
		Kind:            StepUpdateChild,
		UID:             in.Child.UID,
		ResourceVersion: in.Child.ResourceVersion,
		Child:           childContent(&in.Child, &in.Live),
	}
	return attempt(in, step, Update, ConfigMap, sentence(changes), changes)
}

func deleteChild(in *Input, reason string, changes []Change) verdict {
	step := Step{Kind: StepDeleteChild, UID: in.Child.UID, ResourceVersion: in.Child.ResourceVersion}
	return attempt(in, step, Delete, ConfigMap, reason, changes)
}

// done is the verdict on an object that is as it should be.
func done(in *Input, belongs Belongs) verdict {
	ready := readiness{ready: true, reason: v1.ReasonReconciled, message: "The ConfigMap says what the spec says"}
	if in.Desired == nil && !in.Broken {
		return unnamed(in, belongs, ready)
	}
	v := nothing("spec, ConfigMap and status are as they should be")
	if in.Broken {
		v.Reason = "its file can't be used, so the object is kept as it is"
	}
	v.ready = ready
	return v
}
