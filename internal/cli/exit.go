package cli

import (
	"errors"
	"fmt"
)

// Exit codes, as the README promises them.
const (
	exitOK      = 0
	exitFailed  = 1
	exitInvalid = 3
	exitHeld    = 4
	exitWaiting = 5
	exitUsage   = 64
)

// exitError is an error with the exit code that it ends in.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

func failed(err error) error { return &exitError{exitFailed, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// codeOf is the exit code of a command that ended in err. What no command has
// given a code comes from cobra, about the way that it was called.
func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitUsage
}
