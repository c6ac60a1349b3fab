package plan

import (
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Removal is what the guard says of a live object of ours that no file names.
type Removal struct {
	State RemovalState
	// Reason says why, in words; "" where the state is RemovalNone.
	Reason string
	// After is when to ask again, unless something happens before; 0 where
	// nothing is awaited.
	After time.Duration
}

// RemovalState is how far the removal of an object has come.
type RemovalState int

// The states of a removal. The zero value is RemovalNone.
const (
	// RemovalNone: a file names the object, or it isn't ours to delete, or the
	// guard hasn't judged it yet. It is never deleted then.
	RemovalNone RemovalState = iota
	// RemovalKept: it stays, and that is as it should be.
	RemovalKept
	// RemovalDue: it will be deleted when some time is over or something is done.
	RemovalDue
	// RemovalHeld: it isn't deleted until a person approves or mends something.
	RemovalHeld
	// RemovalAllowed: delete it now.
	RemovalAllowed
)

const pruningOff = "no file; pruning is off"

// KeptReason says why the live object l stays without a file, and counts as one
// that is as it should be; "" where nothing keeps it. A value of an annotation
// that we don't know keeps it too: that is the safe side.
func KeptReason(l *Live, p *PrunePolicy) string {
	switch _, kept := l.Annotations[v1.PruneAnnotation]; {
	case !p.Enabled:
		return pruningOff
	case kept:
		return "no file; kept by the annotation " + v1.PruneAnnotation
	case l.Suspended():
		return "no file; kept by the annotation " + v1.ReconcileAnnotation
	}
	return ""
}

// absent is true for a live object of ours that the files, read whole, don't
// name: the only kind that is ever deleted.
func (in *Input) absent() bool {
	return in.Known && in.Desired == nil && !in.Broken && in.Live.Exists() &&
		!in.Live.Terminating() && !in.Live.Suspended() && in.Live.BelongsTo(in.Policy.SourceName) == Ours
}

// removal is the guard's word where it counts. What keeps an object counts
// whatever the guard says.
func (in *Input) removal() Removal {
	if !in.absent() {
		return Removal{}
	}
	if in.Removal.State != RemovalKept {
		if kept := KeptReason(&in.Live, &in.Policy.Prune); kept != "" {
			return Removal{State: RemovalKept, Reason: kept}
		}
	}
	return in.Removal
}

// remove deletes the object. Where the server won't have that, it is live for as
// long, and its ConfigMap and status are looked after as those of any other.
func remove(in *Input, r Removal, belongs Belongs) verdict {
	step := Step{Kind: StepDelete, UID: in.Live.UID, ResourceVersion: in.Live.ResourceVersion}
	v := attempt(in, step, Delete, WebService, r.Reason, nil)
	if !v.Verdict() {
		return v
	}
	live := judgePlaced(in, belongs)
	if !live.Verdict() {
		return live
	}
	if live.Error {
		v.Reason += "; " + live.Reason
	}
	v.ready = live.ready
	return v
}

// unnamed is the verdict on an object that no file names and whose ConfigMap is
// as it should be.
func unnamed(in *Input, belongs Belongs, r readiness) verdict {
	v := verdict{Decision: Decision{Action: Noop}, ready: r}
	switch removal := in.removal(); {
	case !in.Known:
		v.Reason = "the source hasn't been read whole yet, so the object is kept as it is"
	case belongs != Ours && in.Live.Fields.Restored:
		v.Reason = "no file: restored from a copy of another object, and its ConfigMap and status are as they should be"
	case belongs != Ours:
		v.Reason = "no file: made by hand, and its ConfigMap and status are as they should be"
	case removal.State == RemovalKept:
		v.Reason = removal.Reason
	case removal.State == RemovalNone:
		return wait(WebService, "no file; whether it is gone is still being looked at", r)
	default:
		v = wait(WebService, removal.Reason, r)
		v.After = max(removal.After, time.Second)
	}
	return v
}
