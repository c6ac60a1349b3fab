package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The clock of a synctest bubble is decades behind the files' times, so a scanner
// in one trusts only what it watches itself.

// config has the default patience.
func config(path string) Config {
	return Config{Path: path, Options: options(), Quiet: 100 * time.Millisecond, MaxWait: time.Second, ScanInterval: 30 * time.Second}
}

// scan scans once.
func scan(t *testing.T, s *Scanner) *Snapshot {
	t.Helper()
	snapshot, err := s.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// writeTree writes files below a new directory: path → text.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // for tests under another user
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range files {
		writeFile(t, filepath.Join(dir, path), text)
	}
	return dir
}

func TestWhatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{
			"a.yaml": named("a"), "sub/b.yml": named("b"), "sub/deep/c.json": `{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"name":"c"},"spec":{"image":"x"}}`,
			"a copy.yaml": named("copy"), "LOUD.YAML": named("loud"), "sub/Mixed.Yml": named("mixed"), "J.JSON": jsonService("j") + jsonService("k"),
			"a.yaml~": named("x"), "a.yaml.bak": named("x"), ".a.yaml.swp": named("x"), "#a.yaml#": named("x"), "a.yaml.orig": named("x"), "a.yaml.SWP": named("x"), "YAML": named("x"),
			"4913": "x", "README.md": "x", ".hidden/d.yaml": named("x"), "..t1/e.yaml": named("x"), ".git/config.yaml": named("x"),
		})
		s := scan(t, NewScanner(config(dir)))
		if got := keysOf(s.Objects); got != "shop/a shop/b shop/c shop/copy shop/j shop/k shop/loud shop/mixed" || len(s.Problems) > 0 || s.Files != 7 || !s.Complete || s.Err != nil {
			t.Errorf("objects: %s, files: %d, error: %v, problems:\n%s", got, s.Files, s.Err, texts(s.Problems))
		}
	})
}

func TestLinksAndDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"..t1/a.yaml": named("a"), "real/b.yaml": named("b")})
		outside := writeTree(t, map[string]string{"secret.yaml": named("secret")})
		for name, target := range map[string]string{
			"..data": "..t1", "a.yaml": "..data/a.yaml", "link": "real", "gone.yaml": "nowhere.yaml", "circle.yaml": "circle.yaml",
			"out.yaml": filepath.Join(outside, "secret.yaml"), "up.yaml": "../x/secret.yaml", "LICENSE.md": "../LICENSE.md",
		} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "socket.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		s := scan(t, NewScanner(config(dir)))
		if got := keysOf(s.Objects); got != "shop/a shop/b" {
			t.Errorf("objects: %s", got)
		}
		want := `circle.yaml: is a link in a circle: let it lead to a file
gone.yaml: is a link to something that doesn't exist: mend it, or remove it
link: is a link to a directory, which isn't followed: use the link itself as source.path, or put the directory in its place
out.yaml: is an absolute link, which isn't followed: make it relative, or put a copy in its place
pipe.yaml: isn't a regular file: replace it by one
socket.yaml: isn't a regular file: replace it by one
up.yaml: is a link out of the source, which isn't followed: put a copy in its place`
		if got := texts(s.Problems); got != want {
			t.Errorf("problems:\n%s\nwant:\n%s", got, want)
		}
	})
}

func TestMountedVolumeSwitchesVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"..t1/a.yaml": service + "  replicas: 1\n"})
		link := func(target, name string) {
			t.Helper()
			temporary := filepath.Join(dir, "..tmp")
			if err := errors.Join(os.Symlink(target, temporary), os.Rename(temporary, filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
		}
		link("..t1", "..data")
		link("..data/a.yaml", "a.yaml")
		s := NewScanner(config(dir))
		scan(t, s)
		for i := 2; i <= 6; i++ {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("..t%d/a.yaml", i)), fmt.Sprintf("%s  replicas: %d\n", service, i))
			link(fmt.Sprintf("..t%d", i), "..data")
			if err := os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..t%d", i-1))); err != nil {
				t.Fatal(err)
			}
			got := scan(t, s)
			if o := got.Objects[key("shop/web")]; len(got.Objects) != 1 || o.File != "a.yaml" || int(*o.Replicas) != i || got.Files != 1 {
				t.Errorf("%d objects in %d files, %+v, want replicas %d", len(got.Objects), got.Files, o, i)
			}
		}
	})
}

func TestRootErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"file": "x", "full/a.yaml": named("a"), "empty/.keep": "", "other/a.yaml": "a: 1\n", "comment/a.yaml": "# a\n"})
		for name, target := range map[string]string{"dangling": "nowhere", "link": "full", "loop": "loop"} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			path     string
			reason   error
			complete bool
		}{
			{"missing", ErrMissing, false},
			{"file/below", ErrMissing, false},
			{"dangling", ErrDangling, false},
			{"loop", ErrUnreadable, false},
			{"file", ErrNotDirectory, false},
			{"empty", ErrEmpty, true},
			{"other", ErrEmpty, true},
			{"comment", ErrEmpty, true},
			{"full", nil, true},
			{"link", nil, true},
		} {
			s := scan(t, NewScanner(config(filepath.Join(dir, test.path))))
			if errors.Is(s.Err, ErrEmpty) && test.path == "other" && !strings.HasSuffix(s.Err.Error(), "other holds no WebService: 1 file, 1 document of other kinds") {
				t.Error(s.Err)
			}
			if !errors.Is(s.Err, test.reason) || s.Complete != test.complete || test.reason == nil && s.Err != nil {
				t.Errorf("%s: complete %v, %v, want %v", test.path, s.Complete, s.Err, test.reason)
			}
			var root *RootError
			if test.reason != nil && !errors.As(s.Err, &root) {
				t.Errorf("%s: %T", test.path, s.Err)
			}
		}
	})
}

func TestSourceThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "desired")
		s := NewScanner(config(dir))
		if got := scan(t, s); got.Complete || len(got.Broken) > 0 {
			t.Errorf("%+v", got)
		}
		writeFile(t, filepath.Join(dir, "a.yaml"), named("a"))
		if got := scan(t, s); !got.Complete || got.Err != nil || keysOf(got.Objects) != "shop/a" {
			t.Errorf("%+v", got)
		}
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		if got := scan(t, s); got.Complete || keysOf(got.Broken) != "shop/a" || len(got.Objects) > 0 {
			t.Errorf("%+v", got)
		}
		if err := os.Rename(dir+".old", dir); err != nil {
			t.Fatal(err)
		}
		if got := scan(t, s); !got.Complete || keysOf(got.Objects) != "shop/a" {
			t.Errorf("%+v", got)
		}
	})
}

// TestOneChangeAmongManyIsOneRead: reading and parsing are one step.
func TestOneChangeAmongManyIsOneRead(t *testing.T) {
	dir := writeMany(t)
	cfg := config(dir)
	cfg.Quiet = 0
	s := NewScanner(cfg)
	scan(t, s)
	before := map[string]*Parsed{}
	for path, r := range s.cache.records {
		before[path] = r.parsed
	}
	writeFile(t, filepath.Join(dir, "team-7", "web-7.yaml"), named("web-7")+"  tier: prod\n")
	got := scan(t, s)
	if tier := got.Objects[key("shop/web-7")].Tier; tier == nil || *tier != "prod" || len(got.Objects) != many {
		t.Errorf("%d objects, tier %v", len(got.Objects), tier)
	}
	for path, r := range s.cache.records {
		if changed := r.parsed != before[path]; changed != (path == "team-7/web-7.yaml") {
			t.Errorf("%s: read again: %v", path, changed)
		}
	}
}

func TestOnlyWhatChangedIsReadAndParsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a"), "b.yaml": named("b")})
		s := NewScanner(config(dir))
		scan(t, s)
		a, b := s.cache.records["a.yaml"].parsed, s.cache.records["b.yaml"].parsed
		writeFile(t, filepath.Join(dir, "a.yaml"), named("a")+"  tier: prod\n")
		scan(t, s)
		if s.cache.records["a.yaml"].parsed == a || s.cache.records["b.yaml"].parsed != b {
			t.Error("not exactly the changed file was parsed again")
		}
		before := s.prev
		scan(t, s)
		if s.prev != before {
			t.Error("a scan without a change builds a new snapshot")
		}
	})
}

// TestSlowSave writes a file in steps that are shorter than the quiet time.
func TestSlowSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := readCase(t, "12-full.yaml")
		dir := writeTree(t, map[string]string{"web.yaml": full})
		s := NewScanner(config(dir))
		want := scan(t, s)
		go func() {
			for _, step := range []string{"12-truncated-a.yaml", "12-truncated-b.yaml", "12-truncated-c.yaml", "12-full.yaml"} {
				writeFile(t, filepath.Join(dir, "web.yaml"), readCase(t, step))
				pass(60 * time.Millisecond)
			}
		}()
		synctest.Wait()
		got := scan(t, s)
		if !got.Same(want) || len(got.Unsettled) > 0 {
			t.Errorf("%+v\nwant:\n%+v", got, want)
		}
	})
}

func readCase(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHotFile has one file that never rests, beside a change and a removal.
func TestHotFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"hot.yaml": named("hot"), "a.yaml": named("a"), "b.yaml": named("b")})
		s := NewScanner(config(dir))
		scan(t, s)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for i := 0; ctx.Err() == nil; i++ {
				writeFile(t, filepath.Join(dir, "hot.yaml"), fmt.Sprintf("%s  replicas: %d\n", named("hot"), i%10))
				pass(30 * time.Millisecond)
			}
		}()
		synctest.Wait()
		writeFile(t, filepath.Join(dir, "a.yaml"), named("a")+"  tier: prod\n")
		if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := scan(t, s)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		if strings.Join(got.Unsettled, " ") != "hot.yaml" || got.Objects[key("shop/a")].Tier == nil || got.Objects[key("shop/hot")].Replicas != nil {
			t.Errorf("%+v", got)
		}
		if _, kept := got.Objects[key("shop/b")]; !kept || got.Doubt() == "" {
			t.Error("an object counts as absent while files change")
		}
		stop()
		got = scan(t, s)
		if keysOf(got.Objects) != "shop/a shop/hot" || len(got.Unsettled) > 0 || got.Objects[key("shop/hot")].Replicas == nil || got.Doubt() != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestAFileThatIsAwayForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a"), "b.yaml": named("b")})
		s := NewScanner(config(dir))
		scan(t, s)
		path := filepath.Join(dir, "a.yaml")
		if err := os.Rename(path, path+"~"); err != nil {
			t.Fatal(err)
		}
		go func() {
			pass(50 * time.Millisecond)
			writeFile(t, path, named("a")+"  tier: prod\n")
		}()
		if got := scan(t, s); keysOf(got.Objects) != "shop/a shop/b" || got.Objects[key("shop/a")].Tier == nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestScanEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := NewScanner(config(dir)).Scan(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestLargeFilesAreNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"big.yaml": strings.Repeat("#\n", 3<<20), "a.yaml": named("a")})
		s := scan(t, NewScanner(config(dir)))
		want := "big.yaml: the file has 6291456 bytes, more than the limit of 3145728: split it"
		if keysOf(s.Objects) != "shop/a" || texts(s.Problems) != want {
			t.Errorf("objects: %s, problems: %s", keysOf(s.Objects), texts(s.Problems))
		}
	})
}

// Scans between which nothing changed say so, so that nobody compares what is equal.
func TestSameReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := writeTree(t, map[string]string{"a.yaml": named("a")})
		s := NewScanner(config(dir))
		first, second := scan(t, s), scan(t, s)
		if !second.SameReading(first) || first.SameReading(nil) || Build(nil, nil, nil).SameReading(Build(nil, nil, nil)) {
			t.Error("two scans of the same files, or two that nobody scanned")
		}
		if err := os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")); err != nil {
			t.Fatal(err)
		}
		if moved := scan(t, s); moved.SameReading(second) || !moved.Same(second) {
			t.Error("a file that moved: its content is the same, its place isn't")
		}
	})
}
