//go:build soak

package e2e

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// worksAgain is how long a daemon may take after a long outage.
const worksAgain = time.Minute

// Six minutes are longer than any watch's and connection's patience.
func TestSoakAnOutageOfSixMinutes(t *testing.T) {
	t.Parallel()
	const outage = 6 * time.Minute
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "a", "b", "c", "d")
	d := l.run(soonPruned)
	d.converges()
	before := l.states()

	l.cluster.Stop(t)
	d.reports(recovery, unconverged, waitsFor("the API server can't be reached"))
	log := len(d.stderr.String())
	l.goesBy(outage)
	if more := d.stderr.String()[log:]; strings.Count(more, "\n") > int(outage/(10*time.Second)) {
		t.Errorf("it says too much meanwhile: %s", more)
	}
	l.cluster.Restart(t)
	began := time.Now()
	d.reports(worksAgain, converged, idle)
	t.Logf("converged %s after the server was back", time.Since(began).Round(time.Millisecond))
	l.equal(before, l.states())
	l.writeServices("nginx:1.28", "a")
	labtest.Eventually(t, worksAgain, func() error { return l.done("a", "nginx:1.28") })
}

// However a server is away, and however long: it isn't asked for much, nothing that
// is live is taken for gone, and what was missed is done soon after it is back.
func TestSoakFiveMinutesOfEveryOutage(t *testing.T) {
	t.Parallel()
	const outage = 5 * time.Minute
	for name, c := range map[string]struct {
		fault labtest.Fault
		says  string
	}{
		"connections break":  {labtest.Abort(), "it breaks the connection off"},
		"nobody answers":     {labtest.Delay(time.Hour), "it gives no answer"},
		"429 and 500 to all": {overloaded(&atomic.Int64{}), "the API server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			proxy := labtest.NewProxy(t, l.cluster)
			l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
			l.writeServices("nginx:1.27", "a", "b", "c", "d")
			d := l.run(soonPruned)
			d.converges()
			before := l.states()

			asked := counter{counts: map[string]int{}}
			proxy.Set(asked.before(c.fault))
			proxy.CutConnections(t)
			began := time.Now()
			labtest.Eventually(t, recovery, func() error { return d.unready(c.says) })
			l.writeServices("nginx:1.28", "a")
			d.reports(recovery, unconverged, waitsFor(c.says))
			log := len(d.stderr.String())
			l.goesBy(outage)
			l.must(d.unready(c.says))
			asked.wantFew(t, time.Since(began))
			if more := d.stderr.String()[log:]; strings.Count(more, "\n") > int(outage/(10*time.Second)) {
				t.Errorf("it says too much meanwhile: %s", more)
			}
			l.equal(before, l.states())
			proxy.Set(nil)
			began = time.Now()
			d.reports(recovery, converged, active)
			t.Logf("converged %s after the server was back", time.Since(began).Round(time.Millisecond))
			l.must(errors.Join(l.allDone("nginx:1.28", "a"), l.allDone("nginx:1.27", "b", "c", "d"), d.ready()))
		})
	}
}

// wire passes bytes on between a client and the server, TLS and all.
type wire struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	silent *atomic.Bool // of the connections made since the last silence
}

// newWire starts a wire and returns a kubeconfig that goes by it.
func (l *lab) newWire() *wire {
	l.Helper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	l.must(err)
	w := &wire{silent: &atomic.Bool{}}
	var listen net.ListenConfig
	w.listener, err = listen.Listen(l.Context(), "tcp4", "127.0.0.1:0")
	l.must(err)
	l.Cleanup(func() { _ = w.listener.Close() })
	for _, c := range config.Clusters {
		server, err := url.Parse(c.Server)
		l.must(err)
		w.target = server.Host
		c.Server = "https://" + w.listener.Addr().String()
	}
	l.kubeconfig = filepath.Join(l.home, "wire.kubeconfig")
	l.must(clientcmd.WriteToFile(*config, l.kubeconfig))
	go w.accept()
	return w
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		var dial net.Dialer
		server, err := dial.Dial("tcp4", w.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		silent := w.silent
		w.mu.Unlock()
		go carry(client, server, silent)
		go carry(server, client, silent)
	}
}

// carry loses all that comes once it is silent. Nobody is told of that.
func carry(from, to net.Conn, silent *atomic.Bool) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !silent.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) && silent.Load() {
				return
			}
			return
		}
	}
}

// silence makes every connection a dead one; new ones work.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent.Store(true)
	w.silent = &atomic.Bool{}
}

// A connection that something on the way has forgotten, such as a firewall, looks
// open and carries nothing. That is noticed, and what was missed is made up for.
func TestSoakConnectionsThatCarryNothingAreGivenUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.newWire()
	l.writeServices("nginx:1.27", "a", "b")
	d := l.run(soonPruned)
	d.converges()
	old := l.uid("b")

	w.silence()
	l.remove(configmaps(), "a-desired")
	l.remove(webservices(), "b")
	began := time.Now()
	labtest.Eventually(t, worksAgain, func() error { return errors.Join(l.done("a", "nginx:1.27"), l.done("b", "nginx:1.27")) })
	t.Logf("made up for after %s", time.Since(began).Round(time.Millisecond))
	if l.uid("b") == old {
		t.Error("b isn't a new object")
	}
	d.reports(worksAgain, converged, func(r *report.Report) error {
		if r.Role != report.RoleActive {
			return errors.New("it stands by")
		}
		return nil
	})
}
