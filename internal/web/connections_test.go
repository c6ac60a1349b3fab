package web

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// dial opens a connection, which the system takes even where the server doesn't yet.
func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answered waits for the answer on a connection, which stays open, for up to that time.
func answered(t *testing.T, conn net.Conn, within time.Duration) error {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// TestMaxConnections: connections that are kept open use up the server's and no more,
// and the next one's turn comes when one of them is closed.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), "127.0.0.1:0", ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	s.http.IdleTimeout = time.Minute // they don't end by themselves while the test looks
	run(t, s)
	var open []net.Conn
	for range maxConnections {
		conn := dial(t, s)
		if err := answered(t, conn, 20*time.Second); err != nil {
			t.Fatalf("connection %d: %v", len(open)+1, err)
		}
		open = append(open, conn)
	}
	next := dial(t, s)
	if err := answered(t, next, 200*time.Millisecond); err == nil {
		t.Fatalf("connection %d was answered", maxConnections+1)
	}
	if err := open[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := answered(t, next, 20*time.Second); err != nil {
		t.Errorf("none is free again: %v", err)
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestErrorLog: what net/http has to say is in our log, in its form and on one line.
func TestErrorLog(t *testing.T) {
	t.Parallel()
	var log lines
	s, err := Listen(t.Context(), "127.0.0.1:0", ok, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.ServeMetrics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake of ours") }))
	run(t, s)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil { // the connection is closed after the log was written
		t.Fatal(err)
	}
	got := log.String()
	if !strings.Contains(got, "level=WARN") || !strings.Contains(got, "a mistake of ours") || strings.Count(got, "\n") != 1 {
		t.Errorf("the log has\n%s", got)
	}
}
