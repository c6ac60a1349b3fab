package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/manifests"
)

// line is the way to a server, and what has become of it.
type line struct {
	mu sync.Mutex
	// to is where new connections lead; "" is the server.
	to string
	// answer is the code that every request is answered with, past the server, and to
	// come again in a second; 0 is none.
	answer int
	// dead has the connections that carry nothing any more take their end.
	dead     chan struct{}
	tracker  *connrotation.ConnectionTracker
	dials    int
	requests map[string]int
}

func newLine() *line {
	return &line{dead: make(chan struct{}), tracker: connrotation.NewConnectionTracker(), requests: map[string]int{}}
}

// on has a config go by the line.
func (l *line) on(cfg *rest.Config) {
	cfg.Dial = l.dial
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			l.mu.Lock()
			l.requests[what(r)]++
			code := l.answer
			l.mu.Unlock()
			if code == 0 {
				return next.RoundTrip(r)
			}
			answer := httptest.NewRecorder()
			answer.Header().Set("Retry-After", "1")
			labtest.Respond(code, metav1.StatusReason(http.StatusText(code)))(answer, r, nil)
			return answer.Result(), nil
		})
	})
}

// what is asked for: a resource, which is listed or watched, or the lease.
func what(r *http.Request) string {
	if dir := path.Dir(r.URL.Path); path.Base(dir) == "leases" {
		return "leases"
	}
	return path.Base(r.URL.Path)
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	l.dials++
	dead := l.dead
	if l.to != "" {
		address = l.to
	}
	l.mu.Unlock()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return l.tracker.Track(&deadEnd{Conn: conn, dead: dead, closed: make(chan struct{})}), nil
}

// goes makes new connections lead elsewhere, and begins to count. Those that are
// open break, or only carry nothing any more.
func (l *line) goes(to string, answer int, breaks bool) {
	l.mu.Lock()
	l.to, l.answer, l.dials, l.requests = to, answer, 0, map[string]int{}
	close(l.dead)
	l.dead = make(chan struct{})
	l.mu.Unlock()
	if breaks {
		l.tracker.CloseAll()
	}
}

func (l *line) counted() (dials int, requests map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials, maps.Clone(l.requests)
}

// deadEnd is a connection that takes everything and brings nothing, once it is dead.
type deadEnd struct {
	net.Conn
	dead, closed chan struct{}
	close        sync.Once
}

func (c *deadEnd) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

func (c *deadEnd) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.isDead() {
		return n, err
	}
	<-c.closed
	return 0, net.ErrClosed
}

func (c *deadEnd) Write(p []byte) (int, error) {
	if c.isDead() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *deadEnd) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// listens is an address where connections are taken, and what is done with each.
func listens(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var taking sync.WaitGroup
	taking.Go(func() {
		var kept []net.Conn // else they would be closed when nobody knows them any more
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			each(conn)
			kept = append(kept, conn)
		}
		for _, conn := range kept {
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		taking.Wait()
	})
	return listener.Addr().String()
}

// TestAway: while the server is away it is asked for little, by the lease and by
// each watch, in whatever way it is away; what stands in the way can be told; and
// all is well again soon after it is back.
func TestAway(t *testing.T) {
	const during = 20 * time.Second
	account := shipped(t)
	shared.Apply(t, manifests.CRD())
	for _, c := range []struct {
		name   string
		to     func(t *testing.T) string
		answer int
		breaks bool
		is     string // what the reason can be told by
	}{
		{"refused", func(*testing.T) string { return "127.0.0.1:1" }, 0, true, "refused"},
		{"reset", func(t *testing.T) string {
			return listens(t, func(c net.Conn) {
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				_ = c.Close()
			})
		}, 0, true, ""},
		{"silent", func(t *testing.T) string { return listens(t, func(net.Conn) {}) }, 0, false, "no answer"},
		{"overloaded", func(*testing.T) string { return "" }, http.StatusTooManyRequests, true, ""},
		{"failing", func(*testing.T) string { return "" }, http.StatusInternalServerError, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := newLine()
			cluster, lease := line.work(t, account)
			line.goes(c.to(t), c.answer, c.breaks)
			began := time.Now()
			labtest.Eventually(t, recovery, func() error {
				if cluster.State() == nil || lease.Leading() {
					return errors.New("nobody has noticed")
				}
				return nil
			})
			t.Logf("noticed after %s: %v", time.Since(began).Round(time.Millisecond), cluster.State())
			if got := toldBy(cluster.State()); got != c.is {
				t.Errorf("the reason is %q, want %q", got, c.is)
			}
			<-time.After(time.Until(began.Add(during)))
			line.wantFew(t, time.Since(began))
			line.goes("", 0, false)
			began = time.Now()
			labtest.Eventually(t, recovery, func() error { return errors.Join(cluster.State(), lease.Check(t.Context())) })
			t.Logf("at work %s after it was back", time.Since(began).Round(time.Millisecond))
		})
	}
}

// toldBy is which of the two kinds of silence an error is; "" is neither.
func toldBy(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, ErrNoAnswer):
		return "no answer"
	}
	return ""
}

// work has a cluster and a lease go by the line until the test's end, once both work.
func (l *line) work(t *testing.T, account string) (*Cluster, *Lease) {
	t.Helper()
	cfg := labtest.ConfigFrom(t, account)
	cfg.UserAgent = agent(t)
	l.on(cfg)
	cluster, err := New(cfg, Options{InstallCRD: true, CRD: manifests.CRD()})
	if err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) { cluster.Run(ctx, &deaf{}, allowed) })
	lease, _ := contender(t, cluster, "pod-a_1")
	labtest.Eventually(t, recovery, func() error { return errors.Join(cluster.State(), lease.Check(t.Context())) })
	return cluster, lease
}

// wantFew allows each watch 2 requests a second, and 1 to all else.
func (l *line) wantFew(t *testing.T, took time.Duration) {
	t.Helper()
	dials, requests := l.counted()
	counts := fmt.Sprintf("%.2f connections", float64(dials)/took.Seconds())
	for _, what := range slices.Sorted(maps.Keys(requests)) {
		rate, most := float64(requests[what])/took.Seconds(), 1.0
		if slices.Contains([]string{watchCRD, watchConfigMaps, watchNamespaces, watchWebServices}, what) {
			most = 2
		}
		counts += fmt.Sprintf(", %.2f %s", rate, what)
		if rate >= most {
			t.Errorf("%s: %.2f requests a second", what, rate)
		}
	}
	t.Logf("a second: %s", counts)
}

// TestDeadConnections: connections that carry nothing any more, while new ones
// would, are given up before the lease is lost.
func TestDeadConnections(t *testing.T) {
	account := shipped(t)
	shared.Apply(t, manifests.CRD())
	t.Parallel()
	line := newLine()
	cluster, lease := line.work(t, account)
	line.goes("", 0, false)
	began := time.Now()
	labtest.Eventually(t, leaseDuration, func() error {
		if !lease.Leading() {
			t.Fatalf("the lease was lost after %s", time.Since(began))
		}
		dials, requests := line.counted()
		if left := lease.left(); dials == 0 || requests[watchConfigMaps] == 0 || left < renewDeadline*3/4 {
			return fmt.Errorf("%d connections, %d watches begun anew, %s left of the lease", dials, requests[watchConfigMaps], left)
		}
		return cluster.State()
	})
	t.Logf("on new connections after %s", time.Since(began).Round(time.Millisecond))
}

// TestHungRequests: a list that was asked for while nobody answered, and that nobody
// will ever answer, is asked for again once there are answers. When that is, seen
// from the last time that connections were given up, is a matter of chance.
func TestHungRequests(t *testing.T) {
	account := shipped(t)
	shared.Apply(t, manifests.CRD())
	for _, after := range []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second, 8 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			proxy := labtest.NewProxy(t, shared)
			line := newLine()
			cluster, lease := line.work(t, proxy.Kubeconfig(t, account))
			proxy.Set(labtest.Delay(time.Hour))
			proxy.CutConnections(t)
			labtest.Eventually(t, 2*recovery, func() error {
				if err := cluster.State(); !errors.Is(err, ErrNoAnswer) || lease.Leading() {
					return fmt.Errorf("leading %t, %w", lease.Leading(), err)
				}
				return nil
			})
			<-time.After(after)
			proxy.Set(nil) // what waits goes on waiting
			began := time.Now()
			labtest.Eventually(t, recovery, func() error { return errors.Join(cluster.State(), lease.Check(t.Context())) })
			t.Logf("at work %s after there were answers", time.Since(began).Round(time.Millisecond))
		})
	}
}
