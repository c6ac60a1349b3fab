package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
)

// claimant is a process that may have the lease as soon as it asks for it: whether
// the lease is over isn't its business.
type claimant struct {
	*Lease
	cluster *Cluster
	leases  coordination.LeaseInterface // the admin's
	proxy   *labtest.Proxy
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
		{"deleted under another", "theirs, look, deleted, claim", 4},
		{"deleted after another released it", "theirs, look, released, look, deleted, claim", 0},
		{"deleted while it is ours", "claim, renew, deleted, claim", 0},
		{"deleted soon after it was taken", "theirs, claim, deleted, claim", 2},
		{"ours once more with nobody in between", "theirs, claim, look, claim", 2},
		{"ours once more with another in between", "claim, theirs, look, claim", 4},
		{"ours once more with another in between who released it", "claim, theirs, look, released, claim", 0},
		{"taken twice", "theirs, claim, theirs, claim", 4},
		{"we released it in between", "theirs, claim, release, claim", 2},
		{"taken without hearing of it", "theirs, unheard claim, claim", 3},
		{"too late to release it", "claim, theirs, release, claim", 4},
		{"taken by another and released", "released with a note, claim", 2},
		{"taken before a crash of ours", "theirs, claim, restart, claim, renew", 4},
		{"taken and released before a restart", "theirs, claim, release, restart, claim", 5},
		{"the note is no time", "released with an odd note, claim", 2},
		{"taken and made anew before a restart", "theirs, claim, deleted, claim, restart, claim", 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			proxy := labtest.NewProxy(t, shared)
			p := &claimant{
				cluster: connect(t, proxy.Kubeconfig(t, account)),
				leases:  shared.Client(t).CoordinationV1().Leases(leaseNamespace), proxy: proxy,
			}
			p.restart(t)
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

// restart makes it a process that knows nothing, with the identity that it had.
func (p *claimant) restart(t *testing.T) {
	t.Helper()
	p.Lease = p.cluster.NewLease(leaseNamespace, leaseName(t), "pod-a_1", func() {})
}

func (p *claimant) play(t *testing.T, line string) {
	t.Helper()
	var err error
	switch line {
	case "theirs":
		p.set(t, "pod-b_2", "")
	case "ours":
		p.set(t, "pod-a_1", "")
	case "released":
		p.set(t, "", "")
	case "released with a note":
		p.set(t, "", time.Now().UTC().Format(time.RFC3339Nano))
	case "released with an odd note":
		p.set(t, "", "yesterday")
	case "deleted":
		err = p.leases.Delete(t.Context(), "webservice-source-"+leaseName(t), metav1.DeleteOptions{})
	case "look":
		err = p.object.look(t.Context())
	case "claim":
		err = p.lookAndClaim(t)
	case "renew":
		err = p.claim(t.Context())
	case "release":
		p.release(t.Context())
	case "restart":
		p.restart(t)
	case "unheard claim":
		p.proxy.Set(labtest.When(func(r *http.Request) bool { return r.Method == http.MethodPut }, labtest.AbortAnswer()))
		if p.lookAndClaim(t) == nil {
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

func (p *claimant) lookAndClaim(t *testing.T) error {
	t.Helper()
	if err := p.object.look(t.Context()); err != nil {
		return err
	}
	return p.claim(t.Context())
}

// set makes the lease one that holder has, by the server's word; "" is nobody. A
// note goes on it where there is one.
func (p *claimant) set(t *testing.T, holder, note string) {
	t.Helper()
	seconds, now := int32(leaseDuration/time.Second), metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now, AcquireTime: &now}
	lease, err := p.leases.Get(t.Context(), "webservice-source-"+leaseName(t), metav1.GetOptions{})
	fresh := apierrors.IsNotFound(err)
	if fresh {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "webservice-source-" + leaseName(t)}}
	} else if err != nil {
		t.Fatal(err)
	}
	lease.Spec = spec
	if note != "" {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, v1.TakenOverAnnotation, note)
	}
	if fresh {
		_, err = p.leases.Create(t.Context(), lease, metav1.CreateOptions{})
	} else {
		_, err = p.leases.Update(t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNote: how long ago a note was written, by our own clock, whatever that says
// and whatever the server's does.
func TestNote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(metav1.RFC3339Micro) }
		for name, c := range map[string]struct {
			ahead time.Duration // the server's clock, of ours
			note  string
			want  time.Duration
		}{
			"a minute ago":                           {0, ago(time.Minute), time.Minute},
			"whole seconds":                          {0, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), time.Minute},
			"our clock is an hour behind":            {time.Hour, ago(-time.Hour + time.Minute), time.Minute},
			"our clock is an hour ahead":             {-time.Hour, ago(time.Hour + time.Minute), time.Minute},
			"dates have whole seconds":               {-999 * time.Millisecond, ago(time.Minute), time.Minute},
			"it lies ahead":                          {0, ago(-time.Hour), 0},
			"nobody can read it":                     {0, "yesterday", 0},
			"our own, with the server's clock wrong": {time.Hour, "", -1},
		} {
			var clock serverClock
			clock.set(c.ahead)
			if c.want < 0 {
				c.note, c.want = clock.stamp(), 0
			}
			if got := time.Since(clock.since(c.note)); got != c.want {
				t.Errorf("%s: %s ago, want %s", name, got, c.want)
			}
		}
		var clock serverClock
		if at := clock.since(""); !at.IsZero() {
			t.Errorf("no note: %s", at)
		}
	})
}

// TestServerClock: the time is read off the server's answers.
func TestServerClock(t *testing.T) {
	t.Parallel()
	date := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	var clock serverClock
	away := errors.New("away")
	for _, err := range []error{nil, away} {
		server := clock.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return &http.Response{Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
		}))
		answer, got := server.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		if !errors.Is(got, err) {
			t.Fatal(got)
		}
		if answer != nil {
			_ = answer.Body.Close()
		}
		if behind := time.Since(clock.now()); (behind - time.Hour).Abs() > 5*time.Second {
			t.Errorf("behind by %s", behind)
		}
	}
}
