package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// serve starts a server whose readiness is what ready says, until the test's end.
func serve(t *testing.T, ready func() error) *Server {
	t.Helper()
	s, err := Listen(t.Context(), "127.0.0.1:0", ready, silent())
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	return s
}

// run has s serve until the test's end.
func run(t *testing.T, s *Server) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
}

// answer is what a request came to.
type answer struct {
	code   int
	header http.Header
	body   string
}

func ask(t *testing.T, s *Server, method, path string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func ok() error { return nil }

// silent is for tests in which nothing goes wrong that is worth a word.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestRoutes: what is served, to which methods, and that nothing else is.
func TestRoutes(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	s.Publish(&report.Report{})
	for _, c := range []struct {
		method, path string
		code         int
		body         string // a part of it
	}{
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/readyz", 200, "ok"},
		{"GET", "/api/report", 200, `"schema"`},
		{"HEAD", "/healthz", 200, ""},
		{"HEAD", "/readyz", 200, ""},
		{"HEAD", "/api/report", 200, ""},
		{"GET", "/healthz?verbose=1", 200, "ok"},
		{"POST", "/healthz", 405, "only GET and HEAD"},
		{"PUT", "/api/report", 405, "only GET and HEAD"},
		{"DELETE", "/api/report", 405, "only GET and HEAD"},
		{"PATCH", "/api/report", 405, "only GET and HEAD"},
		{"OPTIONS", "/readyz", 405, "only GET and HEAD"},
		{"POST", "/nothing", 405, "only GET and HEAD"},
		{"GET", "/nothing", 404, ""},
		{"GET", "/healthz/", 404, ""},
		{"GET", "/api", 404, ""},
		{"GET", "/api/", 404, ""},
		{"GET", "/debug/pprof/", 404, ""},
		{"GET", "/server.go", 404, ""},
		{"GET", "/../../etc/passwd", 404, ""},
	} {
		got := ask(t, s, c.method, c.path)
		if got.code != c.code && (c.code != 404 || got.code >= 500 || got.code == 200) {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got.code, c.code)
		}
		if !strings.Contains(got.body, c.body) || c.method == "HEAD" && got.body != "" {
			t.Errorf("%s %s: body %q", c.method, c.path, got.body)
		}
		if allow := got.header.Get("Allow"); (c.code == 405) != (allow == "GET, HEAD") {
			t.Errorf("%s %s: Allow %q", c.method, c.path, allow)
		}
		if c.code == 200 && (got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s %s: headers %v", c.method, c.path, got.header)
		}
	}
}

// TestReadyz says what is amiss, and healthz doesn't care.
func TestReadyz(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	amiss := errors.New("the CRD isn't established yet")
	s := serve(t, func() error { mu.Lock(); defer mu.Unlock(); return amiss })
	if got := ask(t, s, "GET", "/readyz"); got.code != 503 || got.body != "the CRD isn't established yet\n" {
		t.Errorf("%d %q", got.code, got.body)
	}
	if got := ask(t, s, "HEAD", "/readyz"); got.code != 503 {
		t.Errorf("HEAD: %d", got.code)
	}
	if got := ask(t, s, "GET", "/healthz"); got.code != 200 {
		t.Errorf("healthz: %d", got.code)
	}
	mu.Lock()
	amiss = nil
	mu.Unlock()
	if got := ask(t, s, "GET", "/readyz"); got.code != 200 {
		t.Errorf("ready: %d", got.code)
	}
}

// TestReport: the report as the file has it, and none before there is one.
func TestReport(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	if got := ask(t, s, "GET", "/api/report"); got.code != 503 || got.body != "there is no report yet\n" {
		t.Errorf("%d %q", got.code, got.body)
	}
	s.Publish(&report.Report{Cycle: 7, Trigger: report.TriggerFiles, Started: time.Unix(0, 0), Converged: true})
	s.Publish(&report.Report{Cycle: 8, Trigger: report.TriggerFiles, Started: time.Unix(0, 0), WaitingFor: "<nothing> & more"})
	served := ask(t, s, "GET", "/api/report")
	if got := served.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("type %s", got)
	}
	var got struct {
		Schema     string
		Cycle      int
		Converged  bool
		WaitingFor string `json:"waiting_for"`
		Items      []any
	}
	if err := json.Unmarshal([]byte(served.body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != report.Schema || got.Cycle != 8 || got.Converged || got.WaitingFor != "<nothing> & more" || got.Items == nil {
		t.Errorf("%+v", got)
	}
}

// TestTimeouts: no connection is open for ever, and no header is endless.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	h := s.http
	for name, c := range map[string]struct{ got, most time.Duration }{
		"header": {h.ReadHeaderTimeout, time.Minute}, "read": {h.ReadTimeout, time.Minute},
		"write": {h.WriteTimeout, time.Minute}, "idle": {h.IdleTimeout, 15 * time.Second},
	} {
		if c.got <= 0 || c.got > c.most {
			t.Errorf("%s: %v", name, c.got)
		}
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	long := "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 64<<10) + "\r\n\r\n"
	if _, err := io.WriteString(conn, long); err != nil {
		return // the server has closed the connection already
	}
	status := make([]byte, 12)
	if _, err := io.ReadFull(conn, status); err == nil && string(status) != "HTTP/1.1 431" {
		t.Errorf("%s", status)
	}
}

// TestListen: an address that can't be had is known at once, and named.
func TestListen(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	_, err := Listen(t.Context(), s.Addr(), ok, silent())
	var taken *net.OpError
	if !errors.As(err, &taken) || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("a port that is taken: %v", err)
	}
	if _, err := Listen(t.Context(), "no port", ok, silent()); err == nil {
		t.Error("an address that is none")
	}
}

// TestShutdown lets a request under way end, and takes no other.
func TestShutdown(t *testing.T) {
	t.Parallel()
	under, goOn := make(chan struct{}), make(chan struct{})
	s, err := Listen(t.Context(), "127.0.0.1:0", func() error { close(under); <-goOn; return nil }, silent())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve() }()
	answered := make(chan int)
	go func() {
		answered <- ask(t, s, "GET", "/readyz").code
	}()
	<-under
	stopped := make(chan error)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	if err := <-served; err != nil {
		t.Error(err)
	}
	close(goOn)
	if code := <-answered; code != 200 {
		t.Errorf("the request under way: %d", code)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr()); err == nil {
		t.Error("connections are taken still")
	}
}

// TestShutdownBeforeServe gives the address back too.
func TestShutdownBeforeServe(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), "127.0.0.1:0", ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(); err != nil {
		t.Error(err)
	}
	again, err := Listen(t.Context(), s.Addr(), ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.listener.Close()
}
