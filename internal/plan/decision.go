package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Action is what a decision comes to.
type Action string

// The actions, as reports spell them.
const (
	Create  Action = "create"
	Update  Action = "update"
	Delete  Action = "delete"
	Noop    Action = "noop"
	Requeue Action = "requeue"
)

// Target is the object that a decision is about.
type Target int

// The targets. The zero value is the WebService itself.
const (
	WebService Target = iota
	ConfigMap
	Namespace
)

// Name writes the target as kind/name for the WebService that key names.
func (t Target) Name(key Key) string {
	switch t {
	case ConfigMap:
		return "configmap/" + v1.ChildName(key.Name)
	case Namespace:
		return "namespace/" + key.Namespace
	default:
		return "webservice/" + key.Name
	}
}

// Decision is what to do next about an object. Where Step has a kind, that step
// is to be taken and Decide to be asked again. Where it has none, nothing can be
// done now: the decision is a verdict.
type Decision struct {
	Action Action
	// Reason is one sentence for people, without a full stop.
	Reason string
	Target Target
	Step   Step
	// Changes are the fields that Step changes of what is there, and "configmap"
	// where it makes a ConfigMap or makes way for one. nil for a verdict.
	Changes []Change

	// After is how long a requeue waits, unless something happens before. 0 with
	// Error set: by the object's backoff.
	After time.Duration
	// Error: something failed, as against something that isn't ready yet.
	Error bool
	// Suspended: the object asks to be left alone.
	Suspended bool
	// Held: the object's deletion is held by the guard, whatever else the decision
	// is about.
	Held bool
}

// Verdict is true where no step is left to be taken now.
func (d *Decision) Verdict() bool { return d.Step.Kind == StepNone }

// StepKind is a kind of write.
type StepKind int

// The kinds of steps. The zero value is no step at all.
const (
	StepNone StepKind = iota
	// StepCreateNamespace creates the object's namespace.
	StepCreateNamespace
	// StepApply applies Desired to the WebService.
	StepApply
	// StepCreateChild creates the ConfigMap.
	StepCreateChild
	// StepUpdateChild mends the ConfigMap.
	StepUpdateChild
	// StepDeleteChild deletes the ConfigMap: to be made anew, or for good where
	// the object itself goes.
	StepDeleteChild
	// StepWriteStatus writes the WebService's status.
	StepWriteStatus
	// StepDropFinalizer takes our finalizer off the WebService, and no other.
	StepDropFinalizer
	// StepAdoptFields makes ours what kubectl's client-side apply owns.
	StepAdoptFields
	// StepDelete deletes the WebService, since its file is gone.
	StepDelete
)

// What steps write. Steps on the same part undo each other's outcomes.
const (
	partNone = iota
	partNamespace
	partSpec
	partChild
	partStatus
	partFinalizers
	partOwnership
	partObject
	parts
)

func (k StepKind) part() int {
	switch k {
	case StepCreateNamespace:
		return partNamespace
	case StepApply:
		return partSpec
	case StepCreateChild, StepUpdateChild, StepDeleteChild:
		return partChild
	case StepWriteStatus:
		return partStatus
	case StepDropFinalizer:
		return partFinalizers
	case StepAdoptFields:
		return partOwnership
	case StepDelete:
		return partObject
	default:
		return partNone
	}
}

// String names the kind of step for logs and errors.
func (k StepKind) String() string {
	switch k {
	case StepCreateNamespace:
		return "create the namespace"
	case StepApply:
		return "apply the WebService"
	case StepCreateChild:
		return "create the ConfigMap"
	case StepUpdateChild:
		return "update the ConfigMap"
	case StepDeleteChild:
		return "delete the ConfigMap"
	case StepWriteStatus:
		return "write the status"
	case StepDropFinalizer:
		return "drop the finalizer"
	case StepAdoptFields:
		return "take over the fields of kubectl's client-side apply"
	case StepDelete:
		return "delete the WebService"
	default:
		return "nothing"
	}
}

// Step is one write, with all that it needs and the preconditions that keep it
// from hitting an object other than the one that was judged.
type Step struct {
	Kind StepKind
	// UID and ResourceVersion are the preconditions; "" is none.
	UID             types.UID
	ResourceVersion string

	// Desired is what StepApply applies.
	Desired *Desired
	// Child is what StepCreateChild and StepUpdateChild write.
	Child *ChildContent
	// Look: StepCreateChild finds out whether there is a ConfigMap before it sends
	// one, since at the last try there was.
	Look bool
	// Status is what StepWriteStatus writes.
	Status *Status
	// Finalizers are those that StepDropFinalizer leaves.
	Finalizers []string
	// Spared is the ConfigMap of the child's name that StepDropFinalizer leaves
	// behind, since it is somebody else's; "" where there is none.
	Spared types.UID
}

// Ready says whether StepWriteStatus says that all is as it should be.
func (s *Step) Ready() bool {
	if s.Status == nil {
		return false
	}
	ready := readyOf(s.Status.Conditions)
	return ready != nil && ready.Status == metav1.ConditionTrue
}

// ChildContent is what a ConfigMap shall have. Labels that it has beside these
// stay as they are.
type ChildContent struct {
	// Data is the whole of the data.
	Data map[string]string
	// DropData lists keys that the live object has and that must go.
	DropData []string
	Labels   map[string]string
	// Owners are all owner references, foreign ones included.
	Owners []metav1.OwnerReference
}

// Status is a whole status as we write it: conditions of other types included.
type Status struct {
	Replicas           int32
	ObservedGeneration int64
	Conditions         []metav1.Condition
}
