package term

import (
	"io"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Screen is what text is shown on. The zero value is a file or a pipe.
type Screen struct {
	// Terminal is true where a person looks on.
	Terminal bool
	// Width is the number of columns; 0 is no limit.
	Width int
	// Colour is true where text may be coloured.
	Colour bool
	// Rewrites is true where a line can be written over.
	Rewrites bool
}

// usualWidth is that of a terminal which doesn't tell.
const usualWidth = 80

// ScreenOf is what w writes to. environ is as os.Environ has it: colours are left
// out where NO_COLOR isn't empty, and TERM says what the terminal understands.
func ScreenOf(w io.Writer, environ []string) Screen {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Screen{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = usualWidth
	}
	able := !slices.Contains([]string{"", "dumb"}, variable(environ, "TERM"))
	return Screen{
		Terminal: true, Width: width, Rewrites: able,
		Colour: able && variable(environ, "NO_COLOR") == "",
	}
}

// variable is the value of a variable, "" where it isn't set. The last one counts,
// as for a process.
func variable(environ []string, name string) (value string) {
	for _, entry := range environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}
