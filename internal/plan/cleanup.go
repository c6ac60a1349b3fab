package plan

import (
	"slices"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// deleted begins every reason of an object that somebody has deleted.
const deleted = "the object is being deleted"

// judgeDeleted is the verdict on an object that somebody has deleted. The file
// has no say any more, nor has what keeps others waiting: until our finalizer is
// off, neither the object nor its namespace nor the CRD can go.
//
// Nothing is applied to it, since an apply that doesn't name the finalizer would
// end the object with its ConfigMap left behind, and no status is written.
func judgeDeleted(in *Input, belongs Belongs) verdict {
	named := in.Desired != nil || in.Broken
	if belongs == Nobodys && !named && !in.Policy.Unlabelled {
		return nothing(noSource)
	}
	v := cleanUp(in)
	if belongs == Anothers {
		v.Reason += "; its own source " + quote(in.Live.Labels[v1.SourceLabel]) + " didn't clean it up within a minute"
	}
	v.ready = readiness{}
	return v
}

// forsaken is true for an object of another source that waits for our finalizer and
// would do so for ever: its own controller doesn't run any more, it seems.
func (in *Input) forsaken() bool {
	return in.Overdue && in.Live.Terminating() && slices.Contains(in.Live.Finalizers, v1.CleanupFinalizer)
}

// cleanUp removes the child first and our finalizer after it, so that a process
// that ends in between leaves the finalizer to tell that there is work to do.
func cleanUp(in *Input) verdict {
	if !slices.Contains(in.Live.Finalizers, v1.CleanupFinalizer) {
		return wait(WebService, waitsForOthers(in.Live.Finalizers), readiness{})
	}
	claim := ClaimOf(&in.Child, in.Key.Name, in.Live.UID)
	switch {
	case claim == ClaimAbsent:
		return dropFinalizer(in, deleted+", and no ConfigMap is left")
	case claim == ClaimForeign:
		return dropFinalizer(in, deleted+", and the ConfigMap of that name is someone else's")
	case in.Child.Terminating:
		return wait(ConfigMap, deleted+", and its ConfigMap waits for its own finalizers", readiness{})
	}
	return deleteChild(in, deleted+", and its ConfigMap goes first", nil)
}

func dropFinalizer(in *Input, reason string) verdict {
	step := Step{
		Kind:            StepDropFinalizer,
		ResourceVersion: in.Live.ResourceVersion,
		Finalizers:      othersOf(in.Live.Finalizers),
		Spared:          in.Child.UID,
	}
	return attempt(in, step, Update, WebService, reason, nil)
}

// othersOf is the list without our finalizer, in its order. It is never nil: what
// is sent is a list.
func othersOf(finalizers []string) []string {
	return slices.DeleteFunc(append([]string{}, finalizers...), func(f string) bool { return f == v1.CleanupFinalizer })
}

func waitsForOthers(finalizers []string) string {
	switch len(finalizers) {
	case 0:
		return deleted
	case 1:
		return deleted + " and waits for the finalizer " + finalizers[0]
	}
	return deleted + " and waits for the finalizers " + strings.Join(finalizers, ", ")
}
