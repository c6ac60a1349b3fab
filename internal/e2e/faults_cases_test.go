package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// What the lease and its deadlines are; see ARCHITECTURE.md.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
)

// isLease matches what the lease needs, and isStep the writes of steps.
func isLease(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }

func isStep(r *http.Request) bool { return labtest.IsWrite(r) && !isLease(r) }

// A right that is taken away shows once the watch that needs it has to be begun
// anew, and names what to grant.
func TestARightThatIsTakenAwayIsNamed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	l.kubeconfig = l.revocable()
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(everySecond)
	d.converges()

	binding := "looks-in-" + l.namespace
	l.cluster.Kubectl(t, "delete", "clusterrolebinding", binding)
	proxy.CutConnections(t)
	parts := []string{"configmaps", "cannot list resource", "grant the rights in manifests/rbac.yaml"}
	d.reports(30*time.Second, unconverged, waitsFor(parts...))
	labtest.Eventually(t, 30*time.Second, func() error {
		code, body := d.get("/readyz")
		if code != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz: %d %s", code, body)
		}
		return says(body, parts...)
	})
	l.must(l.done("checkout", "nginx:1.27"))
	l.bind(binding, "looks")
	d.reports(recovery, converged, idle)
}

// revocable is an account with the shipped rights in two parts, of which looking
// at ConfigMaps is one.
func (l *lab) revocable() string {
	l.Helper()
	kubeconfig := l.cluster.ServiceAccount(l, l.namespace, "revocable")
	l.cluster.Apply(l, []byte(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: looks}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: acts}
rules:
  - {apiGroups: [apps.labhub.io], resources: [webservices, webservices/status], verbs: [list, watch, create, patch]}
  - {apiGroups: [""], resources: [configmaps], verbs: [get, create, patch, delete]}
  - {apiGroups: [""], resources: [namespaces], verbs: [list, watch, create]}
  - {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
`))
	l.bind("looks-in-"+l.namespace, "looks")
	l.bind("acts-in-"+l.namespace, "acts")
	return kubeconfig
}

func (l *lab) bind(binding, role string) {
	l.Helper()
	l.cluster.Apply(l, fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{kind: ServiceAccount, name: revocable, namespace: %s}]
`, binding, role, l.namespace))
}

// What happened while the watches were cut off is found by listing anew, also
// where the server has forgotten the version that they want to go on from.
func TestWhatTheWatchesMissedIsMadeUpFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	l.writeServices("nginx:1.27", "kept", "deleted", "childless", "edited")
	d := l.run(soonPruned, everySecond)
	d.converges()
	old, h := l.uid("deleted"), l.follow()
	kept := l.states()

	proxy.Down()
	l.remove(webservices(), "deleted")
	l.remove(configmaps(), "childless-desired")
	l.edit(webservices(), "edited", `{"spec": {"image": "evil:1"}}`)
	d.reports(recovery, unconverged, waitsFor("the API server can't be reached"))
	proxy.Set(labtest.When(labtest.IsWatch, labtest.Times(8, labtest.Respond(http.StatusGone, metav1.StatusReasonExpired))))
	proxy.Up(t)
	began := time.Now()
	d.reports(recovery, converged)
	t.Logf("converged %s after the server was back", time.Since(began).Round(time.Millisecond))
	for _, name := range []string{"kept", "deleted", "childless", "edited"} {
		l.must(l.done(name, "nginx:1.27"))
	}
	if l.uid("deleted") == old {
		t.Error("it isn't a new object")
	}
	labtest.Eventually(t, convergeLimit, func() error {
		return errors.Join(h.tells("ADDED webservices", "ADDED webservices/deleted"), h.tells("DELETED webservices", "DELETED webservices/deleted"))
	})
	for _, name := range []string{"webservices/kept", "configmaps/kept-desired"} {
		if l.states()[name] != kept[name] {
			t.Errorf("%s was written", name)
		}
	}
}

// A server that takes its time is waited for: nobody loses the lease or gives up over
// it, and what is to be done gets done.
func TestASlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	const slow = 2 * time.Second
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1.27", "a", "b", "c")
	proxy.Set(labtest.Delay(slow))
	d := l.run(everySecond)
	r := d.converges(active)
	mark := l.cluster.Audit().Mark(t)
	proxy.CutConnections(t)
	l.writeServices("nginx:1.28", "a", "b", "c")
	d.reports(convergeLimit, reading(r), converged)
	l.must(l.allDone("nginx:1.28", "a", "b", "c"))
	l.goesBy(renewDeadline)
	d.reports(convergeLimit, converged, active, idle)
	l.must(d.ready())
	for _, name := range []string{"a", "b", "c"} {
		if n := len(l.taken(name, mark)); n != 1 {
			t.Errorf("%s was applied %d times", name, n)
		}
	}
}

// A server that takes no writes is asked ever more rarely, and reported meanwhile.
func TestAServerThatTakesNoWritesIsntFlooded(t *testing.T) {
	t.Parallel()
	const during = 15 * time.Second
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	names := []string{"a", "b", "c"}
	l.writeServices("nginx:1.27", names...)
	d := l.run(everySecond, "--reconcile-backoff-initial=2s")
	r := d.converges()

	var sent atomic.Int64
	proxy.Set(labtest.When(isStep, overloaded(&sent)))
	began := time.Now()
	l.writeServices("nginx:1.28", names...)
	d.reports(convergeLimit, reading(r), unconverged)
	l.goesBy(during)
	d.reports(convergeLimit, unconverged, item("a", failing), item("b", failing), item("c", failing))
	if rate := float64(sent.Load()) / time.Since(began).Seconds(); rate >= 1 {
		t.Errorf("%.1f requests a second", rate)
	}
	// It is at rest again when it takes writes, and a file that changes isn't kept waiting.
	proxy.Set(nil)
	l.writeServices("nginx:1.29", names...)
	d.reports(recovery, converged)
	for _, name := range names {
		l.must(l.done(name, "nginx:1.29"))
	}
}

// overloaded answers in turn with the two codes of a server that has too much to do.
func overloaded(sent *atomic.Int64) labtest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if sent.Add(1)%2 == 0 {
			labtest.Respond(http.StatusInternalServerError, metav1.StatusReasonInternalError)(w, r, next)
			return
		}
		w.Header().Set("Retry-After", "1")
		labtest.Respond(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)(w, r, next)
	}
}

// A leader whose renewals don't come through stops writing before anybody else
// may begin, stands by, and goes on running.
func TestALeaderThatCantRenewStandsBy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	direct := l.kubeconfig
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	l.writeServices("nginx:1", "checkout")
	first := l.run()
	first.converges()
	other := l.beside()
	other.kubeconfig = direct
	other.writeServices("httpd:2.4", "checkout")
	second := other.run()
	second.reports(convergeLimit, func(r *report.Report) error {
		if r.Role != report.RoleStandby || r.Holder != first.identity() {
			return fmt.Errorf("role %s, holder %s", r.Role, r.Holder)
		}
		return nil
	})

	var lastWrite atomic.Int64
	began := time.Now()
	proxy.Set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch {
		case isLease(r) && labtest.IsWrite(r):
			panic(http.ErrAbortHandler)
		case isStep(r):
			lastWrite.Store(int64(time.Since(began)))
		}
		next.ServeHTTP(w, r)
	})
	// It is kept at work, so that it would write if it thought that it may.
	n := 1
	labtest.Eventually(t, 2*leaseDuration, func() error {
		if r, err := second.report(); err != nil || r.Role != report.RoleActive {
			if at := int(time.Since(began) / (500 * time.Millisecond)); at > n {
				n = at
				l.writeServices(fmt.Sprintf("nginx:%d", n), "checkout")
			}
			return fmt.Errorf("%w: %+v", err, r.Role)
		}
		return nil
	})
	took, last := time.Since(began), time.Duration(lastWrite.Load())
	t.Logf("the last write was %s, and the lease taken %s after the renewals ended", last.Round(100*time.Millisecond), took.Round(100*time.Millisecond))
	if last > renewDeadline+500*time.Millisecond || last < renewDeadline/2 {
		t.Errorf("the last write was begun after %s", last)
	}
	if took > leaseDuration+5*time.Second {
		t.Errorf("the lease was taken after %s", took)
	}
	labtest.Eventually(t, recovery, func() error { return l.done("checkout", "httpd:2.4") })
	proxy.Set(nil)
	first.reports(recovery, unconverged, func(r *report.Report) error {
		if r.Role != report.RoleStandby || r.Holder != second.identity() {
			return fmt.Errorf("role %s, holder %s", r.Role, r.Holder)
		}
		return nil
	})
	l.must(l.done("checkout", "httpd:2.4"))
}

// A holder's clock may be an hour off: whether it lives is judged by whether its
// lease moves, and for how long by one's own clock.
func TestALeaseOfAClockThatIsWrongIsJudgedByWhetherItMoves(t *testing.T) {
	t.Parallel()
	dead, alive := newLab(t), newLab(t)
	dead.leaseOf("elsewhere", time.Now().Add(time.Hour))
	alive.leaseOf("elsewhere", time.Now().Add(-time.Hour))
	dead.writeServices("nginx:1.27", "checkout")
	alive.writeServices("nginx:1.27", "checkout")
	d, standby := dead.run(), alive.run()
	began := time.Now()
	renewed := began
	labtest.Eventually(t, leaseDuration+5*time.Second, func() error {
		if time.Since(renewed) > 2*time.Second {
			renewed = time.Now()
			alive.leaseOf("elsewhere", renewed.Add(-time.Hour))
		}
		return dead.done("checkout", "nginx:1.27")
	})
	if took := time.Since(began); took < leaseDuration-time.Second {
		t.Errorf("the lease of the dead was taken after %s", took)
	}
	d.converges()
	r := standby.reports(convergeLimit, unconverged, waitsFor("elsewhere"))
	if r.Role != report.RoleStandby || r.Holder != "elsewhere" {
		t.Errorf("role %s, holder %s", r.Role, r.Holder)
	}
}

// leaseOf writes the lease of the lab's source as its holder would, by a clock of its own.
func (l *lab) leaseOf(holder string, at time.Time) {
	l.Helper()
	leases := l.core.CoordinationV1().Leases(account)
	seconds, now := int32(leaseDuration/time.Second), metav1.NewMicroTime(at)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "webservice-source-" + l.name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}
	patch := fmt.Appendf(nil, `{"spec": {"renewTime": %q}}`, at.UTC().Format(metav1.RFC3339Micro))
	if _, err := leases.Patch(l.Context(), lease.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
		return
	}
	_, err := leases.Create(l.Context(), lease, metav1.CreateOptions{})
	l.must(err)
	l.afterwards(func(ctx context.Context) error { return leases.Delete(ctx, lease.Name, metav1.DeleteOptions{}) })
}

// A token is read from its file again as soon as the server doesn't take the one
// before any more, and not only once a minute.
func TestATokenThatEndsIsReadAnew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty")
	l.kubeconfig = l.revocable()
	token := l.tokenFile()
	l.writeServices("nginx:1.27", "checkout")
	d := l.run(everySecond)
	d.converges()

	// Tokens end with their account, and those of a new one of the name are others.
	accounts := l.core.CoreV1().ServiceAccounts(l.namespace)
	l.must(accounts.Delete(t.Context(), "revocable", metav1.DeleteOptions{}))
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "revocable"}}, metav1.CreateOptions{})
	l.must(err)
	d.reports(convergeLimit, unconverged, waitsFor("the API server doesn't know who we are", "check the credentials"))
	mark := l.cluster.Audit().Mark(t)
	l.must(os.WriteFile(token, []byte(l.cluster.Token(t, l.namespace, "revocable", time.Hour)), 0o600))
	began := time.Now()
	l.writeServices("nginx:1.28", "checkout")
	labtest.Eventually(t, recovery, func() error { return l.done("checkout", "nginx:1.28") })
	d.reports(recovery, converged)
	t.Logf("at work again after %s, %d requests refused meanwhile", time.Since(began).Round(time.Millisecond), l.unauthorized(mark))
}

// tokenFile makes the kubeconfig's token one in a file, as a pod has it.
func (l *lab) tokenFile() string {
	l.Helper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	l.must(err)
	path := filepath.Join(l.home, "token")
	for _, user := range config.AuthInfos {
		l.must(os.WriteFile(path, []byte(user.Token), 0o600))
		user.Token, user.TokenFile = "", path
	}
	l.must(clientcmd.WriteToFile(*config, l.kubeconfig))
	return path
}

// unauthorized counts the requests of controllers that the server has refused since
// a mark, not knowing who asks.
func (l *lab) unauthorized(since labtest.Mark) int {
	l.Helper()
	refused := 0
	for _, r := range l.cluster.Audit().Requests(l, "webservice-controller/", since) {
		if r.Code == http.StatusUnauthorized {
			refused++
		}
	}
	return refused
}
