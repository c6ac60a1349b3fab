// Package web serves what the controller knows of itself over HTTP: health,
// readiness, the report, metrics, and a page for people that shows the report and
// follows it. It is read-only: GET and HEAD are all it answers to, and no answer sends
// a request to the API server.
//
// While no page is open, a report that is published costs the storing of a pointer.
// At most 64 pages are followed at once; one that reads too slowly is dropped. At most
// 256 connections are open at once; others wait until one of these is closed.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"labhub.io/webservice-controller/internal/report"
)

// Server serves until it is shut down.
type Server struct {
	listener net.Listener
	http     *http.Server
	latest   atomic.Pointer[report.Report]
	ready    func() error
	metrics  http.Handler // nil where there are none

	hosts       hosts
	shown       atomic.Pointer[View]
	feed        feed
	subscribers subscribers
	// ending is closed when the server is about to end, for streams don't by themselves.
	ending chan struct{}
}

// View is what can be looked at beside the report. Its methods answer from memory, at
// once, and may be called from any goroutine.
type View interface {
	// Object is all that is known of one object; false where there is none.
	Object(namespace, name string) (*report.Object, bool)
	// History is what the last cycles came to.
	History() report.History
}

// Times that bound every connection.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 15 * time.Second
	shutdownGrace = 3 * time.Second
)

// maxConnections leaves the process file descriptors for its files and for the API
// server, whatever clients do: 64 pages, and room for scrapes and probes.
const maxConnections = 256

// Listen takes addr, so that an address that can't be had is known at once.
// ready is asked by /readyz; its error is the answer. What goes wrong with a
// connection is told to log as a warning.
func Listen(ctx context.Context, addr string, ready func() error, log *slog.Logger) (*Server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("http.addr %s can't be listened on, choose another with --http-addr: %w", addr, err)
	}
	listener = netutil.LimitListener(listener, maxConnections)
	s := &Server{listener: listener, ready: ready, hosts: hostsOf(listener.Addr()), ending: make(chan struct{})}
	s.feed.latest, s.feed.view = s.latest.Load, s.view
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10,
		// net/http's own would write to stderr, in another form and past our level.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.ending) }))
	return s, nil
}

// Addr is the address that is served, with the port that was found free.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Publish makes r the report that is served. The server only reads it.
func (s *Server) Publish(r *report.Report) {
	s.latest.Store(r)
	s.subscribers.tell()
}

// Show makes v what is looked at beside the report. Without one there are neither
// objects nor cycles to be seen.
func (s *Server) Show(v View) { s.shown.Store(&v) }

// view is nil before Show.
func (s *Server) view() View {
	if v := s.shown.Load(); v != nil {
		return *v
	}
	return nil
}

// Serve answers requests until Shutdown.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving http: %w", err)
	}
	return nil
}

// Shutdown lets requests under way end, for a short time, and stops.
// ctx may have ended already: what bounds the wait is a time of its own.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("/metrics", s.scrape)
	// Probes come by addresses that we don't know, and these tell little: any name will do.
	mux.Handle("/api/report", s.private(s.report))
	mux.Handle("/api/stream", s.private(s.stream))
	mux.Handle("/api/objects/{namespace}/{name}", s.private(s.object))
	mux.Handle("/", s.private(s.page))
	return readOnly(mux)
}

// readOnly refuses every method that could be meant to change something.
func readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			text(w, http.StatusMethodNotAllowed, "only GET and HEAD")
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.ready(); err != nil {
		text(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	text(w, http.StatusOK, "ok")
}

func (s *Server) report(w http.ResponseWriter, _ *http.Request) {
	r := s.latest.Load()
	if r == nil {
		text(w, http.StatusServiceUnavailable, "there is no report yet")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = report.Encode(w, r) // the client has gone: nobody is left to tell
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body+"\n") // the client has gone: nobody is left to tell
}
