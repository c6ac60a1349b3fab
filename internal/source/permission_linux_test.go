package source

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
)

// asNobody runs test on a thread whose file accesses are those of a user without
// rights: modes don't bind root. The thread ends with the test.
func asNobody(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			const nobody = 65534
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Setfsuid(0) }() // for what cleans up
		}
		test(t)
	})
}

// shut takes all rights to a path away until the test ends.
func shut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, info.Mode()) })
}

func TestUnreadable(t *testing.T) {
	for _, test := range []struct {
		name, path      string
		objects, broken string
		problem         string
	}{
		{"file", "a.yaml", "shop/b shop/c", "shop/a", "a.yaml: can't be read: permission denied"},
		{"directory", "sub", "shop/a shop/b", "shop/c", "sub: can't be read: permission denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeTree(t, map[string]string{"a.yaml": named("a"), "b.yaml": named("b"), "sub/c.yaml": named("c")})
			scanner := NewScanner(config(dir))
			asNobody(t, func(t *testing.T) { scan(t, scanner) })
			shut(t, filepath.Join(dir, test.path))
			asNobody(t, func(t *testing.T) {
				for range 2 {
					s := scan(t, scanner)
					if keysOf(s.Objects) != test.objects || keysOf(s.Broken) != test.broken || texts(s.Problems) != test.problem || !s.Complete {
						t.Errorf("objects: %s, broken: %s, problems: %s", keysOf(s.Objects), keysOf(s.Broken), texts(s.Problems))
					}
					if len(s.Unreadable) != 1 || s.Unreadable[0] != test.path {
						t.Errorf("unreadable: %v", s.Unreadable)
					}
				}
			})
		})
	}
}

func TestReadableAgain(t *testing.T) {
	dir := writeTree(t, map[string]string{"a.yaml": named("a")})
	path := filepath.Join(dir, "a.yaml")
	scanner := NewScanner(config(dir))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func(t *testing.T) {
		if s := scan(t, scanner); len(s.Problems) != 1 || s.Err != nil {
			t.Errorf("%+v", s)
		}
	})
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func(t *testing.T) {
		if s := scan(t, scanner); keysOf(s.Objects) != "shop/a" || len(s.Problems) > 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestUnreadableRoot(t *testing.T) {
	dir := writeTree(t, map[string]string{"desired/a.yaml": named("a")})
	shut(t, filepath.Join(dir, "desired"))
	asNobody(t, func(t *testing.T) {
		s := scan(t, NewScanner(config(filepath.Join(dir, "desired"))))
		if s.Complete || !errors.Is(s.Err, ErrUnreadable) || !errors.Is(s.Err, os.ErrPermission) {
			t.Errorf("%+v", s)
		}
	})
}

// A directory that holds the link to the source, and may be passed through but not
// read, can't be watched: nobody would tell of a new link, so the source must poll.
func TestAParentThatMayNotBeWatched(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatal(err)
	}
	asNobody(t, func(t *testing.T) {
		w, err := newWatcher()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		_, err = w.Watch([]Directory{{Path: parent, Only: "link", ID: "1"}})
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("watching the link's directory: %v", err)
		}
		// One inside the source is a problem of its own, and told as such.
		if _, err = w.Watch([]Directory{{Path: parent, ID: "1"}}); err != nil {
			t.Errorf("watching a directory of the source: %v", err)
		}
	})
}
