package walk

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// flaw is what is wrong with a document of the walk.
type flaw int

const (
	flawless flaw = iota
	// Broken, but its name can be read.
	oldVersion
	keyTwice
	unknownField
	// Not even its name can be read.
	garbled
	flaws
)

// document is one document. It is never changed, only replaced.
type document struct {
	key                 plan.Key
	bare                bool // the file doesn't state the namespace
	image               string
	replicas            *int32
	tier                string // "" for none
	labels, annotations map[string]string
	cleanup             bool // the file names our finalizer
	flaw                flaw
}

// changed is a copy with one thing changed.
func (d *document) changed(change func(*document)) *document {
	c := *d
	c.labels, c.annotations = maps.Clone(d.labels), maps.Clone(d.annotations)
	change(&c)
	return &c
}

func (d *document) suspended() bool { return d.annotations[v1.ReconcileAnnotation] != "" }

func (d *document) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	version := v1.APIVersion
	if d.flaw == oldVersion {
		version = v1.Group + "/v1beta1"
	}
	line("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s", version, v1.Kind, d.key.Name)
	if !d.bare {
		line("  namespace: %s", d.key.Namespace)
	}
	stringMap(line, "labels", d.labels)
	stringMap(line, "annotations", d.annotations)
	if d.cleanup {
		line("  finalizers: [%s]", v1.CleanupFinalizer)
	}
	line("spec:\n  image: %s", d.image)
	if d.replicas != nil {
		line("  replicas: %d", *d.replicas)
	}
	if d.tier != "" {
		line("  tier: %s", d.tier)
	}
	switch d.flaw {
	case keyTwice:
		line("  image: %s", d.image)
	case unknownField:
		line("  imagee: %s", d.image)
	case garbled:
		line("  tier: [\n}")
	}
	return b.String()
}

func stringMap(line func(string, ...any), name string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	line("  %s:", name)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		line("    %s: %q", key, values[key])
	}
}

// file is a file's documents, and what is wrong with the file as a whole.
type file struct {
	docs []*document
	// zeroed: it has no bytes. locked: it may not be read.
	zeroed, locked bool
}

func (f file) text() string {
	if f.zeroed {
		return ""
	}
	if len(f.docs) == 0 {
		return "# nothing here\n"
	}
	var texts []string
	for _, d := range f.docs {
		texts = append(texts, d.text())
	}
	return strings.Join(texts, "---\n")
}

// with is a copy with the i-th document replaced, or removed where d is nil.
func (f file) with(i int, d *document) file {
	f.docs = slices.Clone(f.docs)
	if d == nil {
		f.docs = slices.Delete(f.docs, i, i+1)
	} else {
		f.docs[i] = d
	}
	return f
}

func (f file) plus(d *document) file {
	f.docs = append(slices.Clone(f.docs), d)
	return f
}

// disk is the source as the walk has written it. Every change is one system call
// as far as a reader can tell, and is told to history before and after.
type disk struct {
	link    string // source.path, a link to the directory that counts
	trees   string // where the directories are
	version int
	files   map[string]file
	gone    bool // the link leads nowhere, or to a directory that is empty
	history *history
}

func newDisk(link string, h *history) (*disk, error) {
	d := &disk{link: link, trees: link + ".trees", files: map[string]file{}, history: h}
	err := errors.Join(os.MkdirAll(d.root(), 0o755), os.MkdirAll(d.empty(), 0o755), os.Symlink(d.root(), link))
	h.dirs = append(h.dirs, dirState{from: time.Now(), sure: time.Now(), says: d.picture()})
	return d, err
}

func (d *disk) root() string              { return filepath.Join(d.trees, fmt.Sprint(d.version)) }
func (d *disk) empty() string             { return filepath.Join(d.trees, "empty") }
func (d *disk) path(file string) string   { return filepath.Join(d.root(), file) }
func (d *disk) picture() *picture         { return pictureOf(d.files) }
func (d *disk) names() []string           { return slices.Sorted(maps.Keys(d.files)) }
func (d *disk) list() (all []place)       { return placesOf(d.files) }
func (d *disk) find(key plan.Key) []place { return placesOfKey(d.files, key) }

// place is where a document is.
type place struct {
	file string
	at   int
	doc  *document
}

func placesOf(files map[string]file) (all []place) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i, doc := range files[name].docs {
			all = append(all, place{name, i, doc})
		}
	}
	return all
}

func placesOfKey(files map[string]file, key plan.Key) (found []place) {
	for _, p := range placesOf(files) {
		if p.doc.key == key {
			found = append(found, p)
		}
	}
	return found
}

// do makes a change, and tells history from when on a reader may see it, and from
// when on it must.
func (d *disk) do(says *picture, change func() error) error {
	from := time.Now()
	err := change()
	d.history.dirs = append(d.history.dirs, dirState{from: from, sure: time.Now(), says: says})
	return err
}

// put makes or replaces a file: at once, or as a plain editor does.
func (d *disk) put(name string, f file, atOnce bool) error {
	d.files[name] = f
	return d.do(d.picture(), func() error { return writeFile(d.path(name), f, atOnce) })
}

func writeFile(path string, f file, atOnce bool) error {
	mode := os.FileMode(0o644)
	if f.locked {
		mode = 0
	}
	target := path
	if atOnce {
		target = filepath.Join(filepath.Dir(path), ".new")
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(target, []byte(f.text()), 0o644), os.Chmod(target, mode))
	if atOnce {
		err = errors.Join(err, os.Rename(target, path))
	}
	return err
}

func (d *disk) remove(name string) error {
	delete(d.files, name)
	return d.do(d.picture(), func() error { return os.Remove(d.path(name)) })
}

func (d *disk) rename(from, to string) error {
	d.files[to] = d.files[from]
	delete(d.files, from)
	return d.do(d.picture(), func() error {
		return errors.Join(os.MkdirAll(filepath.Dir(d.path(to)), 0o755), os.Rename(d.path(from), d.path(to)))
	})
}

// renameFolder moves all files below a folder to a folder that isn't there yet.
func (d *disk) renameFolder(from, to string) error {
	for _, name := range d.names() {
		if path.Dir(name) == from {
			d.files[path.Join(to, path.Base(name))] = d.files[name]
			delete(d.files, name)
		}
	}
	if err := os.Remove(d.path(to)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it isn't empty
	}
	return d.do(d.picture(), func() error { return os.Rename(d.path(from), d.path(to)) })
}

func (d *disk) folders() []string {
	found := map[string]bool{}
	for name := range d.files {
		if folder := path.Dir(name); folder != "." {
			found[folder] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// swap turns the link to a new directory with these files, and removes the old
// one. It is also the way back from a link that leads nowhere.
func (d *disk) swap(files map[string]file) error {
	old := d.root()
	d.version++
	d.files, d.gone = files, false
	if err := os.MkdirAll(d.root(), 0o755); err != nil {
		return err
	}
	for name, f := range files {
		if err := writeFile(d.path(name), f, false); err != nil {
			return err
		}
	}
	err := d.do(d.picture(), func() error { return d.point(d.root()) })
	return errors.Join(err, os.RemoveAll(old))
}

// leadAway turns the link to nothing at all, or to an empty directory.
func (d *disk) leadAway(to rootState) error {
	d.gone = true
	target := d.empty()
	if to == rootMissing {
		target = filepath.Join(d.trees, "none")
	}
	return d.do(&picture{root: to}, func() error { return d.point(target) })
}

// renameAway moves the directory itself away, so that the link dangles.
func (d *disk) renameAway() error {
	d.gone = true
	return d.do(&picture{root: rootMissing}, func() error { return os.Rename(d.root(), d.root()+".away") })
}

// comeBack makes the files the source again, wherever the link leads.
func (d *disk) comeBack() error {
	d.gone = false
	return d.do(d.picture(), func() error {
		if err := os.Rename(d.root()+".away", d.root()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return d.point(d.root())
	})
}

func (d *disk) point(target string) error {
	return errors.Join(os.Symlink(target, d.link+".new"), os.Rename(d.link+".new", d.link))
}
