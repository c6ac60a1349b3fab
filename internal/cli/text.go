package cli

import (
	"fmt"
	"strconv"
	"strings"

	"labhub.io/webservice-controller/internal/term"
)

// oneLine makes text that comes from files or from the cluster safe to print.
func oneLine(text string) string { return term.Line(text) }

// printLine writes a sentence to stdout. On a terminal it is broken between words.
func (p *Process) printLine(colour term.Colour, text string) error {
	return p.printHanging(colour, text, "")
}

// printItem is printLine for one of several lines: what goes on stands further in.
func (p *Process) printItem(text string) error { return p.printHanging(term.Plain, text, "  ") }

func (p *Process) printHanging(colour term.Colour, text, hang string) error {
	screen := term.ScreenOf(p.Stdout, p.Environ)
	body := strings.TrimLeft(text, " ")
	indent := strings.Repeat(" ", len(text)-len(body))
	body = term.Line(body)
	lines := []string{body}
	if screen.Width > 0 && len(indent)+term.Columns(body) > screen.Width {
		lines = term.Wrap(body, roomLeft(screen, len(indent)+len(hang)))
	}
	for i, line := range lines {
		if i == 1 {
			indent += hang
		}
		if _, err := fmt.Fprintln(p.Stdout, indent+screen.Paint(colour, line)); err != nil {
			return err
		}
	}
	return nil
}

// are is a number of things with its verb.
func are(n int, what string) string {
	if n == 1 {
		return plural(n, what) + " is"
	}
	return plural(n, what) + " are"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
