package cli

import (
	"io"
	"log/slog"

	"k8s.io/klog/v2"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/term"
)

// newLogger logs to the console, as the settings want it: for a person where one
// looks on, else for programs.
func newLogger(c *console, cfg config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	switch {
	case cfg.Format == "json":
		return slog.New(slog.NewJSONHandler(jsonWriter{c}, opts))
	case c.forPeople(cfg):
		return slog.New(&terminalHandler{out: c, screen: c.screen, level: level})
	}
	return slog.New(slog.NewTextHandler(c, opts)) // it quotes what isn't printable
}

// KubernetesLog makes log that of the Kubernetes libraries, as Process.LibraryLog.
func KubernetesLog(log *slog.Logger) { klog.SetSlogLogger(log) }

// bridge sends what the libraries log to log, at the debug level: what of it
// matters to a user, we say ourselves.
func (p *Process) bridge(log *slog.Logger) {
	if p.LibraryLog != nil {
		p.LibraryLog(quiet(log))
	}
}

// quiet is the log where everything counts as debug.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(&quietHandler{log.Handler()}) }

// console is the error output: what is logged, and on a terminal a line below it
// that says how far things are.
type console struct {
	*term.Status
	screen func() term.Screen
}

func newConsole(p *Process) *console {
	screen := func() term.Screen { return term.ScreenOf(p.Stderr, p.Environ) }
	return &console{term.NewStatus(p.Stderr, screen), screen}
}

// forPeople says whether the log is one that a person reads as it is written.
func (c *console) forPeople(cfg config.Log) bool { return cfg.Format != "json" && c.screen().Terminal }

// jsonWriter escapes what JSON allows as it is and a terminal would obey. Each
// Write must be whole JSON.
type jsonWriter struct{ io.Writer }

// Write writes the JSON, escaped.
func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, term.JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
