package term_test

import (
	"bytes"
	"io"
	"testing"

	"labhub.io/webservice-controller/internal/term"
)

// TestStatus: the line is below all other text, and gone at the end.
func TestStatus(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := term.NewStatus(&out, func() term.Screen { return term.Screen{Terminal: true, Rewrites: true, Width: 12} })
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a line", func() { s.Show("1 of 3") }, "1 of 3"},
		{"the same again", func() { s.Show("1 of 3") }, ""},
		{"text", func() { _, _ = io.WriteString(s, "created\n") }, "\r\x1b[Kcreated\n1 of 3"},
		{"another line", func() { s.Show("2 of 3") }, "\r\x1b[K2 of 3"},
		{"a line that is too wide", func() { s.Show("2 of 3; crd-lab/web") }, "\r\x1b[K2 of 3;…"},
		{"a line that isn't nice", func() { s.Show("\x1b[2J") }, "\r\x1b[K" + `\x1b[2J`},
		{"text without end", func() { _, _ = io.WriteString(s, "wait") }, "\r\x1b[Kwait"},
		{"the line stays away from it", func() { s.Show("3 of 3") }, ""},
		{"until it ends", func() { _, _ = io.WriteString(s, "ed\n") }, "ed\n3 of 3"},
		{"the end", func() { s.Show("") }, "\r\x1b[K"},
		{"nothing to take away", func() { s.Show("") }, ""},
	} {
		out.Reset()
		step.do()
		if got := out.String(); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

// TestNoStatus: where a line can't be written over there is none, and text is
// passed on as it is.
func TestNoStatus(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := term.NewStatus(&out, func() term.Screen { return term.Screen{} })
	s.Show("1 of 3")
	n, err := io.WriteString(s, "created\n")
	s.Show("")
	if n != 8 || err != nil || out.String() != "created\n" {
		t.Errorf("%d, %v: %q", n, err, out.String())
	}
}
