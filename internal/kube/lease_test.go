package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

const leaseNamespace = "webservice-controller"

// leaseName is a source's name of the test's own.
func leaseName(t *testing.T) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
}

// contender holds a lease in the background, and leads without doing anything.
func contender(t *testing.T, c *Cluster, identity string) (lease *Lease, stop func()) {
	t.Helper()
	lease = c.NewLease(leaseNamespace, leaseName(t), identity, func() {})
	stop = background(t, func(ctx context.Context) {
		lease.Hold(ctx, func(leading context.Context) { <-leading.Done() })
	})
	return lease, stop
}

func leads(t *testing.T, l *Lease, within time.Duration) {
	t.Helper()
	labtest.Eventually(t, within, func() error { return l.Check(t.Context()) })
}

// holderOf is who holds the lease by the server's word; "" is nobody, and
// "absent" that there is no lease.
func holderOf(t *testing.T) string {
	t.Helper()
	lease, err := shared.Client(t).CoordinationV1().Leases(leaseNamespace).Get(t.Context(), "webservice-source-"+leaseName(t), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "absent"
	case err != nil:
		t.Fatal(err)
	case lease.Spec.HolderIdentity == nil:
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// heldBy makes the lease one that somebody took just now and won't renew.
func heldBy(t *testing.T, identity string) {
	t.Helper()
	seconds, now := int32(leaseDuration.Seconds()), metav1.NowMicro()
	_, err := shared.Client(t).CoordinationV1().Leases(leaseNamespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "webservice-source-" + leaseName(t)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: &seconds, RenewTime: &now, AcquireTime: &now},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func isNotWriter(err error) bool {
	var f *plan.Failure
	return errors.As(err, &f) && f.Class == plan.NotWriter
}

// TestLeaseHandedOver: one leads and the other stands by and knows who leads. A
// lease that is released is taken at once.
func TestLeaseHandedOver(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	one, stopOne := contender(t, connect(t, account), "pod-a_1")
	leads(t, one, 5*time.Second)
	other, _ := contender(t, connect(t, account), "pod-b_2")
	labtest.Eventually(t, 5*time.Second, func() error {
		if got := other.Holder(); got != "pod-a_1" {
			return errors.New("the holder is " + got)
		}
		return nil
	})
	if err := other.Check(t.Context()); !isNotWriter(err) || other.Leading() {
		t.Errorf("the one that stands by may write: %v", err)
	}
	stopOne()
	if got := holderOf(t); got != "" && got != "pod-b_2" {
		t.Errorf("not released: %s holds it", got)
	}
	if err := one.Check(t.Context()); !isNotWriter(err) {
		t.Errorf("the one that stopped may write: %v", err)
	}
	released := time.Now()
	leads(t, other, 5*time.Second)
	t.Logf("taken %s after the release", time.Since(released).Round(time.Millisecond))
	if at := other.TakenOver(); !at.IsZero() {
		t.Errorf("a lease that was released counts as taken over at %v", at)
	}
}

// TestLeaseOfTheDead: a restarted process takes its own lease at once, and
// another one when it is over.
func TestLeaseOfTheDead(t *testing.T) {
	account := shipped(t)
	for _, c := range []struct {
		name        string
		identity    string
		least, most time.Duration
	}{
		{"of its own", "pod-a_1", 0, 4 * time.Second},
		{"of another", "pod-b_2", leaseDuration - 2*time.Second, leaseDuration + 2*standbyPeriod + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			heldBy(t, "pod-a_1")
			began := time.Now()
			l, _ := contender(t, connect(t, account), c.identity)
			leads(t, l, c.most)
			if took := time.Since(began); took < c.least {
				t.Errorf("taken after %v", took)
			}
			if at := l.TakenOver(); at.IsZero() != (c.identity == "pod-a_1") {
				t.Errorf("taken over at %v", at)
			}
		})
	}
}

// TestADeletedLeaseIsStillItsHolders: who stands by doesn't take the deletion for the
// holder's end. It waits as long as for a Lease that isn't renewed, and it has taken it
// over then.
func TestADeletedLeaseIsStillItsHolders(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	proxy := labtest.NewProxy(t, shared)
	one, _ := contender(t, connect(t, proxy.Kubeconfig(t, account)), "pod-a_1")
	leads(t, one, 5*time.Second)
	other, _ := contender(t, connect(t, account), "pod-b_2")
	labtest.Eventually(t, 5*time.Second, func() error {
		if other.Holder() != "pod-a_1" {
			return errors.New("it hasn't seen who holds it")
		}
		return nil
	})
	proxy.Set(labtest.When(isLeasePath, labtest.Abort()))
	began := time.Now()
	err := shared.Client(t).CoordinationV1().Leases(leaseNamespace).Delete(t.Context(), nameOfLease(leaseName(t)), metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leads(t, other, leaseDuration+2*retryPeriod+5*time.Second)
	// The last renewal was up to a retry period before.
	if took := time.Since(began); took < leaseDuration-2*retryPeriod {
		t.Errorf("taken after %v", took)
	}
	if other.TakenOver().IsZero() {
		t.Error("it doesn't count as taken over")
	}
}

func isLeasePath(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }

// TestRenewalsBlocked: where nothing but the renewals fails, no write is begun
// any more before anybody else can hold the lease.
func TestRenewalsBlocked(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	proxy := labtest.NewProxy(t, shared)
	cut := connect(t, proxy.Kubeconfig(t, account))
	one, _ := contender(t, cut, "pod-a_1")
	leads(t, one, 5*time.Second)
	other, _ := contender(t, connect(t, account), "pod-b_2")

	proxy.Set(labtest.When(func(r *http.Request) bool {
		return labtest.IsWrite(r) && strings.Contains(r.URL.Path, "/leases")
	}, labtest.Abort()))
	began, before := time.Now(), one.TakenOver()
	labtest.Eventually(t, 2*renewDeadline, func() error {
		switch trouble, may := cut.health.first(), one.Check(t.Context()) == nil; {
		case may && trouble != nil:
			t.Fatalf("the server answers, and the lease is ours still: %v", trouble)
		case may:
			return errors.New("it may still write")
		}
		return nil
	})
	took := time.Since(began)
	t.Logf("no write is begun after %v", took.Round(100*time.Millisecond))
	if took < renewDeadline-2*retryPeriod || took > renewDeadline+retryPeriod {
		t.Errorf("it gave up after %v", took)
	}
	if other.Leading() {
		t.Error("both may have written")
	}
	if _, err := cut.write.core.ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("other requests don't pass: %v", err)
	}
	leads(t, other, leaseDuration)
	if one.Check(t.Context()) == nil {
		t.Error("both may write")
	}
	if one.TakenOver() != before || other.TakenOver().Before(began) {
		t.Errorf("taken over by the first at %v, by the other at %v", one.TakenOver(), other.TakenOver())
	}
	proxy.Set(nil)
	labtest.Eventually(t, leaseDuration, func() error {
		if one.Holder() != "pod-b_2" || one.Leading() {
			return errors.New("it doesn't stand by")
		}
		return nil
	})
}

// TestClaimsBlocked: who can't claim a lease that is free says why, and no more once
// another has it: standing by, it has nothing to write.
func TestClaimsBlocked(t *testing.T) {
	account := shipped(t)
	shared.Apply(t, manifests.CRD())
	t.Parallel()
	proxy := labtest.NewProxy(t, shared)
	blocked := connect(t, proxy.Kubeconfig(t, account))
	background(t, func(ctx context.Context) { blocked.Run(ctx, &deaf{}, allowed) })
	labtest.Eventually(t, recovery, blocked.State)
	proxy.Set(labtest.When(labtest.IsWrite, labtest.Respond(http.StatusInternalServerError, metav1.StatusReasonInternalError)))
	one, _ := contender(t, blocked, "pod-a_1")
	labtest.Eventually(t, recovery, func() error {
		if err := blocked.State(); err == nil || !strings.Contains(err.Error(), "the API server has failed") {
			return fmt.Errorf("the state is %w", err)
		}
		return nil
	})
	other, _ := contender(t, connect(t, account), "pod-b_2")
	leads(t, other, recovery)
	labtest.Eventually(t, recovery, blocked.State)
	if one.Leading() || one.Holder() != "pod-b_2" {
		t.Errorf("leading %t, holder %s", one.Leading(), one.Holder())
	}
}

// TestLazyLease is taken before the first write, not at all without one, and
// released at the end.
func TestLazyLease(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	unused := connect(t, account).NewLazyLease(leaseNamespace, leaseName(t), "pod-a_1")
	unused.Close()
	if got := holderOf(t); got != "absent" {
		t.Errorf("taken without need: %q", got)
	}

	l := connect(t, account).NewLazyLease(leaseNamespace, leaseName(t), "pod-a_1")
	if err := l.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := holderOf(t); got != "pod-a_1" {
		t.Errorf("held by %q", got)
	}
	l.Close()
	if got := holderOf(t); got != "" {
		t.Errorf("not released: held by %q", got)
	}
}

// TestLazyLeaseHeld: every worker that asks is told who holds the lease, soon.
func TestLazyLeaseHeld(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	leader, _ := contender(t, connect(t, account), "pod-a_1")
	leads(t, leader, 5*time.Second)
	l := connect(t, account).NewLazyLease(leaseNamespace, leaseName(t), "pod-b_2")
	defer l.Close()
	began := time.Now()
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			err := l.Check(t.Context())
			var held *HeldError
			if !isNotWriter(err) || !errors.As(err, &held) || held.Holder != "pod-a_1" {
				t.Errorf("%v", err)
			}
		})
	}
	workers.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestLazyLeaseForbidden names what isn't allowed, and doesn't wait for it.
func TestLazyLeaseForbidden(t *testing.T) {
	account := shared.ServiceAccount(t, "default", "without-anything")
	t.Parallel()
	c := connect(t, account)
	background(t, func(ctx context.Context) { c.Run(ctx, &deaf{}, allowed) })
	labtest.Eventually(t, recovery, func() error {
		if c.health.first() == nil {
			return errors.New("nothing was tried yet")
		}
		return nil
	})
	l := c.NewLazyLease(leaseNamespace, leaseName(t), "pod-a_1")
	defer l.Close()
	err := l.Check(t.Context())
	if !isNotWriter(err) || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"leases"`) {
		t.Errorf("%v", err)
	}
}

// TestLazyLeaseAway: while the server gives no answer the wait goes on, for as
// long as the caller likes.
func TestLazyLeaseAway(t *testing.T) {
	account := shipped(t)
	t.Parallel()
	proxy := labtest.NewProxy(t, shared)
	l := connect(t, proxy.Kubeconfig(t, account)).NewLazyLease(leaseNamespace, leaseName(t), "pod-a_1")
	defer l.Close()
	proxy.Down()
	answer := make(chan error)
	go func() { answer <- l.Check(t.Context()) }()
	select {
	case err := <-answer:
		t.Fatalf("gave up: %v", err)
	case <-time.After(2 * retryPeriod):
	}
	proxy.Up(t)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}
