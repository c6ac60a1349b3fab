package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/source"
)

// State is what writing a file does to the directory.
type State string

const (
	// StateNew says that there is no file of that path.
	StateNew State = "new"
	// StateUnchanged says that the file has the same text already.
	StateUnchanged State = "unchanged"
	// StateChanged says that the file has another text.
	StateChanged State = "changed"
)

// Target is a directory, looked at for an export.
type Target struct {
	dir   string
	files []File
	// States are those of the export's files, in their order.
	States []State
	// Elsewhere are the places, as path:line, of files that name an object of the
	// export as well. With both the source would use neither.
	Elsewhere []string
	// Gone are the places of files that name an object of the export's namespaces
	// which isn't in the cluster, with the object. Nothing is done about them.
	Gone []Gone
}

// Gone is a file without a live object.
type Gone struct {
	Place string
	Key   types.NamespacedName
}

// ErrNotPlain says that something else stands in the place of a file. It isn't
// written over, whatever it is.
var ErrNotPlain = errors.New("isn't a plain file")

// ErrNotDirectory says that something else stands in the place of a directory. A link
// isn't followed inside of the one to export into, since a source doesn't either.
var ErrNotDirectory = errors.New("isn't a directory")

// CheckDir says whether a directory can be exported into, or made. Nothing is written.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s %w: it is a link to nothing", dir, ErrNotDirectory)
		}
		return nil
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return fmt.Errorf("%s %w", dir, ErrNotDirectory)
	}
	return err
}

// Look compares an export with what is in a directory, which needn't exist. The
// namespaces are those that were exported; opts are those of the source that the
// directory may be. Nothing is written.
func Look(ctx context.Context, dir string, set *Set, namespaces []string, opts source.Options) (*Target, error) {
	t := &Target{dir: filepath.Clean(dir), files: set.Files}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.States = slices.Repeat([]State{StateNew}, len(set.Files))
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	for _, f := range set.Files {
		state, err := t.stateOf(root, &f)
		if err != nil {
			return nil, err
		}
		t.States = append(t.States, state)
	}
	return t, t.others(ctx, set, namespaces, opts)
}

// Path is where a file is, as the user named the directory.
func (t *Target) Path(f *File) string { return filepath.Join(t.dir, filepath.FromSlash(f.Path)) }

// Count is how many files have that state.
func (t *Target) Count(s State) int {
	n := 0
	for _, state := range t.States {
		if state == s {
			n++
		}
	}
	return n
}

// stateOf looks at the place of a file.
func (t *Target) stateOf(root *os.Root, f *File) (State, error) {
	parent, err := root.Lstat(f.Key.Namespace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return StateNew, nil
	case err == nil && !parent.IsDir():
		return "", fmt.Errorf("%s %w", filepath.Join(t.dir, f.Key.Namespace), ErrNotDirectory)
	}
	info, err := root.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return StateNew, nil
	case err == nil && !info.Mode().IsRegular():
		return "", fmt.Errorf("%s %w", t.Path(f), ErrNotPlain)
	case err == nil && info.Size() != int64(len(f.Text)):
		return StateChanged, nil
	}
	text, err := root.ReadFile(f.Path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", t.Path(f), plainError(err))
	case bytes.Equal(text, f.Text):
		return StateUnchanged, nil
	}
	return StateChanged, nil
}

// others reads the directory as a source would, and finds what other files say of
// the objects.
func (t *Target) others(ctx context.Context, set *Set, namespaces []string, opts source.Options) error {
	s, err := source.Check(ctx, []string{t.dir}, nil, opts)
	if err != nil {
		return err
	}
	live := map[types.NamespacedName]string{}
	for i := range set.Files {
		live[set.Files[i].Key] = filepath.ToSlash(t.Path(&set.Files[i]))
	}
	for _, left := range set.Left {
		live[left.Key] = ""
	}
	for _, key := range s.Keys() {
		o := s.Objects[key]
		place := o.File + ":" + strconv.Itoa(o.Line)
		switch own, known := live[key]; {
		case !known && (slices.Contains(namespaces, "") || slices.Contains(namespaces, key.Namespace)):
			t.Gone = append(t.Gone, Gone{Place: place, Key: key})
		case known && own != "" && own != o.File:
			t.Elsewhere = append(t.Elsewhere, place)
		}
	}
	for key, problem := range s.Broken {
		if own := live[key]; own != "" && own != problem.Path {
			t.Elsewhere = append(t.Elsewhere, problem.Path+":"+strconv.Itoa(problem.Line))
		}
	}
	slices.Sort(t.Elsewhere)
	return nil
}

// plainError drops from an error what its message says anyway.
func plainError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
