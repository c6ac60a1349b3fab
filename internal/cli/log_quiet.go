package cli

import (
	"context"
	"log/slog"
)

// quietHandler turns every level down to debug. What is debug already, or below, is
// left out: of libraries that is how each of their requests went.
type quietHandler struct{ slog.Handler }

// Enabled is what debug is.
func (h *quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo && h.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle passes the record on as one of debug. It asks for itself whether those
// are wanted, since errors come without that having been asked.
func (h *quietHandler) Handle(ctx context.Context, r slog.Record) error {
	enabled := h.Enabled(ctx, r.Level)
	if r.Level = slog.LevelDebug; !enabled {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs keeps the levels down.
func (h *quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &quietHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the levels down.
func (h *quietHandler) WithGroup(name string) slog.Handler {
	return &quietHandler{h.Handler.WithGroup(name)}
}
