package term

import (
	"bytes"
	"io"
	"sync"
)

// Status is a line at the bottom of a terminal that is written over as things go
// on. Other text goes through Write, above it. Its methods may be called from any
// goroutine. It needs a screen that rewrites; on another one, it shows nothing.
type Status struct {
	w      io.Writer
	screen func() Screen

	mu    sync.Mutex
	line  string
	shown bool
	// open: the last text had no line's end, so that the line isn't ours to use.
	open bool
}

// NewStatus makes a status line that says nothing yet. screen is asked whenever
// the line is drawn, since terminals change their size.
func NewStatus(w io.Writer, screen func() Screen) *Status { return &Status{w: w, screen: screen} }

// Show replaces the line; "" takes it away, as must be done at the end. What is
// wider than the screen is cut off.
func (s *Status) Show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line == s.line && s.shown == (line != "") {
		return
	}
	s.line = line
	var b bytes.Buffer
	s.erase(&b)
	s.draw(&b)
	_, _ = s.w.Write(b.Bytes()) // nobody is left to tell that a terminal is gone
}

// Write writes text above the line.
func (s *Status) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	s.erase(&b)
	before := b.Len()
	b.Write(text)
	s.open = len(text) > 0 && !bytes.HasSuffix(text, []byte("\n"))
	s.draw(&b)
	n, err := s.w.Write(b.Bytes())
	return min(max(n-before, 0), len(text)), err
}

const eraseLine = "\r\x1b[K"

func (s *Status) erase(b *bytes.Buffer) {
	if s.shown {
		b.WriteString(eraseLine)
		s.shown = false
	}
}

// spare is how many columns draw leaves free: some terminals begin a new line when the
// last one is written to, and Ctrl-C shows as ^C.
const spare = 3

// draw writes the line, where it can be written over.
func (s *Status) draw(b *bytes.Buffer) {
	screen := s.screen()
	if s.line == "" || s.open || !screen.Rewrites {
		return
	}
	b.WriteString(Cut(Line(s.line), screen.Width-spare))
	s.shown = true
}
