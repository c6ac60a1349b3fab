package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// stagePattern is a directory that a source doesn't read, in which files are written
// before they go to their places.
const stagePattern = ".webservice-controller-export-*"

// Write writes the files that aren't as they should be, each as a whole. All are
// written beside their places first: where that fails, or ctx ends, the directory has
// none of them. A file that somebody has made since Look is an error, and stays.
func (t *Target) Write(ctx context.Context) (err error) {
	if t.Count(StateUnchanged) == len(t.files) {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return fmt.Errorf("can't make %s: %w", t.dir, plainError(err))
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	temp, err := os.MkdirTemp(t.dir, stagePattern)
	if err != nil {
		return fmt.Errorf("can't write into %s: %w", t.dir, plainError(err))
	}
	stage := filepath.Base(temp)
	defer func() { err = errors.Join(err, root.RemoveAll(stage)) }()
	if err := t.stage(ctx, root, stage); err != nil {
		return err
	}
	for i := range t.files {
		if err := t.place(root, staged(stage, i), i); err != nil {
			return fmt.Errorf("can't write %s: %w", t.Path(&t.files[i]), plainError(err))
		}
	}
	return nil
}

func staged(stage string, i int) string { return path.Join(stage, strconv.Itoa(i)) }

// stage writes the files where nobody reads them.
func (t *Target) stage(ctx context.Context, root *os.Root, stage string) error {
	for i := range t.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.States[i] == StateUnchanged {
			continue
		}
		if err := root.WriteFile(staged(stage, i), t.files[i].Text, 0o644); err != nil {
			return fmt.Errorf("can't write %s: %w", t.Path(&t.files[i]), plainError(err))
		}
	}
	return nil
}

// place puts a file where it belongs.
func (t *Target) place(root *os.Root, from string, i int) error {
	to := t.files[i].Path
	switch t.States[i] {
	case StateUnchanged:
		return nil
	case StateChanged:
		return root.Rename(from, to)
	}
	if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	// A link, unlike a renaming, never takes the place of something. Some file systems
	// have none.
	if err := root.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return root.Rename(from, to)
}
