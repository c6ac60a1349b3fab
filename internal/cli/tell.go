package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"labhub.io/webservice-controller/internal/term"
)

// tell writes each of several errors, a line each; on a terminal broken between words,
// with the command to type, where there is one, on a line of its own: broken it
// couldn't be copied.
func tell(w io.Writer, screen term.Screen, err error) {
	for _, e := range flatten(err) {
		const mark = "error: "
		fmt.Fprint(w, screen.Paint(term.Red, strings.TrimSpace(mark))+" ")
		lines := term.Around(term.Line(e.Error()), term.Line(commandIn(e)), roomLeft(screen, len(mark)))
		fmt.Fprintln(w, strings.Join(lines, "\n"+strings.Repeat(" ", len(mark))))
	}
}

func flatten(err error) []error {
	switch e := err.(type) { //nolint:errorlint // the tree itself is wanted, not what is in it
	case *exitError:
		return flatten(e.err)
	case interface{ Unwrap() []error }:
		var all []error
		for _, each := range e.Unwrap() {
			all = append(all, flatten(each)...)
		}
		return all
	}
	return []error{err}
}

// adviceError is an error that has a command to type in its text.
type adviceError struct {
	error
	command string
}

// Unwrap is the error itself.
func (e *adviceError) Unwrap() error { return e.error }

// advised is err, of whose text the command is a part; "" is none.
func advised(err error, command string) error {
	if command == "" {
		return err
	}
	return &adviceError{err, command}
}

// commandIn is the command in the text of err, "" where there is none.
func commandIn(err error) string {
	if e, ok := errors.AsType[*adviceError](err); ok {
		return e.command
	}
	return ""
}
