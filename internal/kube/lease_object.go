package kube

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// leaseObject is the Lease on the server, as it was last seen. Every write carries
// the version that was seen, so of two that claim it one gets it. It serves one
// goroutine at a time.
type leaseObject struct {
	client          coordination.LeaseInterface
	namespace, name string
	identity        string
	clock           *serverClock
	// answered is told how each request went: one that reads, that renews, or that
	// claims.
	answered func(what leaseRequest, err error)
	// renewing: the Lease is ours, and writes renew it. blind: the last look failed, and
	// nothing was written since.
	renewing, blind bool

	// rewound is called when the Lease is at an earlier version than it was, or is gone.
	rewound func()

	// last is the Lease as it was last seen or written; nil where there is none. vanished
	// is how it was before, where there is none any more: that it was deleted doesn't end
	// its holder.
	last, vanished *coordinationv1.Lease
	// moved is when it was first seen to be held and renewed as it is. How long it
	// lasts counts from there, by our own monotonic clock: the holder's may be wrong.
	moved time.Time
	// note is what the Lease said about its last take-over when it was last ours, and
	// takenOver when that was by our clock.
	note      string
	takenOver time.Time
}

func nameOfLease(source string) string { return "webservice-source-" + source }

func (c *Cluster) newLeaseObject(namespace, source, identity string) *leaseObject {
	return &leaseObject{
		client: c.lease.leases.Leases(namespace), namespace: namespace, name: nameOfLease(source),
		identity: identity, clock: c.clock, answered: c.noteLease, rewound: c.suspectRewind,
	}
}

// String is the Lease's namespace and name.
func (o *leaseObject) String() string { return o.namespace + "/" + o.name }

// look reads the Lease. That there is none is no error.
func (o *leaseObject) look(ctx context.Context) error {
	lease, err := o.client.Get(ctx, o.name, metav1.GetOptions{})
	o.tell(ctx, leaseRead, err)
	missing := apierrors.IsNotFound(err)
	o.blind = err != nil && !missing
	switch {
	case missing && o.last != nil:
		o.vanished, lease = o.last, nil
		o.rewound()
	case missing:
		lease = nil
	case err != nil:
		return err
	case o.last != nil && newer(o.last.ResourceVersion, lease.ResourceVersion):
		o.moved = time.Now()
		o.rewound()
	case o.last == nil || leaseHolder(o.last) != leaseHolder(lease) || !renewedAt(o.last).Equal(renewedAt(lease)):
		o.moved = time.Now()
	}
	if o.last = lease; lease != nil {
		o.vanished = nil
	}
	return nil
}

// known is the Lease as it was last seen, also where it has vanished since; nil where
// there was none.
func (o *leaseObject) known() *coordinationv1.Lease {
	if o.last != nil {
		return o.last
	}
	return o.vanished
}

// holder is who had the Lease when it was last seen; "" is nobody.
func (o *leaseObject) holder() string {
	lease := o.known()
	if lease == nil {
		return ""
	}
	return leaseHolder(lease)
}

// free says whether we may claim it: it is nobody's, our own, or isn't renewed.
func (o *leaseObject) free() bool {
	holder := o.holder()
	return holder == "" || holder == o.identity || time.Since(o.moved) >= lasts(o.known())
}

// claim makes the Lease ours, or renews it. Where it is taken from another holder,
// a note on it says so from then on, whoever has it next. A note that can't be right
// counts as written now, and so it is.
func (o *leaseObject) claim(ctx context.Context) error {
	now, before := time.Now(), o.holder()
	next := o.next(now)
	took := before != "" && before != o.identity
	switch note := next.Annotations[takenOverAnnotation]; {
	case took, note != "" && !o.clock.possible(note):
		next.Annotations[takenOverAnnotation] = o.clock.stamp()
	case note == "" && o.note != "":
		next.Annotations[takenOverAnnotation] = o.note // the Lease was deleted meanwhile
	}
	if err := o.write(ctx, next); err != nil {
		return err
	}
	o.moved = now
	if note := o.last.Annotations[takenOverAnnotation]; took {
		o.note, o.takenOver = note, now
	} else if note != o.note {
		o.note, o.takenOver = note, o.clock.since(note)
	}
	return nil
}

// next is the Lease as a claim of ours or a renewal makes it.
func (o *leaseObject) next(now time.Time) *coordinationv1.Lease {
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.name}}
	if o.last != nil {
		next = o.last.DeepCopy()
	}
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	seconds, at := int32(leaseDuration/time.Second), metav1.NewMicroTime(now)
	if s := &next.Spec; o.last == nil || leaseHolder(o.last) != o.identity {
		var transitions int32
		if s.LeaseTransitions != nil {
			transitions = *s.LeaseTransitions + 1
		}
		s.HolderIdentity, s.LeaseTransitions, s.AcquireTime = &o.identity, &transitions, &at
	}
	next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &seconds, &at
	return next
}

// release makes the Lease nobody's, if it is still as it was last seen.
func (o *leaseObject) release(ctx context.Context) error {
	next := o.last.DeepCopy()
	nobody, seconds, at := "", int32(1), metav1.NowMicro()
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds = &nobody, &seconds
	next.Spec.AcquireTime, next.Spec.RenewTime = &at, &at
	return o.write(ctx, next)
}

func (o *leaseObject) write(ctx context.Context, next *coordinationv1.Lease) (err error) {
	var written *coordinationv1.Lease
	if next.ResourceVersion == "" {
		written, err = o.client.Create(ctx, next, metav1.CreateOptions{})
	} else {
		written, err = o.client.Update(ctx, next, metav1.UpdateOptions{})
	}
	what := leaseClaim
	if o.renewing {
		what = leaseRenewal
	}
	o.tell(ctx, what, err)
	if err == nil {
		o.last, o.vanished, o.blind = written, nil, false
	}
	return err
}

// tell passes on how a request went. One that we have cut short ourselves, since the
// renew deadline is over or we are stopping, says nothing of the server.
func (o *leaseObject) tell(ctx context.Context, what leaseRequest, err error) {
	if err == nil || ctx.Err() == nil {
		o.answered(what, err)
	}
}

// leave notes that there is nothing to claim: that it failed once doesn't matter.
func (o *leaseObject) leave() { o.answered(leaseClaim, nil) }

func leaseHolder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// lasts is how long the Lease holds without another renewal.
func lasts(l *coordinationv1.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}

// renewedAt is when the Lease was last renewed, by the clock of its holder.
func renewedAt(l *coordinationv1.Lease) time.Time {
	if l.Spec.RenewTime == nil {
		return time.Time{}
	}
	return l.Spec.RenewTime.Time
}

// leaseRequest is what a request about the lease is for.
type leaseRequest string

const (
	leaseRead    leaseRequest = "leases, read"
	leaseClaim   leaseRequest = "leases, claim"
	leaseRenewal leaseRequest = "leases, renewal"
)

// noteLease keeps what stands between us and the lease: that we may not have it,
// that its namespace doesn't exist, that the server gives no answer, which is the
// first to be noticed of dead connections too. A holder doesn't read any more, so a
// write that comes through speaks for reading too. A renewal that fails is no news
// while the server answers: the lease is ours until its deadline.
func (c *Cluster) noteLease(what leaseRequest, err error) {
	const away = "leases"
	silent := unanswered(err)
	if silent {
		c.connections.suspect()
	} else if err == nil {
		c.connections.trust()
	}
	switch class := failure(err).Class; {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		c.health.set(string(what), err)
	case err == nil, apierrors.IsNotFound(err) && class != plan.NotReady:
		c.health.clear(string(leaseRead), away)
		if what != leaseRead {
			c.health.clear(string(leaseClaim), string(leaseRenewal))
		}
	case class == plan.NotReady:
		c.health.set(string(what), &noLeaseError{err})
	case class == plan.Unavailable && (what == leaseRead || silent):
		c.health.set(away, err)
	case class == plan.Unavailable && what == leaseClaim:
		c.health.set(string(what), err)
	}
}

// noLeaseError says that the lease has no place to be in.
type noLeaseError struct{ error }

// Error says what to do.
func (e *noLeaseError) Error() string {
	return "the lease can't be made: " + said(e.error) + "; create that namespace, or set lease.namespace to another"
}

func (e *noLeaseError) Unwrap() error { return e.error }
