package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// LazyLease takes the lease before the first write and not at all if there is none.
type LazyLease struct {
	lease *Lease
	wake  chan struct{}

	take   sync.Once
	failed error // why it couldn't be taken; read after take
	hold   sync.WaitGroup
	cancel context.CancelFunc
}

// NewLazyLease makes the lease of the source called name. Close must be called.
func (c *Cluster) NewLazyLease(namespace, name, identity string) *LazyLease {
	l := &LazyLease{wake: make(chan struct{}, 1), cancel: func() {}}
	l.lease = c.NewLease(namespace, name, identity, l.changed)
	return l
}

func (l *LazyLease) changed() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Check takes the lease if that wasn't done yet, and is nil while a write may be
// started. It is a *plan.Failure of class NotWriter that wraps a *HeldError
// where another process holds the lease. All who ask get the same answer.
func (l *LazyLease) Check(ctx context.Context) error {
	l.take.Do(func() { l.failed = l.acquire(ctx) })
	if l.failed != nil {
		return &plan.Failure{Class: plan.NotWriter, Phrase: "the lease isn't ours", Err: l.failed}
	}
	return l.lease.Check(ctx)
}

// Ours says whether the lease is ours now. It doesn't take it.
func (l *LazyLease) Ours() bool { return l.lease.Ours() }

// acquire waits until the lease is ours or is seen to be somebody's who renews
// it. While the API server gives no answer it goes on waiting; one that refuses
// won't change its mind.
func (l *LazyLease) acquire(ctx context.Context) error {
	holding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.hold.Go(func() {
		l.lease.Hold(holding, func(leading context.Context) { <-leading.Done() })
	})
	began := time.Now()
	again := time.NewTicker(retryPeriod)
	defer again.Stop()
	for !l.lease.Leading() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
		case <-again.C:
		}
		if err := l.lease.obstacle(ctx, began); err != nil && !l.lease.Leading() {
			return err
		}
	}
	return nil
}

// obstacle is why the lease can't be ours soon: it is another's who renews it,
// or we may not have it. It is nil where it can. It looks for itself: what Hold has
// seen is what its writes rest on.
func (l *Lease) obstacle(ctx context.Context, began time.Time) error {
	lease, err := l.object.client.Get(ctx, l.object.name, metav1.GetOptions{})
	if err == nil {
		err = l.refusal()
	}
	if err != nil {
		return l.denied(err)
	}
	holder := leaseHolder(lease)
	if holder == "" || holder == l.identity {
		return nil
	}
	// By its own clock, which need not be ours and may be nonsense: after the time that
	// one waits for a lease that isn't renewed, it is clear that this one is.
	over := time.Since(renewedAt(lease)).Abs() >= lasts(lease)
	if over && time.Since(began) < leaseDuration+2*retryPeriod {
		return nil
	}
	return &HeldError{Lease: l.object.String(), Holder: holder}
}

// denied is err where it says that we may not have the lease. Others pass.
func (l *Lease) denied(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("the lease %s can't be taken: %w; the right to it counts in one namespace alone: name that with --lease-namespace", l.object.String(), err)
	}
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("the lease %s can't be taken: %w", l.object.String(), err)
	}
	return nil
}

// TakenOver is as that of Lease. It is known when Check lets a write through.
func (l *LazyLease) TakenOver() time.Time { return l.lease.TakenOver() }

// Close releases the lease if it was taken.
func (l *LazyLease) Close() {
	l.take.Do(func() {})
	l.cancel()
	l.hold.Wait()
}
