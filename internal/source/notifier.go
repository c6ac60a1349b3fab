package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Notifier says that something in a set of directories may have changed. That is
// a hint and no more: it may come late, twice, or not at all.
type Notifier interface {
	// Watch makes dirs the watched set and says whether any of them is new: what
	// happened in it before may have been missed. An error makes the notifier
	// useless.
	Watch(dirs []Directory) (grown bool, err error)
	// Hints has room for one hint: many events are one.
	Hints() <-chan struct{}
	// Close frees what the notifier holds.
	Close() error
}

// Directory is one directory to watch.
type Directory struct {
	// Path is its path in the file system.
	Path string
	// Only names the single entry that matters; "" if all do.
	Only string
	// ID changes when another directory takes the path.
	ID string
}

// watcher is the Notifier of the operating system.
type watcher struct {
	events *fsnotify.Watcher
	hints  chan struct{}
	over   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	watched map[string]interest
}

// interest is why a directory is watched.
type interest struct {
	id    string
	whole bool     // every name matters
	names []string // otherwise these
}

// newWatcher is the default of Config.NewNotifier.
func newWatcher() (Notifier, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, explainLimit(err)
	}
	w := &watcher{
		events: events, hints: make(chan struct{}, 1), over: make(chan struct{}),
		watched: make(map[string]interest),
	}
	go w.run()
	return w, nil
}

// run makes events into hints. Lost events and errors are hints too: a scan finds
// out what happened.
func (w *watcher) run() {
	defer close(w.over)
	for {
		select {
		case event, open := <-w.events.Events:
			if !open {
				return
			}
			if w.matters(event.Name) {
				w.hint()
			}
			if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
				w.forget(event.Name)
			}
		case _, open := <-w.events.Errors:
			if !open {
				return
			}
			w.hint()
		}
	}
}

func (w *watcher) hint() {
	select {
	case w.hints <- struct{}{}:
	default: // there is one already
	}
}

// matters says whether an event may change what the source says. Hidden names never
// do, except those with two dots: mounted volumes switch versions by them.
func (w *watcher) matters(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, self := w.watched[path]; self {
		return true
	}
	name := filepath.Base(path)
	in := w.watched[filepath.Dir(path)]
	for _, only := range in.names {
		if only == name {
			return true
		}
	}
	hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "..")
	return in.whole && !hidden
}

// forget: a directory that was removed, or moved away, must be added anew, even if
// the next one there looks the same.
func (w *watcher) forget(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, path)
}

func (w *watcher) Hints() <-chan struct{} { return w.hints }

// Close ends the goroutine.
func (w *watcher) Close() error {
	err := w.events.Close()
	<-w.over
	return err
}

// Watch adds and removes what differs from the set before.
func (w *watcher) Watch(dirs []Directory) (grown bool, err error) {
	want := interests(dirs)
	w.mu.Lock()
	have := w.watched
	w.watched = maps.Clone(want)
	w.mu.Unlock()
	for path, in := range have {
		if want[path].id != in.id {
			_ = w.events.Remove(path) // it is gone by itself when its directory is
		}
	}
	for path, in := range want {
		if old, known := have[path]; known && old.id == in.id {
			continue
		}
		err := w.events.Add(path)
		switch {
		case errors.Is(err, fs.ErrPermission) && len(in.names) > 0:
			// Nobody would tell when the link to the source changes.
			return false, fmt.Errorf("%s can't be watched: %w", path, fs.ErrPermission)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return false, explainLimit(err)
		}
		grown = true
	}
	return grown, nil
}

// interests joins the reasons for which a directory is watched.
func interests(dirs []Directory) map[string]interest {
	want := make(map[string]interest, len(dirs))
	for _, d := range dirs {
		in := want[d.Path]
		in.id = d.ID
		if d.Only == "" {
			in.whole = true
		} else {
			in.names = append(in.names, d.Only)
		}
		want[d.Path] = in
	}
	return want
}

// explainLimit says which limit an error of inotify is about: its own text speaks
// of open files or of disk space.
func explainLimit(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("no more watchers for this user: raise fs.inotify.max_user_instances: %w", errLimit)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("no more watches for this user: raise fs.inotify.max_user_watches: %w", errLimit)
	default:
		return fmt.Errorf("the file system gives no hints: %w", err)
	}
}

// errLimit stands for what inotify says when a limit is reached.
var errLimit = errors.New("limit reached")
