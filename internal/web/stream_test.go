package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// event is one of a stream.
type event struct{ name, id, data string }

// reader reads a stream as an EventSource does.
type reader struct {
	*testing.T
	resp *http.Response
	body *bufio.Reader
}

// follow opens a stream; header has pairs of names and values.
func follow(t *testing.T, s *Server, path string, header ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t, resp, bufio.NewReader(resp.Body)}
	t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	return r
}

func (r *reader) next() (event, error) {
	var e event
	for {
		line, err := r.body.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			return e, nil
		}
	}
}

// report is the next event that is one.
func (r *reader) report() (event, frame) {
	r.Helper()
	for {
		e, err := r.next()
		if err != nil {
			r.Fatal(err)
		}
		if e.name != "report" {
			continue
		}
		var f frame
		if err := json.Unmarshal([]byte(e.data), &f); err != nil {
			r.Fatal(err)
		}
		return e, f
	}
}

func keysOf(items []item) []string {
	out := make([]string, 0, len(items))
	for i := range items {
		out = append(out, items[i].Namespace+"/"+items[i].Name)
	}
	return out
}

// TestStream: all at first, then what has changed, and after a break what was missed.
func TestStream(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	s.Show(&shown{history: aHistory(time.Now())})
	r := follow(t, s, "/api/stream")
	other := follow(t, s, "/api/stream") // keeps the feed while the first is away
	if got := r.resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %q", got)
	}
	if e, err := r.next(); err != nil || e.name != "beat" || !strings.Contains(e.data, `"not_ready":""`) {
		t.Errorf("first %+v, %v", e, err)
	}
	five := func() *report.Report {
		r := aReport(6)
		r.Items = r.Items[:5]
		return r
	}
	s.Publish(five())
	_, first := r.report()
	if !first.Full || len(first.Items) != 5 || len(first.Cycles) != 90 || len(first.NotConverged) != 3 || first.Lists == nil {
		t.Errorf("first: full %t, %d items, %d cycles, lists %v", first.Full, len(first.Items), len(first.Cycles), first.Lists)
	}
	var head report.Report
	if err := json.Unmarshal(first.Report, &head); err != nil || head.Schema != report.Schema || len(head.Items) != 0 || !head.Converged {
		t.Errorf("head %+v, %v", head, err)
	}

	changed := five()
	changed.Items[2].Reason = "changed"
	changed.Problems = []report.Problem{{Path: "a.yaml", Message: "x"}}
	s.Publish(changed)
	at, second := r.report()
	if second.Full || len(second.Items) != 1 || second.Items[0].Reason != "changed" || len(second.Cycles) != 0 || len(second.Lists.Problems) != 1 {
		t.Errorf("second: %+v", second)
	}

	_ = r.resp.Body.Close()
	gone := aReport(6)
	gone.Items[2].Reason = "changed"
	gone.Problems = changed.Problems
	last := gone.Items[5]
	gone.Items = append(gone.Items[:1:1], gone.Items[2:]...)
	s.Publish(gone)
	other.report() // it has been told of one of them, or of both
	for name, again := range map[string]*reader{
		"by header": follow(t, s, "/api/stream", "Last-Event-ID", at.id), "by address": follow(t, s, "/api/stream?since="+at.id),
	} {
		_, missed := again.report()
		if missed.Full || missed.Lists != nil || len(missed.Gone) != 1 || missed.Gone[0] != (key{changed.Items[1].Namespace, changed.Items[1].Name}) {
			t.Errorf("%s: full %t, lists %v, gone %v", name, missed.Full, missed.Lists, missed.Gone)
		}
		if got := keysOf(missed.Items); len(got) == 0 || got[len(got)-1] != last.Namespace+"/"+last.Name {
			t.Errorf("%s: items %q", name, got)
		}
	}
	for _, id := range []string{"nonsense", "other.3", strings.Split(at.id, ".")[0] + ".99", at.id + "9999"} {
		if _, all := follow(t, s, "/api/stream", "Last-Event-ID", id).report(); !all.Full || len(all.Items) != 5 {
			t.Errorf("an id that isn't known, %s: full %t", id, all.Full)
		}
	}
}

// TestStreamOutlivesTheLimits: what bounds short answers doesn't end a stream.
func TestStreamOutlivesTheLimits(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), "127.0.0.1:0", ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	const limit = 100 * time.Millisecond
	s.http.WriteTimeout, s.http.ReadTimeout = limit, limit
	run(t, s)
	r := follow(t, s, "/api/stream")
	for i := range 5 {
		<-time.After(limit)
		s.Publish(&report.Report{Cycle: int64(i)})
		if _, f := r.report(); !strings.Contains(string(f.Report), fmt.Sprintf(`"cycle":%d`, i)) {
			t.Errorf("report %s", f.Report)
		}
	}
}

// TestStreamsAreBounded: one too many is told so, and a place that gets free is free.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	var all []*reader
	for range maxSubscribers {
		all = append(all, follow(t, s, "/api/stream"))
	}
	refused := follow(t, s, "/api/stream")
	text, err := io.ReadAll(refused.resp.Body)
	if err != nil || refused.resp.StatusCode != 503 || refused.resp.Header.Get("Retry-After") == "" ||
		string(text) != "too many pages are open: close one, or look again later\n" {
		t.Errorf("%d %q, %v", refused.resp.StatusCode, text, err)
	}
	if got := ask(t, s, "GET", "/api/report"); got.code != 503 || got.body != "there is no report yet\n" {
		t.Errorf("the report: %d %q", got.code, got.body)
	}
	_ = all[0].resp.Body.Close()
	eventually(t, func() error {
		if code := follow(t, s, "/api/stream").resp.StatusCode; code != 200 {
			return fmt.Errorf("still %d", code)
		}
		return nil
	})
}

// TestNobodyLooks: then publishing costs nothing, and nothing is kept.
func TestNobodyLooks(t *testing.T) {
	s := serve(t, ok)
	s.Show(&shown{history: aHistory(time.Now())})
	r := aReport(1000)
	if n := testing.AllocsPerRun(100, func() { s.Publish(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	reader := follow(t, s, "/api/stream")
	reader.report()
	_ = reader.resp.Body.Close()
	eventually(t, func() error {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		if s.feed.of != nil || s.feed.items != nil || s.feed.whole.data != nil || s.subscribers.count.Load() != 0 {
			return errors.New("something is kept")
		}
		return nil
	})
	if n := testing.AllocsPerRun(100, func() { s.Publish(r) }); n != 0 {
		t.Errorf("%v allocations after the last page has gone", n)
	}
}

// TestASlowReader gets what is true when it reads, and not all that was before; and it
// is in nobody's way.
func TestASlowReader(t *testing.T) {
	t.Parallel()
	const rounds = 12 // of 2 MB, together more than what the system keeps of a connection
	s := serve(t, ok)
	publish := func(round int) string {
		r := aReport(40)
		text := fmt.Sprintf("round %d.", round)
		for at := range r.Items {
			r.Items[at].Reason = text + strings.Repeat("x", 50<<10)
		}
		s.Publish(r)
		return text
	}
	// told counts the reports that r is told of until one has that text.
	told := func(r *reader, text string) (n int) {
		for {
			e, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			if e.name == "report" {
				n++
			}
			if strings.Contains(e.data, text) {
				return n
			}
		}
	}
	slow, quick := follow(t, s, "/api/stream"), follow(t, s, "/api/stream")
	last := ""
	for round := range rounds {
		last = publish(round)
		if n := told(quick, last); n != 1 {
			t.Errorf("round %d: %d reports", round, n)
		}
	}
	if n := told(slow, last); n >= rounds {
		t.Errorf("a reader that slept through %d reports was told of %d", rounds, n)
	}
}

// TestAStuckReader is dropped when it doesn't take what it is sent.
func TestAStuckReader(t *testing.T) {
	t.Parallel()
	w := &stuckWriter{header: http.Header{}}
	out := &events{w: w, control: http.NewResponseController(w)}
	if err := out.send("report", "1", make([]byte, 10*chunkSize)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if left := time.Until(w.deadline); left <= 0 || left > chunkTimeout {
		t.Errorf("the deadline is in %s", left)
	}
	if w.longest > chunkSize {
		t.Errorf("%d bytes in one go", w.longest)
	}
}

// stuckWriter takes one chunk, and then nothing any more.
type stuckWriter struct {
	header   http.Header
	deadline time.Time
	chunks   int
	longest  int
}

func (w *stuckWriter) Header() http.Header { return w.header }
func (w *stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Flush()              {}

func (w *stuckWriter) SetWriteDeadline(at time.Time) error {
	w.deadline = at
	return nil
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	w.longest = max(w.longest, len(p))
	if w.chunks++; w.chunks > 3 {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// TestShutdownEndsStreams at once, and says so.
func TestShutdownEndsStreams(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), "127.0.0.1:0", ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	r := follow(t, s, "/api/stream")
	began := time.Now()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > shutdownGrace {
		t.Errorf("it took %s", took)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	said := false
	for {
		e, err := r.next()
		if err != nil {
			break
		}
		said = said || e.name == "stopping"
	}
	if !said {
		t.Error("nothing was said")
	}
}

// TestNotReadyIsSaid in the beats.
func TestNotReadyIsSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, func() error { return errAway })
	e, err := follow(t, s, "/api/stream").next()
	if err != nil || e.name != "beat" || !strings.Contains(e.data, errAway.Error()) {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestHosts: on a loopback address only local names are answered to, except by what
// probes ask.
func TestHosts(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	s.Publish(&report.Report{})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, path string
		code       int
	}{
		{"localhost:" + port, "/", 200},
		{"LOCALHOST:" + port, "/api/report", 200},
		{"127.0.0.1:" + port, "/app.js", 200},
		{"[::1]:" + port, "/api/report", 200},
		{"evil.example:" + port, "/", 403},
		{"evil.example:" + port, "/api/report", 403},
		{"evil.example", "/api/stream", 403},
		{"localhost:1", "/", 403},
		{"localhost", "/", 403},
		{"localhost.evil.example:" + port, "/style.css", 403},
		{"127.0.0.1.evil.example:" + port, "/api/objects/a/b", 403},
		{"evil.example:" + port, "/healthz", 200},
		{"10.1.2.3:" + port, "/readyz", 200},
	} {
		got := withHeader(t, s, c.path, "Host", c.host)
		if got.code != c.code {
			t.Errorf("%s%s: %d, want %d", c.host, c.path, got.code, c.code)
		}
		if c.code == 403 && !strings.Contains(got.body, "http://127.0.0.1:"+port+"/") {
			t.Errorf("%s%s: %q doesn't say what to open", c.host, c.path, got.body)
		}
	}
	for addr, want := range map[string]bool{"127.0.0.1:80": false, "[::1]:8080": false, "127.0.0.2:80": false, "0.0.0.0:8080": true, "[::]:8080": true, "10.0.0.1:80": true} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostsOf(at); got.any != want {
			t.Errorf("on %s any name: %t", addr, got.any)
		}
	}
	on80 := hostsOf(&net.TCPAddr{IP: net.ParseIP("127.0.0.2"), Port: 80})
	for host, want := range map[string]bool{"localhost": true, "[::1]": true, "127.0.0.2": true, "localhost.": true, "": false, "evil.example": false} {
		if got := on80.allow(host); got != want {
			t.Errorf("on port 80 %q: %t", host, got)
		}
	}
}

// TestOtherSites can neither read nor embed what is here, nor take up its streams.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	s.Publish(&report.Report{})
	for _, c := range []struct {
		site, mode string
		code       int
	}{
		{"cross-site", "no-cors", 403}, {"same-site", "cors", 403}, {"cross-site", "navigate", 200},
		{"same-origin", "cors", 200}, {"none", "navigate", 200},
	} {
		if got := withHeader(t, s, "/api/report", "Sec-Fetch-Site", c.site, "Sec-Fetch-Mode", c.mode); got.code != c.code {
			t.Errorf("%s %s: %d, want %d", c.site, c.mode, got.code, c.code)
		}
	}
	for _, path := range []string{"/", "/app.js", "/style.css", "/icon.svg", "/api/report", "/api/objects/a/b", "/nothing"} {
		h := ask(t, s, "GET", path).header
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: others may read it", path)
		}
	}
}

// TestPageFiles: the page is served as what it is, and nothing beside it.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml",
	} {
		got := ask(t, s, "GET", path)
		if got.code != 200 || got.header.Get("Content-Type") != kind || got.body == "" {
			t.Errorf("%s: %d %s", path, got.code, got.header.Get("Content-Type"))
		}
		if strings.Contains(got.body, "https://") || strings.Contains(got.body, "//cdn") {
			t.Errorf("%s names another place", path)
		}
		if head := ask(t, s, "HEAD", path); head.code != 200 || head.body != "" {
			t.Errorf("HEAD %s: %d", path, head.code)
		}
		if post := ask(t, s, "POST", path); post.code != 405 {
			t.Errorf("POST %s: %d", path, post.code)
		}
	}
	for _, path := range []string{"/page", "/page/app.js", "/server.go", "/api/stream/x", "/api/objects/a", "/api/objects/a/b/c"} {
		if got := ask(t, s, "GET", path); got.code != 404 {
			t.Errorf("%s: %d", path, got.code)
		}
	}
	if head := ask(t, s, "HEAD", "/api/stream"); head.code != 200 {
		t.Errorf("HEAD /api/stream: %d", head.code)
	}
}

// TestObjects: what is known of one object, by its names however they are written.
func TestObjects(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	if got := ask(t, s, "GET", "/api/objects/a/b"); got.code != 503 {
		t.Errorf("before there is anything to see: %d", got.code)
	}
	s.Show(&shown{objects: map[string]*report.Object{"a/b": {Namespace: "a", Name: "b"}, "a/x y": {Name: "x y"}}})
	if got := ask(t, s, "GET", "/api/objects/a/b"); got.code != 200 || got.header.Get("Content-Type") != "application/json" || !strings.Contains(got.body, `"name": "b"`) {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := ask(t, s, "GET", "/api/objects/a/x%20y"); got.code != 200 {
		t.Errorf("escaped: %d", got.code)
	}
	if got := ask(t, s, "GET", "/api/objects/a/c"); got.code != 404 || !strings.HasPrefix(got.body, "no such object") {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// withHeader asks with some headers; Host is the name that is asked for.
func withHeader(t *testing.T, s *Server, path string, header ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
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

// eventually asks until there is no error, for as long as nothing may take.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(10 * time.Second)
	for err := ask(); err != nil; err = ask() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-ticker.C
	}
}
