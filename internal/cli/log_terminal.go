package cli

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/term"
)

// terminalHandler writes a log for a person who looks on: each change and all that a
// person should look at begins a line, and goes on below where it doesn't fit.
type terminalHandler struct {
	out    io.Writer
	screen func() term.Screen
	level  slog.Level
	attrs  []slog.Attr
	group  string
}

// Enabled says whether records of that level are written.
func (h *terminalHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle writes a record with a single Write.
func (h *terminalHandler) Handle(_ context.Context, r slog.Record) error {
	e := logEntry{level: r.Level, message: r.Message, attrs: slices.Clone(h.attrs)}
	r.Attrs(func(a slog.Attr) bool {
		e.attrs = append(e.attrs, h.named(a))
		return true
	})
	_, err := io.WriteString(h.out, e.format(r.Time.Format("15:04:05"), h.screen()))
	return err
}

// WithAttrs adds attributes to every record.
func (h *terminalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		next.attrs = append(next.attrs, h.named(a))
	}
	return &next
}

// WithGroup puts the names of what follows into the group.
func (h *terminalHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.group = h.group + name + "."
	return &next
}

func (h *terminalHandler) named(a slog.Attr) slog.Attr {
	a.Key = h.group + a.Key
	return a
}

// logEntry is one record of the log.
type logEntry struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// take removes an attribute and returns its text; "" where there is none.
func (e *logEntry) take(key string) string {
	i := slices.IndexFunc(e.attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	text := e.attrs[i].Value.String()
	e.attrs = slices.Delete(e.attrs, i, i+1)
	return text
}

// format writes the record for the screen, on as many lines as it takes.
func (e *logEntry) format(clock string, screen term.Screen) string {
	if action := e.take("action"); action != "" && e.message == engine.MsgReconciled {
		return screen.Paint(term.Dim, clock) + " " + e.change(action, screen, len(clock)+1) + "\n"
	}
	mark, colour := "", term.Plain
	switch {
	case e.level >= slog.LevelError:
		mark, colour = "error: ", term.Red
	case e.level >= slog.LevelWarn:
		mark, colour = "warning: ", term.Yellow
	case e.level < slog.LevelInfo:
		colour = term.Dim
	}
	indent := len(clock) + 1
	approve := e.take("approve")
	lines := term.Wrap(term.Line(mark+e.sentence()), roomLeft(screen, indent))
	for i, line := range lines {
		lines[i] = screen.Paint(colour, line)
	}
	if approve != "" { // not broken: it is to be copied
		lines = append(lines, "approve: "+screen.Paint(term.Cyan, term.Line(approve)))
	}
	return screen.Paint(term.Dim, clock) + " " + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

// roomLeft is how many columns are left; 0 is no limit.
func roomLeft(screen term.Screen, indent int) int {
	if screen.Width == 0 {
		return 0
	}
	return max(screen.Width-indent, 20)
}

// change is one change, such as
// created webservice crd-lab/checkout: the file asks for it.
func (e *logEntry) change(action string, screen term.Screen, indent int) string {
	done, colour := action, term.Plain
	switch action {
	case "create":
		done, colour = "created", term.Green
	case "update":
		done, colour = "updated", term.Yellow
	case "delete":
		done, colour = "deleted", term.Red
	}
	kind, name, _ := strings.Cut(e.take("target"), "/")
	if namespace, _, ok := strings.Cut(e.take("object"), "/"); ok && kind != "namespace" {
		name = namespace + "/" + name
	}
	lines := term.Wrap(term.Line(done+" "+kind+" "+name+": "+e.take("reason")), roomLeft(screen, indent))
	lines[0] = screen.Paint(colour, done) + lines[0][len(done):]
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// rests is how the record tells of an object that waits or is suspended; "" for all
// others. The reason begins with those words, or goes on after them.
func (e *logEntry) rests() string {
	if !slices.Contains([]string{engine.MsgWaits, engine.MsgSuspended}, e.message) {
		return ""
	}
	reason := e.take("reason")
	is := e.message
	if is == engine.MsgSuspended {
		is = "is " + is
	}
	if rest, ok := strings.CutPrefix(reason, e.message+" "); ok {
		return is + " " + rest
	}
	return is + ": " + reason
}

// sentence is the message with what it is about. Names of attributes that say
// nothing beside the message are left out.
func (e *logEntry) sentence() string {
	object := e.take("object")
	text := e.message
	if rests := e.rests(); rests != "" {
		return object + " " + rests
	}
	if at := e.take("at"); at != "" {
		text = at // the place and what is wrong there: all that there is to say
	}
	if object != "" {
		text = object + ": " + text
	}
	var rest []string
	for _, key := range []string{"addr", "why", "reason", "err"} {
		if value := e.take(key); value != "" {
			rest = append(rest, value)
		}
	}
	for _, a := range e.attrs {
		if value := a.Value.String(); value != "" && value != "[]" {
			text += ", " + strings.ReplaceAll(a.Key, "_", " ") + " " + value
		}
	}
	if len(rest) > 0 {
		text += ": " + strings.Join(rest, "; ")
	}
	return text
}
