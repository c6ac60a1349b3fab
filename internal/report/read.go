package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ReadError is a file or directory that couldn't be read. errors.Is finds the
// cause beneath it, such as fs.ErrNotExist.
type ReadError struct {
	// Path is the file or directory that was to be read.
	Path string
	// Err is what the operating system said, or what is wrong with the content.
	Err error
}

// Error names the path and the cause.
func (e *ReadError) Error() string { return "can't read " + e.Path + ": " + e.Err.Error() }

// Unwrap yields the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads the report in the out directory dir, which may be in use by another
// process. The error is a *ReadError; a file of another format is one too.
func Read(dir string) (*Report, error) {
	path := filepath.Join(dir, FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &ReadError{Path: path, Err: plain(err)}
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, &ReadError{Path: path, Err: fmt.Errorf("it isn't a report: %w", err)}
	}
	if r.Schema != Schema {
		return nil, &ReadError{Path: path, Err: fmt.Errorf("its schema is %q, and this version reads %q", r.Schema, Schema)}
	}
	return r, nil
}
