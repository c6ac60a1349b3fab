package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep has the file of that name in the directory hold what render makes of what
// it holds now. It is replaced as a whole. Errors: *ReadError and *WriteError.
func (o *Out) Keep(name string, render Render) error {
	old, err := readBelow(o.dir, name)
	if err != nil {
		return err
	}
	text, err := render(old)
	if err != nil {
		return &WriteError{Path: filepath.Join(o.dir, name), Err: err}
	}
	if text == nil {
		return nil
	}
	return replaceBelow(o.dir, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Drop removes the files of these names from the directory, where they are there.
// Errors: *WriteError.
func (o *Out) Drop(names ...string) error {
	var errs []error
	for _, name := range names {
		path := filepath.Join(o.dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &WriteError{Path: path, Err: plain(err)})
		}
	}
	return errors.Join(errs...)
}

// Text renders a text with a line's end, whatever the file holds.
func Text(text string) Render {
	return func([]byte) ([]byte, error) { return []byte(text + "\n"), nil }
}
