package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteError is a file or directory that couldn't be written. errors.Is finds
// the cause beneath it, such as fs.ErrPermission or syscall.ENOSPC.
type WriteError struct {
	// Path is the file or directory that was to be written.
	Path string
	// Err is what the operating system said.
	Err error
}

// Error names the path and the cause.
func (e *WriteError) Error() string { return "can't write " + e.Path + ": " + e.Err.Error() }

// Unwrap yields the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// tempPattern matches files that are still being written, whatever their name
// will be: hidden, and hard to mistake for a user's own.
const tempPattern = ".webservice-controller-*.tmp"

// replaceFile writes beside the old file and renames over it. There is no
// fsync: after a power cut the report is made anew, and a process that dies
// leaves the old one.
func replaceFile(path string, write func(io.Writer) error) error {
	return replace(path, filepath.Dir(path), write, os.Rename)
}

// replaceBelow does the same for a file anywhere below dir, whose directories it
// makes. Links aren't followed out of dir. It writes in dir itself, so that what a
// process that died has left is all in one place.
func replaceBelow(dir, name string, write func(io.Writer) error) error {
	path := filepath.Join(dir, name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &WriteError{Path: path, Err: plain(err)}
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return &WriteError{Path: path, Err: plain(err)}
	}
	return replace(path, dir, write, func(temp, _ string) error { return root.Rename(filepath.Base(temp), name) })
}

// replace writes a file in dir and has it put in the place of path.
func replace(path, dir string, write func(io.Writer) error, rename func(from, to string) error) error {
	temp, err := createTemp(dir)
	if err != nil {
		return &WriteError{Path: path, Err: plain(err)}
	}
	err = errors.Join(write(temp), temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = rename(temp.Name(), path)
	}
	if err != nil {
		return &WriteError{Path: path, Err: errors.Join(plain(err), os.Remove(temp.Name()))}
	}
	return nil
}

// createTemp makes the directory again where somebody has removed it.
func createTemp(dir string) (*os.File, error) {
	temp, err := os.CreateTemp(dir, tempPattern)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o755); err == nil {
			temp, err = os.CreateTemp(dir, tempPattern)
		}
	}
	return temp, err
}

// plain drops the name of the temporary file from an error: it means nothing to
// anybody, and differs each time.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// removeStale deletes what processes that died while writing left behind. Only
// the holder of the directory's lock may call it.
func removeStale(dir string) error {
	stale, err := fs.Glob(os.DirFS(dir), tempPattern)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range stale {
		errs = append(errs, os.Remove(filepath.Join(dir, name)))
	}
	return errors.Join(errs...)
}
