package labtest

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// Proxy stands between a client and the server, and spoils what passes as its fault says. A request with a token goes
// on with that token; one without goes on as the admin.
type Proxy struct {
	forward http.Handler
	fault   atomic.Pointer[Fault]

	mu        sync.Mutex
	address   string
	authority []byte           // PEM
	server    *httptest.Server // nil while down
}

// NewProxy starts a proxy that passes everything on unchanged, until the test's end.
func NewProxy(t testing.TB, c *Cluster) *Proxy {
	t.Helper()
	forward, err := newForward(c.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{address: "127.0.0.1:0", forward: forward}
	p.Up(t)
	t.Cleanup(p.Down)
	return p
}

// Kubeconfig writes a copy of a kubeconfig whose server is the proxy, and returns its path.
func (p *Proxy) Kubeconfig(t testing.TB, base string) string {
	t.Helper()
	config := loadKubeconfig(t, base)
	cluster := currentCluster(config)
	// TLS, since client-go keeps its credentials to itself on plain HTTP.
	p.mu.Lock()
	cluster.Server, cluster.CertificateAuthorityData = "https://"+p.address, p.authority
	p.mu.Unlock()
	if user := currentUser(config); user.Token == "" {
		*user = *emptyUser()
	}
	path := filepath.Join(t.TempDir(), "proxy.kubeconfig")
	saveKubeconfig(t, config, path)
	return path
}

// Set makes a fault act on every request from now on, or none with nil. Open watches go on: see CutConnections.
func (p *Proxy) Set(f Fault) { p.fault.Store(&f) }

// CutConnections breaks every open connection, watches included. New ones are taken.
func (p *Proxy) CutConnections(t testing.TB) {
	t.Helper()
	p.Down()
	p.Up(t)
}

// Down breaks every connection and refuses new ones, as a server that is away.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return
	}
	// Not the test server's Close: it would wait for faults that the test itself has yet to end.
	_ = p.server.Config.Close()
	p.server = nil
}

// Up takes connections again, on the same port as before.
func (p *Proxy) Up(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		return
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp4", p.address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(p)
	_ = server.Listener.Close()
	server.Listener, server.Config.ErrorLog = listener, silent()
	// HTTP/1.1: a broken request is a broken connection then, and each watch has one of its own.
	server.StartTLS()
	p.server, p.address = server, listener.Addr().String()
	p.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := p.fault.Load(); f != nil && *f != nil {
		(*f)(w, r, p.forward)
		return
	}
	p.forward.ServeHTTP(w, r)
}

func newForward(admin *rest.Config) (http.Handler, error) {
	target, err := url.Parse(admin.Host)
	if err != nil {
		return nil, err
	}
	asAdmin, err := rest.TransportFor(admin)
	if err != nil {
		return nil, err
	}
	// A client certificate would win over the token.
	asCaller, err := rest.TransportFor(rest.AnonymousClientConfig(admin))
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1, // each watch event at once
		ErrorLog:      silent(),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") == "" {
				return asAdmin.RoundTrip(r)
			}
			return asCaller.RoundTrip(r)
		}),
	}, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func silent() *log.Logger { return log.New(io.Discard, "", 0) }
