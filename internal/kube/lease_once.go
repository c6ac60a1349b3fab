package kube

import (
	"context"
	"sync"
	"time"

	"labhub.io/webservice-controller/internal/plan"
)

// LazyLease takes the lease before the first write and not at all if there is none.
type LazyLease struct {
	lease *Lease
	wake  chan struct{}

	take   sync.Once
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
// where another process holds the lease.
func (l *LazyLease) Check(ctx context.Context) error {
	var err error
	l.take.Do(func() { err = l.acquire(ctx) })
	if err != nil {
		return &plan.Failure{Class: plan.NotWriter, Phrase: "the lease is held elsewhere", Err: err}
	}
	return l.lease.Check(ctx)
}

// acquire waits until the lease is ours or is seen to be somebody's who renews it.
func (l *LazyLease) acquire(ctx context.Context) error {
	holding, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.hold.Go(func() {
		_ = l.lease.Hold(holding, func(leading context.Context) { <-leading.Done() })
	})
	deadline := time.NewTimer(leaseDuration + 2*retryPeriod)
	defer deadline.Stop()
	for !l.lease.Leading() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.wake:
			if l.lease.Leading() || !l.lease.renewedByAnother(ctx) {
				continue
			}
		case <-deadline.C:
		}
		return &HeldError{Lease: l.lease.lock.Describe(), Holder: l.lease.Holder()}
	}
	return nil
}

// renewedByAnother says whether the lease, as it stands on the server, isn't
// over yet and isn't ours.
func (l *Lease) renewedByAnother(ctx context.Context) bool {
	record, _, err := l.lock.Get(ctx)
	if err != nil || record.HolderIdentity == "" || record.HolderIdentity == l.identity {
		return false
	}
	return time.Since(record.RenewTime.Time) < time.Duration(record.LeaseDurationSeconds)*time.Second
}

// Close releases the lease if it was taken.
func (l *LazyLease) Close() {
	l.take.Do(func() {})
	l.cancel()
	l.hold.Wait()
}
