package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

const (
	evidenceName = "evidence"
	// evidenceRetry is the pause after a file couldn't be written.
	evidenceRetry = 10 * time.Second
	// evidenceFlush is how long the end may take.
	evidenceFlush = 15 * time.Second
)

// EvidenceFile names a file of one object, below the out directory:
// evidence/NAMESPACE/NAME/FILE.
type EvidenceFile struct{ Namespace, Name, File string }

// path is below the out directory. Names come from Kubernetes, which allows none
// that isn't one element of a path; this makes sure.
func (f EvidenceFile) path() (string, error) {
	for _, element := range []string{f.Namespace, f.Name, f.File} {
		if element == "." || !filepath.IsLocal(element) || filepath.Base(element) != element {
			return "", fmt.Errorf("%q can't be the name of a file: %w", element, fs.ErrInvalid)
		}
	}
	return filepath.Join(evidenceName, f.Namespace, f.Name, f.File), nil
}

// Render makes the content of a file out of what it holds so far, nil where it
// doesn't exist. A nil result leaves the file as it is.
type Render func(old []byte) ([]byte, error)

// JSON renders a value, whatever the file holds. The value must not change any more.
func JSON(value any) Render {
	return func([]byte) ([]byte, error) {
		var buffer bytes.Buffer
		err := newEncoder(&buffer).Encode(value)
		return buffer.Bytes(), err
	}
}

// Evidence keeps files about single objects. What they shall hold is taken at
// once, from any goroutine, and written by Run. Each file is replaced as a whole,
// and only where its content differs.
type Evidence struct {
	dir   string
	log   *slog.Logger
	inbox inbox
}

// NewEvidence keeps evidence in the out directory dir.
func NewEvidence(dir string, log *slog.Logger) *Evidence {
	return &Evidence{dir: dir, log: log, inbox: inbox{news: make(chan struct{}, 1)}}
}

// Put has the file hold what render makes. What was to be written there and isn't
// yet, is forgotten: the last one wins.
func (e *Evidence) Put(file EvidenceFile, render Render) { e.inbox.put(file, render) }

// Change has render change the file, after all that was asked for before.
func (e *Evidence) Change(file EvidenceFile, render Render) { e.inbox.change(file, render) }

// Run writes until ctx ends, and then what was asked for until then, which takes
// seconds at most. It is called once. What can't be written is logged once,
// and tried again until it can.
func (e *Evidence) Run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		err := e.write(func() bool { return ctx.Err() == nil })
		e.tell(err, failing)
		failing = err != nil
		e.inbox.wait(ctx, failing)
	}
	end := time.Now().Add(evidenceFlush)
	if err := e.write(func() bool { return time.Now().Before(end) }); err != nil {
		e.tell(err, failing)
	}
	if n := e.inbox.count(); n > 0 {
		e.log.Warn("evidence files weren't written before the end", "count", n)
	}
}

// tell logs an error where all went well before, and that all goes well again.
func (e *Evidence) tell(err error, failing bool) {
	switch {
	case err != nil && !failing:
		e.log.Error("evidence can't be written; it is tried again", "err", err)
	case err == nil && failing:
		e.log.Info("evidence is written again")
	}
}

// write writes all that is asked for by now, as long as it may go on. What fails,
// and what is left, is kept for the next time. The error is the first one.
func (e *Evidence) write(goOn func() bool) (first error) {
	for _, c := range e.inbox.take() {
		if !goOn() {
			e.inbox.putBack(c)
			continue
		}
		if err := e.writeFile(c); err != nil {
			first = cmp.Or(first, err)
			e.inbox.putBack(c)
		}
	}
	return first
}

func (e *Evidence) writeFile(c *change) error {
	name, err := c.file.path()
	if err != nil {
		return nil //nolint:nilerr // it can never be written, and no object of Kubernetes has such a name
	}
	old, err := readBelow(e.dir, name)
	if err != nil {
		return err
	}
	text := old
	for _, render := range c.renders {
		next, err := render(text)
		if err != nil {
			return &WriteError{Path: filepath.Join(e.dir, name), Err: err}
		}
		if next != nil {
			text = next
		}
	}
	if bytes.Equal(old, text) {
		return nil
	}
	return replaceBelow(e.dir, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readBelow is nil where there is no such file. Links aren't followed.
func readBelow(dir, name string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, &ReadError{Path: filepath.Join(dir, name), Err: plain(err)}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return fail(err)
	}
	return text, nil
}
