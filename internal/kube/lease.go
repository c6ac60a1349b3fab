package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"labhub.io/webservice-controller/internal/plan"
)

// The lease's times: how long it holds, how long its holder may go on after the
// last renewal, how often that is renewed, and how often a process that stands by
// looks whether it is free.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	standbyPeriod = time.Second
)

// Lease makes sure that one process at most writes for a source.
type Lease struct {
	// object is the Lease on the server. It is Hold's alone.
	object   *leaseObject
	identity string
	// changed is called when the holder or our own standing changes.
	changed func()

	mu      sync.Mutex
	holder  string
	leading bool
	// renewed is when the last successful claim or renewal was begun. It is read on
	// the monotonic clock.
	renewed time.Time
	// refused is the error of the last claim or renewal, or nil.
	refused error
	// takenOver is when the lease was last taken from another holder, as far as that
	// concerns us: by us, or by whoever had it before.
	takenOver time.Time
}

// HeldError says that another process holds the lease.
type HeldError struct{ Lease, Holder string }

// Error names the holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the lease %s is held by %s: stop that one first, or wait for it", e.Lease, e.Holder)
}

var errLost = errors.New("the lease is not ours any more")

// NewLease makes the lease of the source called name. changed is called, from
// any goroutine, when the holder or our own standing changes.
func (c *Cluster) NewLease(namespace, name, identity string, changed func()) *Lease {
	return &Lease{object: c.newLeaseObject(namespace, name, identity), identity: identity, changed: changed}
}

// Hold runs lead whenever the lease is ours, with a context that ends when it
// isn't any more, and stands by in between. It returns when ctx is done, lead
// has returned and the lease is released.
func (l *Lease) Hold(ctx context.Context, lead func(context.Context)) {
	for l.standBy(ctx) {
		l.term(ctx, lead)
	}
}

// standBy waits until the lease is ours. It is false when ctx ends before that.
// While the server can't be asked, it is asked more rarely.
func (l *Lease) standBy(ctx context.Context) bool {
	failing := standbyBackoff()
	for ctx.Err() == nil {
		ours, err := l.attempt(ctx)
		if ours {
			return true
		}
		again := wait.Jitter(standbyPeriod, retryJitter)
		if err != nil {
			again = failing.Step()
		} else {
			failing = standbyBackoff()
		}
		pause(ctx, again)
	}
	return false
}

func standbyBackoff() wait.Backoff {
	return wait.Backoff{Duration: standbyPeriod, Factor: 2, Jitter: retryJitter, Steps: 20, Cap: retryPeriod}
}

// attempt looks at the lease, and claims it where nobody else has it.
func (l *Lease) attempt(ctx context.Context) (ours bool, err error) {
	if err := l.object.look(ctx); err != nil {
		return false, err
	}
	l.observe(l.object.holder())
	if !l.object.free() {
		l.object.leave()
		return false, nil
	}
	err = l.claim(ctx)
	return err == nil, err
}

// claim makes the lease ours, or renews it.
func (l *Lease) claim(ctx context.Context) error {
	began := time.Now()
	err := l.object.claim(ctx)
	l.mu.Lock()
	l.refused = err
	if err == nil {
		l.renewed, l.takenOver = began, l.object.takenOver
	}
	l.mu.Unlock()
	if err == nil {
		l.observe(l.identity)
	}
	return err
}

// term leads until ctx ends or the lease is lost, and lets go of it. The lease
// outlives ctx, so that it is released only after lead has returned.
func (l *Lease) term(ctx context.Context, lead func(context.Context)) {
	leading, end := context.WithCancel(ctx)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.object.renewing = true
	var beside sync.WaitGroup
	beside.Go(func() {
		l.renew(renewing)
		end()
	})
	l.set(true)
	lead(leading)
	end()
	stop()
	beside.Wait()
	l.object.renewing = false
	l.set(false)
	l.release(context.WithoutCancel(ctx))
}

// renew renews the lease until ctx ends, the lease is seen to be another's, or the
// renew deadline is over. Nothing that hangs outlasts that.
func (l *Lease) renew(ctx context.Context) {
	for began := time.Now(); ; {
		pause(ctx, min(retryPeriod-time.Since(began), l.left())) // not at all after a try that took long
		began = time.Now()
		trying, cancel := context.WithTimeout(ctx, l.left())
		err := l.renewOnce(trying)
		cancel()
		if ctx.Err() != nil || errors.Is(err, errLost) || l.left() <= 0 {
			return
		}
	}
}

// renewOnce renews the lease as it was last seen. Where that fails, it looks: somebody
// may have touched it since, and whether the server answers at all decides whether it
// is worth another try.
func (l *Lease) renewOnce(ctx context.Context) error {
	if !l.object.blind && l.claim(ctx) == nil {
		return nil
	}
	if err := l.object.look(ctx); err != nil {
		return err
	}
	if holder := l.object.holder(); holder != "" && holder != l.identity {
		l.observe(holder)
		return errLost
	}
	return l.claim(ctx)
}

// release lets go of the lease, unless another holds it by now. Where that fails,
// it ends by itself.
func (l *Lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewDeadline)
	defer cancel()
	for l.object.holder() == l.identity {
		if err := l.object.release(ctx); !apierrors.IsConflict(err) {
			return
		}
		// The last renewal may have come through although nobody has heard of that.
		if l.object.look(ctx) != nil {
			return
		}
	}
}

// left is how long writes may still be started without another renewal.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return renewDeadline - time.Since(l.renewed)
}

func (l *Lease) set(leading bool) {
	l.mu.Lock()
	l.leading = leading
	l.mu.Unlock()
	l.changed()
}

func (l *Lease) observe(holder string) {
	l.mu.Lock()
	news := l.holder != holder
	l.holder = holder
	l.mu.Unlock()
	if news {
		l.changed()
	}
}

// TakenOver is when the lease was last taken from another holder that had not
// released it, by us or by who had it before us; zero where that never happened.
// It is known before Check lets a write through.
func (l *Lease) TakenOver() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takenOver
}

func (l *Lease) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// Holder is the identity that was last seen to hold the lease; "" if none was.
func (l *Lease) Holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// Leading says whether the lease is ours.
func (l *Lease) Leading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leading
}

// Check is nil while a write may be started: the lease is ours and was renewed
// recently enough that nobody else can hold it yet.
func (l *Lease) Check(context.Context) error {
	if l.Ours() {
		return nil
	}
	return &plan.Failure{Class: plan.NotWriter, Phrase: "the lease is not ours", Err: errLost}
}

// Ours says what Check does.
func (l *Lease) Ours() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leading && time.Since(l.renewed) < renewDeadline
}
