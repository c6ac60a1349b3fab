package source

import (
	"errors"
	"io/fs"
)

// Reasons of a RootError.
var (
	// ErrMissing: there is nothing at source.path.
	ErrMissing = errors.New("doesn't exist")
	// ErrDangling: source.path is a link, and what it points to doesn't exist.
	ErrDangling = errors.New("is a link to something that doesn't exist")
	// ErrNotDirectory: source.path is a file.
	ErrNotDirectory = errors.New("isn't a directory")
	// ErrUnreadable: the directory is there and can't be read.
	ErrUnreadable = errors.New("can't be read")
	// ErrEmpty: the directory was read whole and holds no WebService.
	ErrEmpty = errors.New("holds no WebService")
)

// RootError says why a source can't be used as a whole.
type RootError struct {
	// Path is source.path as it was given.
	Path string
	// Reason is one of the Err values of this package.
	Reason error
	// Cause is the error of the operating system, if there is one.
	Cause error
}

// Error is one sentence about the path.
func (e *RootError) Error() string {
	text := "source " + e.Path + " " + e.Reason.Error()
	if e.Cause != nil {
		text += ": " + reasonOf(e.Cause)
	}
	return text
}

// Unwrap lets errors.Is find the reason and the cause.
func (e *RootError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

// reasonOf is the plain reason of an error of the operating system, without the
// path, which stands before it already.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
