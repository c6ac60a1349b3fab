package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// entry is one thing in the source that matters: a file to read, or something that
// should be one and isn't.
type entry struct {
	path  string
	stamp stamp
	// refused says why the entry isn't read; "" for a file to read.
	refused string
	// err says why a directory couldn't be listed.
	err error
	// directory says that the entry isn't a file to read.
	directory bool
}

// tree is what a walk found.
type tree struct {
	entries []entry
	dirs    []Directory // relative to the root; "." first
}

// walker walks a source by directory handles: a path that is resolved from the top
// for every file costs three times as much.
type walker struct {
	top    *os.Root
	before *history
	tree   tree
}

// walk lists everything below top. Only a top that can't be listed is an error.
func walk(top *os.Root, before *history) (tree, error) {
	w := &walker{top: top, before: before}
	err := w.directory(top, ".")
	return w.tree, err
}

// directory lists one directory, and those in it.
func (w *walker) directory(dir *os.Root, name string) error {
	handle, err := dir.Open(".")
	if err != nil {
		return err
	}
	infos, err := handle.Readdir(-1)
	own, statErr := handle.Stat()
	if err := errors.Join(err, statErr, handle.Close()); err != nil {
		return err
	}
	s := stampOf(own)
	w.tree.dirs = append(w.tree.dirs, Directory{Path: name, ID: fmt.Sprint(s.device, ":", s.inode)})
	for _, info := range infos {
		if strings.HasPrefix(info.Name(), ".") {
			continue
		}
		w.member(dir, path.Join(name, info.Name()), info)
	}
	return nil
}

// member looks at one name in a directory.
func (w *walker) member(dir *os.Root, name string, info fs.FileInfo) {
	switch mode := info.Mode(); {
	case mode.IsDir() && w.before.file(name):
		w.refuse(name, info, "is in the place of a file with WebServices: put that back, or remove this directory")
	case mode.IsDir():
		w.descend(dir, name, info)
	case mode&fs.ModeSymlink != 0:
		w.link(name, info)
	case !readable(name):
		w.ignore(name, info)
	case mode.IsRegular():
		w.add(entry{path: name, stamp: stampOf(info)})
	default:
		w.refuse(name, info, "isn't a regular file: replace it by one")
	}
}

func (w *walker) add(e entry) { w.tree.entries = append(w.tree.entries, e) }

func (w *walker) refuse(name string, info fs.FileInfo, why string) {
	w.add(entry{path: name, stamp: stampOf(info), refused: why, directory: !readable(name)})
}

// ignore passes over what isn't read, unless it hides what was.
func (w *walker) ignore(name string, info fs.FileInfo) {
	if w.before.directory(name) {
		w.refuse(name, info, "is in the place of a directory with WebServices: put that back, or remove this")
	}
}

// descend walks a directory. One that is gone by now is no fault: the next look
// sees that.
func (w *walker) descend(parent *os.Root, name string, info fs.FileInfo) {
	dir, err := parent.OpenRoot(path.Base(name))
	if err == nil {
		err = errors.Join(w.directory(dir, name), dir.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.add(entry{path: name, stamp: stampOf(info), err: err, directory: true})
	}
}

// link looks at what a link leads to. A file in the source is read through it.
func (w *walker) link(name string, info fs.FileInfo) {
	target, err := w.top.Stat(name)
	switch {
	case err == nil && target.IsDir():
		w.refuse(name, info, "is a link to a directory, which isn't followed: use the link itself as source.path, or put the directory in its place")
	case err == nil && !readable(name):
		w.ignore(name, info)
	case err == nil && target.Mode().IsRegular():
		w.add(entry{path: name, stamp: stampOf(target)})
	case err == nil:
		w.refuse(name, info, "is a link to something that isn't a regular file: replace it by one")
	case readable(name) || path.Ext(name) == "" || w.before.directory(name):
		w.refuse(name, info, w.brokenLink(name, err))
	}
}

// brokenLink words why a link can't be followed.
func (w *walker) brokenLink(name string, err error) string {
	target, _ := w.top.Readlink(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is a link to something that doesn't exist: mend it, or remove it"
	case errors.Is(err, fs.ErrPermission):
		return "is a link that can't be followed: permission denied"
	case errors.Is(err, syscall.ELOOP):
		return "is a link in a circle: let it lead to a file"
	case path.IsAbs(target):
		return "is an absolute link, which isn't followed: make it relative, or put a copy in its place"
	default:
		return "is a link out of the source, which isn't followed: put a copy in its place"
	}
}

// extension is what a name ends in, in small letters: some systems don't tell
// letters apart, and a file that was renamed so isn't gone.
func extension(name string) string { return strings.ToLower(path.Ext(name)) }

// readable says whether a name is that of a file to read.
func readable(name string) bool {
	switch extension(name) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}
