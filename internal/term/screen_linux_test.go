package term_test

import (
	"bytes"
	"os"
	"testing"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/term"
)

func TestScreens(t *testing.T) {
	t.Parallel()
	terminal := labtest.NewTerminal(t, 132).File
	for name, c := range map[string]struct {
		environ []string
		want    term.Screen
	}{
		"a terminal":                  {[]string{"TERM=xterm"}, term.Screen{Terminal: true, Width: 132, Colour: true, Rewrites: true}},
		"no colours wanted":           {[]string{"TERM=xterm", "NO_COLOR=1"}, term.Screen{Terminal: true, Width: 132, Rewrites: true}},
		"an empty variable is none":   {[]string{"TERM=xterm", "NO_COLOR="}, term.Screen{Terminal: true, Width: 132, Colour: true, Rewrites: true}},
		"one that understands little": {[]string{"TERM=dumb"}, term.Screen{Terminal: true, Width: 132}},
		"one that nobody knows":       {nil, term.Screen{Terminal: true, Width: 132}},
	} {
		if got := term.ScreenOf(terminal, c.environ); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	unsized := labtest.NewTerminal(t, 0).File
	if got := term.ScreenOf(unsized, nil); got.Width != 80 {
		t.Errorf("a terminal that doesn't tell its width has %d columns, want 80", got.Width)
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for name, got := range map[string]term.Screen{
		"a file":   term.ScreenOf(file, []string{"TERM=xterm"}),
		"a buffer": term.ScreenOf(&bytes.Buffer{}, []string{"TERM=xterm"}),
	} {
		if got != (term.Screen{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
