package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// minPause is the least time between two looks at files that change.
	minPause = 10 * time.Millisecond
	// idleShare is how many times as long as it worked a scanner rests, where files
	// never do: a large source with a busy file mustn't keep the machine busy.
	idleShare = 8
)

// Scanner scans one directory again and again. Every scan looks at the name, size
// and times of everything, and reads and parses only what changed. A Scanner is
// for one goroutine at a time.
type Scanner struct {
	cfg     Config
	cache   cache
	prev    *Snapshot
	history history // of prev
	// readings counts the snapshots that were built.
	readings int64
	// waiting says what keeps a scan from ending. It may be read at any time.
	waiting atomic.Pointer[string]
	// locked: a git command keeps the files from being read. It may be read at any time.
	locked atomic.Bool
	// lockSeen is when the index.lock that is there was seen first, and lockMade the
	// time that it bears: another lock bears another.
	lockSeen, lockMade time.Time
	// worked is how long the last scan took, pauses aside.
	worked time.Duration
	// dirs are those of the last scan, relative to root; none if that is lost.
	dirs []Directory
	root string
}

// NewScanner makes a Scanner of cfg.Path. Of cfg only Path, Options, Quiet and
// MaxWait matter.
func NewScanner(cfg Config) *Scanner {
	return &Scanner{cfg: cfg, cache: newCache()}
}

// Scan waits until the files are at rest, at most cfg.MaxWait, and returns what
// they say. While a git command is at work in an enclosing checkout, however long
// that takes, it waits as well. A source that can't be read is a snapshot too; the
// only error is that of a ctx which is done.
func (s *Scanner) Scan(ctx context.Context) (*Snapshot, error) {
	return s.scan(ctx, time.Now())
}

// scan waits for files that change until MaxWait after since. It looks, reads what
// changed, and looks again: only a look after which there is nothing left to read
// says what the files are.
func (s *Scanner) scan(ctx context.Context, since time.Time) (*Snapshot, error) {
	defer s.waiting.Store(nil)
	defer s.locked.Store(false)
	s.worked = 0
	var read *look // the look at which files were read
	for {
		began := time.Now()
		l, pause, err := s.look(since)
		if err != nil {
			return s.lost(err), ctx.Err()
		}
		again := pause == 0 && s.cache.refresh(ctx, l.root, s.cfg.Options)
		l.close()
		s.worked += time.Since(began)
		switch {
		case pause > 0:
			if l.lock.fresh {
				since = l.at // the files' own time begins when git is done
			}
			if err := sleep(ctx, max(pause, minPause)); err != nil {
				return nil, err
			}
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case again || read != nil && read.id != l.id:
			read = l
		default:
			began = time.Now()
			snapshot := s.settled(l)
			s.worked += time.Since(began)
			return snapshot, nil
		}
	}
}

// look is one look at the whole source.
type look struct {
	root *os.Root
	id   lookID
	lock gitLock
	dirs []Directory
	at   time.Time
}

// lookID is what must be the same before and after files are read.
type lookID struct {
	root     rootID
	revision string
	locked   bool
}

// close frees the root. A directory handle that was only read has no error to tell.
func (l *look) close() { _ = l.root.Close() }

// look resolves the root and walks it. A pause is how long to wait before looking
// again, because something is being changed; the walk is spared while git does so.
func (s *Scanner) look(since time.Time) (*look, time.Duration, error) {
	root, id, err := openRoot(s.cfg.Path)
	if err != nil {
		return nil, 0, err
	}
	l := &look{root: root, at: time.Now()}
	began := l.at
	git := findCheckout(id.path)
	l.lock = s.lock(git, l.at)
	l.id = lookID{root: id, revision: git.revision(), locked: l.lock.held}
	s.locked.Store(l.lock.fresh)
	if l.lock.fresh {
		s.explain("a git command is at work: " + l.lock.path)
		return l, max(s.cfg.Quiet, minPause), nil
	}
	tree, err := walk(root, &s.history)
	if err != nil {
		l.close()
		return nil, 0, rootError(s.cfg.Path, err)
	}
	l.dirs, l.at = tree.dirs, time.Now()
	changing, pause := s.cache.note(tree.entries, l.at, s.cfg.Quiet)
	if len(changing) > 0 {
		s.explain(stillChange(changing))
		pause = max(pause, idleShare*l.at.Sub(began))
	}
	return l, max(0, min(pause, s.cfg.MaxWait-l.at.Sub(since))), nil
}

// stillChange says of paths that they do.
func stillChange(paths []string) string {
	if len(paths) == 1 {
		return paths[0] + " still changes"
	}
	return fmt.Sprintf("%s still change, such as %s", plural(len(paths), "file"), slices.Min(paths))
}

// gitLock is the index.lock of the enclosing checkout.
type gitLock struct {
	path        string
	held, fresh bool
}

// lock judges an index.lock. Its age is what the clock says or how long it has
// been watched, whichever is more: the clock may be wrong.
func (s *Scanner) lock(git checkout, now time.Time) gitLock {
	path, since, held := git.lock()
	if !held {
		s.lockSeen = time.Time{}
		return gitLock{}
	}
	if s.lockSeen.IsZero() || !since.Equal(s.lockMade) {
		s.lockSeen, s.lockMade = now, since
	}
	age := max(now.Sub(since), now.Sub(s.lockSeen))
	return gitLock{path: path, held: true, fresh: age < staleLock}
}

// build makes the next snapshot, with a number of its own.
func (s *Scanner) build(files []File, rootErr error) {
	s.readings++
	s.prev = Build(files, rootErr, s.prev)
	s.prev.reading = s.readings
	s.history = history{held: s.prev.held}
}

// lost makes the snapshot of a source that can't be read.
func (s *Scanner) lost(err error) *Snapshot {
	s.cache.dirty = true
	s.dirs, s.root = nil, ""
	s.build(nil, err)
	s.prev.Scanned = time.Now()
	return s.prev.copy()
}

// settled makes the snapshot of a look after which nothing is left to read. If
// nothing changed either, the snapshot before still holds.
func (s *Scanner) settled(l *look) *Snapshot {
	if s.cache.dirty || s.prev == nil {
		s.build(s.cache.files(), nil)
		s.cache.dirty = len(s.prev.Unsettled) > 0
	}
	out := s.prev.copy()
	if err := out.empty(s.cfg.Path); err != nil {
		out.Err = err
	}
	if l.lock.held {
		out.Warnings = append(out.Warnings[:len(out.Warnings):len(out.Warnings)], staleLockWarning(l))
	}
	out.Revision = l.id.revision
	out.Scanned = l.at
	s.dirs, s.root = l.dirs, l.id.root.path
	return out
}

func staleLockWarning(l *look) Problem {
	path, err := filepath.Rel(l.id.root.path, l.lock.path)
	if err != nil {
		path = l.lock.path
	}
	return Problem{
		Path:    filepath.ToSlash(path),
		Message: fmt.Sprintf("is older than %s: remove it, unless a git command is still at work", staleLock),
	}
}

// copy is a snapshot of its own that shares everything with s.
func (s *Snapshot) copy() *Snapshot {
	out := *s
	return &out
}

// explain says for what the scan waits.
func (s *Scanner) explain(text string) { s.waiting.Store(&text) }

// Waiting says what keeps a running scan from ending; "" if nothing does. It may be
// called from any goroutine.
func (s *Scanner) Waiting() string {
	if text := s.waiting.Load(); text != nil {
		return *text
	}
	return ""
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
