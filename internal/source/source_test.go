package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// manual gives the hints that a test wants.
type manual struct {
	hints chan struct{}
	dirs  []Directory
	fail  error
}

func newManual() *manual { return &manual{hints: make(chan struct{}, 1)} }

func (m *manual) Watch(dirs []Directory) (bool, error) {
	grown := len(dirs) > len(m.dirs)
	m.dirs = dirs
	return grown, m.fail
}
func (m *manual) Hints() <-chan struct{} { return m.hints }
func (m *manual) Close() error           { return nil }

// hint gives one, unless one is there already.
func (m *manual) hint() {
	select {
	case m.hints <- struct{}{}:
	default:
	}
}

// started is a running source and what it delivered.
type started struct {
	*Source
	mu  sync.Mutex
	got []*Snapshot
}

func (s *started) add(snapshot *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, snapshot)
}

// take returns what was delivered since it was called last.
func (s *started) take() []*Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// start runs a source until the test ends. The file is old enough to be at rest.
func start(t *testing.T, cfg Config) *started {
	t.Helper()
	s := &started{Source: New(cfg)}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx, s.add) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return s
}

// after lets time pass, and returns what was delivered in it.
func (s *started) after(d time.Duration) []*Snapshot {
	s.take()
	pass(d)
	synctest.Wait()
	return s.take()
}

// causes are those of some snapshots, in order.
func causes(snapshots []*Snapshot) string {
	var list []string
	for _, s := range snapshots {
		list = append(list, string(s.Cause))
	}
	return strings.Join(list, " ")
}

// watched is a configuration with a manual notifier.
func watched(path string) (Config, *manual) {
	cfg, m := config(path), newManual()
	cfg.NewNotifier = func() (Notifier, error) { return m, nil }
	return cfg, m
}

func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		cfg, m := watched(dir)
		s := start(t, cfg)
		// The second scan covers what happened before the directory was watched.
		if got := causes(s.after(time.Second)); got != "start hint" {
			t.Errorf("at start: %q", got)
		}
		m.hint()
		if got := causes(s.after(time.Second)); got != "hint" {
			t.Errorf("after a hint: %q", got)
		}
		if got := causes(s.after(time.Minute)); got != "interval interval" {
			t.Errorf("in a minute: %q", got)
		}
		if status := s.Status(); status.Mode != ModeWatch || status.Interval != 30*time.Second || status.LastScan.IsZero() {
			t.Errorf("%+v", status)
		}
	})
}

func TestHintsAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, m := watched(writeTree(t, map[string]string{"a.yaml": named("a")}))
		s := start(t, cfg)
		s.after(time.Second)
		for range 5 {
			m.hint()
			pass(50 * time.Millisecond)
		}
		if got := causes(s.after(time.Second)); got != "hint" {
			t.Errorf("%q", got)
		}
	})
}

// TestEndlessHints writes a file ten times a second for a minute: what changed at
// the start doesn't wait for the end.
func TestEndlessHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"hot.yaml": named("hot"), "a.yaml": named("a")})
		cfg, m := watched(dir)
		cfg.Quiet = 500 * time.Millisecond
		s := start(t, cfg)
		s.after(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			for i := 0; ctx.Err() == nil; i++ {
				writeFile(t, filepath.Join(dir, "hot.yaml"), fmt.Sprintf("%s  replicas: %d\n", named("hot"), i))
				m.hint()
				pass(100 * time.Millisecond)
			}
		}()
		pass(time.Second)
		writeFile(t, filepath.Join(dir, "a.yaml"), named("a")+"  tier: prod\n")
		got := s.after(3 * time.Second)
		if len(got) == 0 || got[len(got)-1].Objects[key("shop/a")].Tier == nil {
			t.Error("the change waits for the file that never rests")
		}
		got = s.after(time.Minute)
		if last := got[len(got)-1]; len(last.Unsettled) > 0 || *last.Objects[key("shop/hot")].Replicas < 500 {
			t.Errorf("%+v", last)
		}
	})
}

// TestAWatcherThatSaysNothing is one on a share that other machines write to.
func TestAWatcherThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		cfg, _ := watched(dir)
		s := start(t, cfg)
		s.after(time.Second)
		writeFile(t, filepath.Join(dir, "b.yaml"), named("b"))
		got := s.after(s.Status().Interval + time.Second)
		if len(got) == 0 || keysOf(got[len(got)-1].Objects) != "shop/a shop/b" {
			t.Errorf("a change isn't seen within one interval: %q", causes(got))
		}
	})
}

func TestPolling(t *testing.T) {
	for name, broken := range map[string]func() (Notifier, error){
		"no watcher": func() (Notifier, error) { return nil, errors.New("no more watchers") },
		"no watches": func() (Notifier, error) { m := newManual(); m.fail = errors.New("no more watchers"); return m, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := writeTree(t, map[string]string{"a.yaml": named("a")})
				cfg := config(dir)
				cfg.NewNotifier = broken
				s := start(t, cfg)
				s.after(time.Second)
				if status := s.Status(); status.Mode != ModePoll || status.Reason != "no more watchers" || status.Interval != PollInterval {
					t.Errorf("%+v", status)
				}
				writeFile(t, filepath.Join(dir, "b.yaml"), named("b"))
				if got := s.after(PollInterval + time.Second); len(got) == 0 || len(got[len(got)-1].Objects) != 2 {
					t.Errorf("a change isn't seen within one poll: %q", causes(got))
				}
			})
		})
	}
}

func TestWatchingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, m := watched(writeTree(t, map[string]string{"a.yaml": named("a")}))
		tries := 0
		cfg.NewNotifier = func() (Notifier, error) {
			if tries++; tries == 1 {
				return nil, errors.New("no more watchers")
			}
			return m, nil
		}
		s := start(t, cfg)
		s.after(watchRetry + 10*time.Second)
		if status := s.Status(); status.Mode != ModeWatch || status.Reason != "" || tries != 2 {
			t.Errorf("%+v after %d tries", status, tries)
		}
	})
}

func TestWatchedDirectories(t *testing.T) {
	dir := writeTree(t, map[string]string{"repo/v1/desired/sub/a.yaml": named("a"), "repo/v1/.git/HEAD": ""})
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("repo/v1", filepath.Join(dir, "current")); err != nil {
		t.Fatal(err)
	}
	s := NewScanner(Config{Path: filepath.Join(dir, "current", "desired"), Options: options()})
	scan(t, s)
	got := map[string]bool{}
	for _, d := range s.directories() {
		got[d.Path+" "+d.Only] = true
	}
	for _, want := range []string{" current", "/repo/v1 desired", "/repo/v1/desired ", "/repo/v1/desired/sub "} {
		if !got[dir+want] {
			t.Errorf("%q isn't watched: %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
}

// TestRescan: one more scan begins, however often it is asked for, whether or not
// anybody gives hints.
func TestRescan(t *testing.T) {
	for name, notifier := range map[string]func() (Notifier, error){
		"while watching": func() (Notifier, error) { return newManual(), nil },
		"while polling":  func() (Notifier, error) { return nil, errors.New("no more watchers") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config(writeTree(t, map[string]string{"a.yaml": named("a")}))
				cfg.NewNotifier = notifier
				s := start(t, cfg)
				s.after(time.Second)
				before := time.Now()
				for range 3 {
					go s.Rescan()
				}
				got := s.after(200 * time.Millisecond)
				if causes(got) != "hint" || !got[0].Scanned.After(before) || keysOf(got[0].Objects) != "shop/a" {
					t.Fatalf("asked for: %q", causes(got))
				}
				if got := causes(s.after(time.Second)); got != "" {
					t.Errorf("and then: %q", got)
				}
			})
		})
	}
}

// TestRescanDuringAScan: the scan that is under way may have looked already, so
// another one begins.
func TestRescanDuringAScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		cfg, m := watched(dir)
		s := start(t, cfg)
		s.after(time.Second)
		writeFile(t, filepath.Join(dir, "a.yaml"), named("a")+"  tier: prod\n")
		m.hint()
		pass(150 * time.Millisecond) // after Quiet the scan began, and it waits for the file to rest
		s.Rescan()
		if got := causes(s.after(time.Second)); got != "hint hint" {
			t.Errorf("%q", got)
		}
	})
}

// TestRescanFromAnywhere: before Run, and from the place where snapshots are taken: neither blocks,
// and the first scan is the one that was asked for.
func TestRescanFromAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, _ := watched(writeTree(t, map[string]string{"a.yaml": named("a")}))
		source, seen := New(cfg), []*Snapshot{}
		source.Rescan()
		source.Rescan()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := source.Run(ctx, func(s *Snapshot) {
			if seen = append(seen, s); len(seen) == 2 {
				source.Rescan()
			}
		})
		// The second scan is for what happened before the directory was watched.
		if err != nil || causes(seen) != "start hint hint" {
			t.Errorf("%q, %v", causes(seen), err)
		}
	})
}
