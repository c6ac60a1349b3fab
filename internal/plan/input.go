package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Key names a WebService: the one thing that a reconcile is given.
type Key = types.NamespacedName

// Input is all that a decision is made from.
type Input struct {
	Key    Key
	Policy *Policy

	// Unread is true until the source was looked at for the first time, whatever came
	// of it. A file may ask for the object to be left alone.
	Unread bool
	// Known is false until the source was read whole for the first time. Until
	// then a missing Desired means nothing, and nothing is created.
	Known bool
	// Desired is what the file says; nil where no usable document names the object.
	Desired *Desired
	// Broken is true where a document names the object but can't be used, or two
	// do. Nothing of Desired is applied then.
	Broken bool

	Live  Live
	Child Child

	// Overdue is what Live.Overdue says now. It counts only for an object of another
	// source, whose own controller should have let it go by then.
	Overdue bool

	// Removal is the guard's word where no file names the live object. It counts
	// only for an object of ours that the files, read whole, don't name and that
	// nothing keeps, whatever it says.
	Removal Removal
	// CreationHeld: a size rule holds deletions, so nothing new becomes ours: neither
	// by creating it nor by taking over what is nobody's.
	CreationHeld bool
	// Dependencies are the objects that have to be done before this one's
	// ConfigMap is made: one for each key of DependsOn.
	Dependencies []Dependency
	// Contested lists the paths of fields that somebody else keeps changing back,
	// as Contests.Paths has them: sorted, and nil where there are none.
	Contested []string

	Namespace NamespaceState
	CRD       CRD

	// Outcomes says what became of the steps of each kind that were sent before.
	Outcomes Outcomes

	// Now is the time that a condition gets when its status flips. It has no
	// other influence on a decision.
	Now time.Time
}

// file is what there is to apply; nil where there is nothing usable.
func (in *Input) file() *Desired {
	if in.Broken {
		return nil
	}
	return in.Desired
}

// Policy is what the settings say about decisions. It is the same for every key.
type Policy struct {
	// SourceName is who we are: the value of the source label.
	SourceName string
	// Unlabelled says whether objects that no source put there are reconciled.
	Unlabelled bool
	// CreateNamespaces says whether a missing namespace is created.
	CreateNamespaces bool
	Prune            PrunePolicy
}

// Desired is what a file states about a WebService, and nothing else: defaults
// are the server's. It is shared and never written to.
type Desired struct {
	Image string
	// Replicas and Tier are nil where the file doesn't state them.
	Replicas *int32
	Tier     *string
	// Labels include the source label with our name.
	Labels      map[string]string
	Annotations map[string]string
	Finalizers  []string
	// Suspended: the file's reconcile annotation is disabled.
	Suspended bool
	// DependsOn are the objects that must be ready first.
	DependsOn []Key
	// Digest is equal for equal contents, whichever file they come from.
	Digest string
}

// NamespaceState is what is known of the object's namespace.
type NamespaceState int

// The states of a namespace. The zero value is NamespaceUnknown.
const (
	// NamespaceUnknown: we may not look. The server's answer to a write decides.
	NamespaceUnknown NamespaceState = iota
	NamespaceActive
	NamespaceMissing
	NamespaceTerminating
)

// CRD is what is known of the CustomResourceDefinition.
type CRD struct {
	// Ready: WebServices can be read and written.
	Ready bool
	// Reason says in words why it isn't ready.
	Reason string
	// Missing lists the fields that we write and that the CRD doesn't declare.
	Missing []string
}

// Outcomes has, by the part of the object that steps write, what came of them.
// The zero value: nothing was tried.
type Outcomes [parts]Outcome

// Outcome is what became of the last step on one part.
type Outcome struct {
	// Refused is the server's refusal, as a stable phrase; "" if it wasn't refused.
	Refused string
	// Detail is the server's own text. It goes into reports, never onto objects.
	Detail string
	// Sent is true where exactly this write was already sent and nothing has
	// changed since: neither the file nor the object. Sending it again would
	// give the same answer.
	Sent bool
}

// Of returns what came of the steps that write what k writes.
func (o *Outcomes) Of(k StepKind) *Outcome { return &o[k.part()] }
