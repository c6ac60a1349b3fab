package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 64)
)

func TestRevision(t *testing.T) {
	for _, test := range []struct {
		name     string
		files    map[string]string
		source   string // the directory that is looked from
		revision string
	}{
		{"no checkout", map[string]string{"desired/a.yaml": ""}, "desired", ""},
		{"branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commitA + "\n"}, ".", commitA},
		{"from below", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commitA, "deploy/desired/a.yaml": ""}, "deploy/desired", commitA},
		{"detached", map[string]string{".git/HEAD": commitB + "\n"}, ".", commitB},
		{"packed", map[string]string{".git/HEAD": "ref: refs/heads/a/b\n", ".git/packed-refs": "# pack-refs\n" + commitB + " refs/heads/a\n" + commitA + " refs/heads/a/b\n^" + commitB + "\n"}, ".", commitA},
		{"loose before packed", map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": commitA, ".git/packed-refs": commitB + " refs/heads/a\n"}, ".", commitA},
		{"symbolic", map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "ref: refs/heads/b\n", ".git/refs/heads/b": commitA}, ".", commitA},
		{"circle", map[string]string{".git/HEAD": "ref: refs/heads/a\n", ".git/refs/heads/a": "ref: refs/heads/a\n"}, ".", ""},
		{"unborn branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ".", ""},
		{"reference out of the git directory", map[string]string{".git/HEAD": "ref: refs/../../secret\n", "secret": commitA}, ".", ""},
		{"no commit", map[string]string{".git/HEAD": strings.Repeat("g", 40)}, ".", ""},
		{
			"worktree", map[string]string{
				"main/.git/worktrees/w/HEAD": "ref: refs/heads/w\n", "main/.git/worktrees/w/commondir": "../..\n",
				"main/.git/refs/heads/w": commitA, "w/.git": "gitdir: ../main/.git/worktrees/w\n", "w/desired/a.yaml": "",
			}, "w/desired", commitA,
		},
		{"git file that leads nowhere", map[string]string{".git": "gitdir: /nowhere\n"}, ".", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeTree(t, test.files)
			if got := findCheckout(filepath.Join(dir, test.source)).revision(); got != test.revision {
				t.Errorf("%q, want %q", got, test.revision)
			}
		})
	}
}

func TestRevisionIsThatOfTheFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{".git/HEAD": commitA, "desired/a.yaml": named("a")})
		s := NewScanner(config(filepath.Join(dir, "desired")))
		if got := scan(t, s).Revision; got != commitA {
			t.Errorf("%q", got)
		}
		writeFile(t, filepath.Join(dir, ".git/HEAD"), commitB)
		if got := scan(t, s).Revision; got != commitB {
			t.Errorf("%q", got)
		}
	})
}

func TestWhatAScanWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for files, want := range map[string]string{"a.yaml": "a.yaml still changes", "b.yaml c.yaml a.yaml": "3 files still change, such as a.yaml"} {
			dir := t.TempDir()
			for name := range strings.FieldsSeq(files) {
				writeFile(t, filepath.Join(dir, name), named(name))
			}
			s := NewScanner(config(dir))
			go func() {
				pass(50 * time.Millisecond)
				if got := s.Waiting(); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}()
			scan(t, s)
		}
	})
}

func TestGitAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{".git/HEAD": commitA, ".git/index.lock": "", "a.yaml": named("a")})
		s := NewScanner(config(dir))
		go func() {
			pass(5 * time.Second)
			if !strings.HasPrefix(s.Waiting(), "a git command is at work: ") {
				t.Errorf("waiting: %q", s.Waiting())
			}
			_ = os.Remove(filepath.Join(dir, ".git/index.lock"))
		}()
		start := time.Now()
		got := scan(t, s)
		if waited := time.Since(start); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("waited %v", waited)
		}
		if keysOf(got.Objects) != "shop/a" || len(got.Warnings) > 0 || s.Waiting() != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestLockThatWasLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{".git/HEAD": commitA, ".git/index.lock": "", "desired/a.yaml": named("a")})
		start := time.Now()
		got := scan(t, NewScanner(config(filepath.Join(dir, "desired"))))
		if waited := time.Since(start); waited < staleLock || waited > staleLock+time.Second {
			t.Errorf("waited %v", waited)
		}
		want := "../.git/index.lock: is older than 30s: remove it, unless a git command is still at work"
		if keysOf(got.Objects) != "shop/a" || texts(got.Warnings) != want {
			t.Errorf("objects: %s, warnings: %s", keysOf(got.Objects), texts(got.Warnings))
		}
	})
}

// A lock after one that was left behind is another git command at work.
func TestALockAfterOneThatWasLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{".git/HEAD": commitA, ".git/index.lock": "", "a.yaml": named("a")})
		s := NewScanner(config(dir))
		scan(t, s)
		lock := filepath.Join(dir, ".git/index.lock")
		if err := os.Chtimes(lock, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		scan(t, s)
		if waited := time.Since(start); waited < staleLock {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestAfterGitsWork the files mean what they say, also by what isn't there.
func TestAfterGitsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{".git/HEAD": commitA, "a.yaml": named("a"), "b.yaml": named("b")})
		s := NewScanner(config(dir))
		scan(t, s)
		lock := filepath.Join(dir, ".git/index.lock")
		writeFile(t, lock, "")
		go func() {
			_ = os.Remove(filepath.Join(dir, "a.yaml"))
			_ = os.Rename(filepath.Join(dir, "b.yaml"), filepath.Join(dir, "c.yaml"))
			pass(3 * time.Second)
			_ = os.Remove(lock)
		}()
		if got := scan(t, s); keysOf(got.Objects) != "shop/b" || len(got.Broken)+len(got.Unsettled) > 0 || got.Doubt() != "" {
			t.Errorf("objects: %s, broken: %s, doubt: %s", keysOf(got.Objects), keysOf(got.Broken), got.Doubt())
		}
	})
}
