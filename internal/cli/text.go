package cli

import (
	"fmt"
	"strconv"

	"labhub.io/webservice-controller/internal/term"
)

// oneLine makes text that comes from files or from the cluster safe to print.
func oneLine(text string) string { return term.Line(text) }

// printLine writes a line to stdout, which a terminal breaks between words.
func (p *Process) printLine(colour term.Colour, text string) error {
	screen := term.ScreenOf(p.Stdout, p.Environ)
	for _, line := range term.Wrap(term.Line(text), screen.Width) {
		if _, err := fmt.Fprintln(p.Stdout, screen.Paint(colour, line)); err != nil {
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
