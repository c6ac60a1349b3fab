package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// deadline is how long a real watcher may take.
const deadline = 10 * time.Second

// until waits for a snapshot that satisfies a condition.
func until(t *testing.T, snapshots <-chan *Snapshot, what string, holds func(*Snapshot) bool) {
	t.Helper()
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	for {
		select {
		case s := <-snapshots:
			if holds(s) {
				return
			}
		case <-timer.C:
			t.Fatalf("not seen: %s", what)
		}
	}
}

// run starts a source with the watcher of the system, and a scan interval so long
// that only hints count.
func run(t *testing.T, path string) <-chan *Snapshot {
	t.Helper()
	cfg := config(path)
	cfg.Quiet, cfg.MaxWait, cfg.ScanInterval = 20*time.Millisecond, 200*time.Millisecond, time.Hour
	return runAs(t, cfg)
}

// runQuickly is run with next to no patience.
func runQuickly(t *testing.T, path string) <-chan *Snapshot {
	t.Helper()
	cfg := config(path)
	cfg.Quiet, cfg.MaxWait, cfg.ScanInterval = time.Millisecond, 100*time.Millisecond, time.Hour
	return runAs(t, cfg)
}

func runAs(t *testing.T, cfg Config) <-chan *Snapshot {
	t.Helper()
	snapshots := make(chan *Snapshot, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- New(cfg).Run(ctx, func(s *Snapshot) { snapshots <- s }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return snapshots
}

func holding(names string) func(*Snapshot) bool {
	return func(s *Snapshot) bool { return keysOf(s.Objects) == names }
}

func TestSystemWatcher(t *testing.T) {
	dir := writeTree(t, map[string]string{"desired/a.yaml": named("a")})
	desired := filepath.Join(dir, "desired")
	snapshots := run(t, desired)
	until(t, snapshots, "the start", holding("shop/a"))

	writeFile(t, filepath.Join(desired, "new", "deep", "b.yaml"), named("b"))
	until(t, snapshots, "a file in a new directory", holding("shop/a shop/b"))

	if err := os.RemoveAll(filepath.Join(desired, "new")); err != nil {
		t.Fatal(err)
	}
	until(t, snapshots, "a removed directory", holding("shop/a"))

	writeFile(t, filepath.Join(desired, "new", "deep", "c.yaml"), named("c"))
	until(t, snapshots, "the directory made anew", holding("shop/a shop/c"))

	writeFile(t, filepath.Join(desired, "new", "deep", "c.yaml"), named("d"))
	until(t, snapshots, "an edit in it", holding("shop/a shop/d"))

	if err := errors.Join(os.Rename(desired, desired+".old"), os.Mkdir(desired, 0o755)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(desired, "e.yaml"), named("e"))
	until(t, snapshots, "another directory in its place", holding("shop/e"))

	writeFile(t, filepath.Join(desired, "f.yaml"), named("f"))
	until(t, snapshots, "an edit in that", holding("shop/e shop/f"))
}

func TestSystemWatcherFollowsLinks(t *testing.T) {
	dir := writeTree(t, map[string]string{"v1/a.yaml": named("a"), "v2/b.yaml": named("b")})
	link := filepath.Join(dir, "link")
	point := func(target string) {
		t.Helper()
		if err := errors.Join(os.Symlink(target, link+".new"), os.Rename(link+".new", link)); err != nil {
			t.Fatal(err)
		}
	}
	snapshots := run(t, link)
	until(t, snapshots, "a missing source", func(s *Snapshot) bool { return errors.Is(s.Err, ErrMissing) })
	point("v3")
	until(t, snapshots, "a dangling link", func(s *Snapshot) bool { return errors.Is(s.Err, ErrDangling) })
	point("v1")
	until(t, snapshots, "the first version", holding("shop/a"))
	point("v2")
	until(t, snapshots, "the second version", holding("shop/b"))
}

func TestSystemWatcherSeesAVolumeSwitch(t *testing.T) {
	dir := writeTree(t, map[string]string{"..t0/a.yaml": service + "  replicas: 0\n"})
	link := func(target, name string) {
		t.Helper()
		temporary := filepath.Join(dir, "..data_tmp")
		if err := errors.Join(os.Symlink(target, temporary), os.Rename(temporary, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	link("..t0", "..data")
	link("..data/a.yaml", "a.yaml")
	snapshots := run(t, dir)
	for i := range 5 {
		until(t, snapshots, fmt.Sprintf("version %d", i), func(s *Snapshot) bool {
			o := s.Objects[key("shop/web")]
			return o.Replicas != nil && int(*o.Replicas) == i
		})
		writeFile(t, filepath.Join(dir, fmt.Sprintf("..t%d/a.yaml", i+1)), fmt.Sprintf("%s  replicas: %d\n", service, i+1))
		link(fmt.Sprintf("..t%d", i+1), "..data")
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..t%d", i))); err != nil {
			t.Fatal(err)
		}
	}
}

// silence waits until nothing is delivered any more, and returns how many snapshots
// still came.
func silence(snapshots <-chan *Snapshot) (came int) {
	for {
		timer := time.NewTimer(300 * time.Millisecond)
		select {
		case <-snapshots:
			came++
			timer.Stop()
		case <-timer.C:
			return came
		}
	}
}

// TestReadingIsNoChange: nor does it matter when a file was read last.
func TestReadingIsNoChange(t *testing.T) {
	dir := writeTree(t, map[string]string{"a.yaml": named("a"), "sub/b.yaml": named("b")})
	snapshots := run(t, dir)
	silence(snapshots)
	for range 5000 {
		for _, path := range []string{"a.yaml", "sub/b.yaml"} {
			if _, err := os.ReadFile(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.ReadDir(filepath.Join(dir, "sub")); err != nil {
			t.Fatal(err)
		}
	}
	if came := silence(snapshots); came > 0 {
		t.Errorf("reading led to %d scans", came)
	}
	if err := os.Chmod(filepath.Join(dir, "a.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if came := silence(snapshots); came > 1 {
		t.Errorf("a change of mode led to %d scans", came)
	}
}

// TestEveryEventIsAHint, whatever it is said to be, and lost events are one too.
func TestEveryEventIsAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
		w := &watcher{
			events: events, hints: make(chan struct{}, 1), over: make(chan struct{}),
			watched: interests([]Directory{{Path: "/volume"}}),
		}
		go w.run()
		hinted := func() bool {
			synctest.Wait()
			select {
			case <-w.hints:
				return true
			default:
				return false
			}
		}
		for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Rename, fsnotify.Chmod, fsnotify.Remove} {
			for range 3 {
				events.Events <- fsnotify.Event{Name: "/volume/..data", Op: op}
			}
			if !hinted() || hinted() {
				t.Errorf("%s: not one hint", op)
			}
		}
		events.Errors <- fsnotify.ErrEventOverflow
		if !hinted() {
			t.Error("lost events: no hint")
		}
		close(events.Events)
		<-w.over
	})
}

func TestWhichEventsMatter(t *testing.T) {
	w := &watcher{watched: interests([]Directory{{Path: "/a"}, {Path: "/", Only: "a"}, {Path: "/l", Only: "link"}})}
	for path, want := range map[string]bool{
		"/a": true, "/a/x.yaml": true, "/a/sub": true, "/a/..data": true, "/a/.x.yaml.swp": false,
		"/b": false, "/l/link": true, "/l/other": false, "/a/sub/x.yaml": false,
	} {
		if w.matters(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{syscall.EMFILE, "fs.inotify.max_user_instances"},
		{syscall.ENOSPC, "fs.inotify.max_user_watches"},
		{fmt.Errorf("add: %w", syscall.ENOSPC), "fs.inotify.max_user_watches"},
		{fsnotify.ErrClosed, "closed"},
	} {
		got := explainLimit(test.err).Error()
		if !strings.Contains(got, test.want) || strings.Contains(got, "space") {
			t.Errorf("%v: %s", test.err, got)
		}
	}
}
