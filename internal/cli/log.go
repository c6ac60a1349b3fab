package cli

import (
	"io"
	"log/slog"

	"k8s.io/klog/v2"

	"labhub.io/webservice-controller/internal/config"
)

// newLogger logs to w, as the settings want it.
func newLogger(w io.Writer, cfg config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// bridge sends what the Kubernetes libraries log to log, at the debug level:
// what of it matters to a user, we say ourselves.
func bridge(log *slog.Logger) {
	klog.SetSlogLogger(slog.New(&quietHandler{log.Handler()}))
}
