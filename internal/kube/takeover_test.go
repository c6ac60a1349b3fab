package kube

import (
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"labhub.io/webservice-controller/internal/labtest"
)

// claimant is a process that may have the lease, as soon as it asks for it: what
// the elector makes of time isn't its business.
type claimant struct {
	*Lease
	leases coordination.LeaseInterface // the admin's
	proxy  *labtest.Proxy
}

// TestTakenOver: what happens to a lease, and at which line of that it counts as
// taken from another holder; 0 is never.
func TestTakenOver(t *testing.T) {
	account := shipped(t)
	for _, c := range []struct {
		name   string
		script string
		want   int
	}{
		{"nobody had it", "claim", 0},
		{"released by another", "theirs, look, released, claim", 0},
		{"no longer renewed by another", "theirs, look, claim", 3},
		{"and then renewed", "theirs, claim, renew, claim, renew", 2},
		{"our own after a restart", "ours, claim, renew", 0},
		{"deleted", "theirs, look, deleted, claim", 0},
		{"deleted while it is ours", "claim, renew, deleted, claim", 0},
		{"deleted soon after it was taken", "theirs, claim, deleted, claim", 2},
		{"ours once more with nobody in between", "theirs, claim, look, claim", 2},
		{"ours once more with another in between", "claim, theirs, look, claim", 4},
		{"ours once more with another in between who released it", "claim, theirs, look, released, claim", 0},
		{"taken twice", "theirs, claim, theirs, claim", 4},
		{"we released it in between", "theirs, claim, release, claim", 2},
		{"taken without hearing of it", "theirs, unheard claim, claim", 3},
		{"too late to release it", "claim, theirs, release, claim", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			proxy := labtest.NewProxy(t, shared)
			p := &claimant{
				Lease:  connect(t, proxy.Kubeconfig(t, account)).NewLease(leaseNamespace, leaseName(t), "pod-a_1", func() {}),
				leases: shared.Client(t).CoordinationV1().Leases(leaseNamespace), proxy: proxy,
			}
			var got int
			for i, line := range strings.Split(c.script, ", ") {
				before := p.TakenOver()
				p.play(t, line)
				if at := p.TakenOver(); at != before {
					got = i + 1
				}
			}
			if got != c.want || p.TakenOver().IsZero() != (c.want == 0) {
				t.Errorf("taken over at line %d, want %d", got, c.want)
			}
		})
	}
}

func (p *claimant) play(t *testing.T, line string) {
	t.Helper()
	var err error
	switch line {
	case "theirs":
		p.set(t, "pod-b_2")
	case "ours":
		p.set(t, "pod-a_1")
	case "released":
		p.set(t, "")
	case "deleted":
		err = p.leases.Delete(t.Context(), "webservice-source-"+leaseName(t), metav1.DeleteOptions{})
	case "look":
		_, _, err = p.lock.Get(t.Context())
	case "claim":
		err = p.claim(t)
	case "renew":
		err = p.lock.Update(t.Context(), heldRecord(p.identity))
	case "release":
		if _, _, err = p.lock.Get(t.Context()); err == nil {
			err = p.lock.Update(t.Context(), heldRecord(""))
		}
	case "unheard claim":
		p.proxy.Set(labtest.When(func(r *http.Request) bool { return r.Method == http.MethodPut }, labtest.AbortAnswer()))
		if p.claim(t) == nil {
			t.Error("it was heard of")
		}
		p.proxy.Set(nil)
	default:
		t.Fatalf("no such line: %s", line)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// claim is the elector's way to a lease that is free, over or its own.
func (p *claimant) claim(t *testing.T) error {
	t.Helper()
	_, _, err := p.lock.Get(t.Context())
	if apierrors.IsNotFound(err) {
		return p.lock.Create(t.Context(), heldRecord(p.identity))
	}
	if err != nil {
		return err
	}
	return p.lock.Update(t.Context(), heldRecord(p.identity))
}

func heldRecord(holder string) resourcelock.LeaderElectionRecord {
	now := metav1.Now()
	return resourcelock.LeaderElectionRecord{
		HolderIdentity: holder, LeaseDurationSeconds: int(leaseDuration / time.Second), AcquireTime: now, RenewTime: now,
	}
}

// set makes the lease one that holder has, by the server's word; "" is nobody.
func (p *claimant) set(t *testing.T, holder string) {
	t.Helper()
	r := heldRecord(holder)
	spec := resourcelock.LeaderElectionRecordToLeaseSpec(&r)
	lease, err := p.leases.Get(t.Context(), "webservice-source-"+leaseName(t), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = p.leases.Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "webservice-source-" + leaseName(t)}, Spec: spec,
		}, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec = spec
		_, err = p.leases.Update(t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
