package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// The lease's times: how long it holds, how long its holder may go on after the
// last renewal, and how often that is renewed.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// Lease makes sure that one process at most writes for a source.
type Lease struct {
	lock     *timedLock
	identity string
	// read looks at the lease on the server.
	read func(context.Context) (*coordinationv1.Lease, error)
	// changed is called when the holder or our own standing changes.
	changed func()

	mu      sync.Mutex
	holder  string
	leading bool
	// renewed is when the last successful renewal was begun. It is read on the
	// monotonic clock.
	renewed time.Time
	// refused is the error of the last claim or renewal, or nil.
	refused error
	// takenOver is when the lease was last taken from another holder.
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
	l := &Lease{identity: identity, changed: changed}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "webservice-source-" + name}
	l.read = func(ctx context.Context) (*coordinationv1.Lease, error) {
		return c.lease.leases.Leases(meta.Namespace).Get(ctx, meta.Name, metav1.GetOptions{})
	}
	l.lock = &timedLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta: meta, Client: c.lease.leases,
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		tried: l.tried, tookOver: l.tookOver, answered: c.noteLease,
	}
	return l
}

// noteLease keeps what stands between us and the lease: that we may not have it,
// that its namespace doesn't exist, that the server gives no answer. A holder
// doesn't read any more, so a write that comes through speaks for reading too.
func (c *Cluster) noteLease(verb string, err error) {
	const away, prefix = "leases", "leases, "
	switch {
	case errors.Is(err, context.Canceled):
		return
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		c.health.set(prefix+verb, err)
	case err == nil, apierrors.IsNotFound(err) && failure(err).Class != plan.NotReady:
		c.health.clear(prefix+verb, prefix+"get", away)
	case failure(err).Class == plan.NotReady:
		c.health.set(prefix+verb, &noLeaseError{err})
	case failure(err).Class == plan.Unavailable:
		c.health.set(away, err)
	}
}

// noLeaseError says that the lease has no place to be in.
type noLeaseError struct{ error }

// Error says what to do.
func (e *noLeaseError) Error() string {
	return "the lease can't be made: " + said(e.error) + "; create that namespace, or set lease.namespace to another"
}

func (e *noLeaseError) Unwrap() error { return e.error }

// Hold runs lead whenever the lease is ours, with a context that ends when it
// isn't any more, and stands by in between. It returns when ctx is done, lead
// has returned and the lease is released.
func (l *Lease) Hold(ctx context.Context, lead func(context.Context)) error {
	for ctx.Err() == nil {
		if err := l.term(ctx, lead); err != nil {
			return err
		}
	}
	return nil
}

// term stands by until the lease is ours, and leads until it is lost or ctx ends.
func (l *Lease) term(ctx context.Context, lead func(context.Context)) error {
	// The lease outlives ctx, so that it is released only after lead has ended.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	elected := make(chan context.Context, 1)
	elector, err := l.elector(func(leading context.Context) { elected <- leading })
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { elector.Run(electing) })
	defer running.Wait()
	defer stop()
	select {
	case leading := <-elected:
		leading, cancel := context.WithCancel(leading)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		l.lead(leading, lead)
	case <-ctx.Done():
	}
	return nil
}

func (l *Lease) elector(started func(context.Context)) (*leaderelection.LeaderElector, error) {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, Name: l.lock.Describe(), ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: started,
			OnStoppedLeading: func() {},
			OnNewLeader:      l.observe,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("the lease's settings: %w", err)
	}
	return elector, nil
}

// lead leads until ctx ends or the renew deadline is over.
func (l *Lease) lead(ctx context.Context, lead func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { l.endAtDeadline(ctx, cancel) })
	l.set(true)
	lead(ctx)
	cancel()
	watching.Wait()
	l.set(false)
}

// endAtDeadline calls end when the lease wasn't renewed in time. The elector
// notices as well, but only after one more try, which may hang.
func (l *Lease) endAtDeadline(ctx context.Context, end context.CancelFunc) {
	for {
		left := l.left()
		if left <= 0 {
			end()
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
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
	l.holder = holder
	l.mu.Unlock()
	l.changed()
}

// tried notes how a claim or renewal went that was begun at that time.
func (l *Lease) tried(at time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
	if err == nil {
		l.renewed = at
	}
}

// tookOver notes that the lease was taken from another holder.
func (l *Lease) tookOver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takenOver = time.Now()
}

// TakenOver is when this process last took the lease from another holder that had
// not released it; zero where it never did. It is known before Check lets a write
// through.
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

// timedLock notes when each claim or renewal was begun, how it went, and whom the
// lease was taken from. It also keeps a process that was held up from releasing a
// lease that is another's by now. Like the elector, it serves one goroutine at a time.
type timedLock struct {
	resourcelock.Interface
	// seen is the holder by the last look or write.
	seen string
	// other is who held the lease when it was last seen not to be ours; "" is nobody,
	// as after a release. It outlives a look that shows us: a claim may have come
	// through although its answer didn't.
	other string
	tried func(at time.Time, err error)
	// tookOver is told that what other held is ours now.
	tookOver func()
	// answered is told how each request went.
	answered func(verb string, err error)
}

// Get reads the lease.
func (l *timedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.answered("get", err)
	if err == nil {
		l.seen = record.HolderIdentity
	}
	if apierrors.IsNotFound(err) {
		l.other = ""
	} else if err == nil && l.seen != l.Identity() {
		l.other = l.seen
	}
	return record, raw, err
}

// Create claims a lease that doesn't exist yet.
func (l *timedLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.write(r, "create", func() error { return l.Interface.Create(ctx, r) })
}

// Update claims, renews or releases the lease.
func (l *timedLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" && l.seen != l.Identity() {
		return nil
	}
	return l.write(r, "update", func() error { return l.Interface.Update(ctx, r) })
}

func (l *timedLock) write(r resourcelock.LeaderElectionRecord, verb string, send func() error) error {
	began := time.Now()
	err := send()
	l.answered(verb, err)
	ours := r.HolderIdentity == l.Identity()
	if ours && err == nil && l.other != "" {
		l.other = ""
		l.tookOver()
	}
	if ours {
		l.tried(began, err)
	}
	if err == nil {
		l.seen = r.HolderIdentity
	}
	return err
}
