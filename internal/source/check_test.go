package source

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// checked are the objects and problems of some paths.
func checked(t *testing.T, stdin string, paths ...string) *Snapshot {
	t.Helper()
	s, err := Check(t.Context(), paths, strings.NewReader(stdin), options())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonService is a WebService in JSON.
func jsonService(name string) string {
	return `{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "metadata": {"name": "` + name + `"}, "spec": {"image": "a"}}` + "\n"
}

func TestCheck(t *testing.T) {
	t.Chdir(writeTree(t, map[string]string{
		"dir/a.yaml": named("a"), "dir/sub/b.yml": named("b"), "dir/.hidden/x.yaml": named("x"), "dir/notes.txt": "x",
		"bad/c.yaml": named("c") + "  replicas: x\n", "bad/LOUD.YAML": named("loud"), "saved.txt": named("saved"), "two.txt": jsonService("c") + jsonService("d"),
		"two.yaml": jsonService("c") + jsonService("d"), "flow.txt": "{apiVersion: apps.labhub.io/v1, kind: WebService, metadata: {name: flow}, spec: {image: a}}",
		"broken.txt": `{"apiVersion": ` + "\n", "linked/a.yaml": named("a"),
	}))
	for link, target := range map[string]string{"link": "dir", "linked/b.yaml": "a.yaml", "dangling": "nowhere"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	const notFile = "isn't a file or a directory: pipe its content into standard input, and name - instead"
	for _, test := range []struct {
		name, paths, stdin string
		objects, problems  string
		files              int
	}{
		{name: "a file", paths: "dir/a.yaml", objects: "shop/a", files: 1},
		{name: "a directory", paths: "dir", objects: "shop/a shop/b", files: 2},
		{name: "a directory by its link", paths: "link", objects: "shop/a shop/b", files: 2},
		{name: "the same directory in three ways", paths: "dir link dir/../dir/", objects: "shop/a shop/b", files: 2},
		{name: "a directory and a file in it", paths: "dir dir/a.yaml link/sub/b.yml dir/sub", objects: "shop/a shop/b", files: 2},
		{name: "a file and the directory that it is in", paths: "dir/a.yaml ./dir", objects: "shop/a shop/b", files: 2},
		{name: "a problem", paths: "bad", objects: "shop/loud", problems: "bad/c.yaml:7:13: spec.replicas is a string: write a plain integer, such as 3", files: 2},
		{
			name: "a link beside its file, as a source would read both", paths: "linked", files: 2,
			problems: "linked/a.yaml:1:1: shop/a is written in linked/b.yaml:1 as well: keep one\n" +
				"linked/b.yaml:1:1: shop/a is written in linked/a.yaml:1 as well: keep one",
		},
		{name: "a name that a source wouldn't read", paths: "saved.txt", objects: "shop/saved", files: 1},
		{name: "a missing path", paths: "nowhere.yaml", problems: "nowhere.yaml: can't be read: no such file or directory"},
		{name: "a dangling link", paths: "dangling", problems: "dangling: can't be read: no such file or directory"},
		{name: "a path below a file", paths: "saved.txt/a.yaml", problems: "saved.txt/a.yaml: can't be read: not a directory"},
		{name: "a pipe that nobody writes", paths: "pipe", problems: "pipe: " + notFile},
		{name: "a device", paths: "/dev/zero", problems: "/dev/zero: " + notFile},
		{name: "one bad path among good ones", paths: "dir/a.yaml nowhere dir/sub", objects: "shop/a shop/b", files: 2, problems: "nowhere: can't be read: no such file or directory"},
		{name: "several JSON objects", paths: "two.txt", objects: "shop/c shop/d", files: 1},
		{
			name: "several JSON objects by the name of YAML, as a source reads them", paths: "two.yaml", files: 1,
			problems: "two.yaml:2:1: not valid YAML: did not find expected <document start>: begin a new document with a line of ---",
		},
		{name: "YAML that begins like JSON", paths: "flow.txt", objects: "shop/flow", files: 1},
		{name: "JSON that is cut off", paths: "broken.txt", files: 1, problems: "broken.txt:1:15: not valid JSON: unexpected EOF: close quotes and brackets"},
		{name: "stdin", paths: "-", stdin: named("in") + "---\n" + named("too"), objects: "shop/in shop/too", files: 1},
		{name: "stdin with a mark", paths: "-", stdin: "\ufeff" + jsonService("c") + jsonService("d"), objects: "shop/c shop/d", files: 1},
		{name: "stdin in UTF-16", paths: "-", stdin: encode16("\ufeff"+jsonService("c")+jsonService("d"), false), objects: "shop/c shop/d", files: 1},
		{name: "stdin with a problem", paths: "-", stdin: named("in") + "  replicas: x\n", files: 1, problems: "<stdin>:7:13: spec.replicas is a string: write a plain integer, such as 3"},
		{name: "stdin twice", paths: "- -", stdin: named("in"), objects: "shop/in", files: 1},
		{name: "nothing on stdin", paths: "-", files: 1, problems: "<stdin>: the file is empty: remove it, or leave a comment in it where it is meant to hold nothing"},
		{
			name: "stdin against a file", paths: "- dir/a.yaml", stdin: named("a"), files: 2,
			problems: "<stdin>:1:1: shop/a is written in dir/a.yaml:1 as well: keep one\ndir/a.yaml:1:1: shop/a is written in <stdin>:1 as well: keep one",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := checked(t, test.stdin, strings.Fields(test.paths)...)
			if got := keysOf(s.Objects); got != test.objects || s.Files != test.files {
				t.Errorf("objects: %s in %d files, want %s in %d", got, s.Files, test.objects, test.files)
			}
			if got := texts(s.Problems); got != test.problems {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.problems)
			}
		})
	}
}

func TestCheckRefusesWhatIsTooLarge(t *testing.T) {
	large := strings.Repeat("#\n", 3<<20)
	dir := writeTree(t, map[string]string{"d/large.yaml": large, "d/a.yaml": named("a")})
	const want = "large.yaml: the file has 6291456 bytes, more than the limit of 3145728: split it"
	for _, path := range []string{"d", "d/large.yaml"} {
		s := checked(t, "", filepath.Join(dir, path))
		if got := texts(s.Problems); got != filepath.Join(dir, "d", want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := texts(checked(t, large, Stdin).Problems); got != "<stdin>: the text is longer than the limit of 3145728 bytes: split it" {
		t.Errorf("stdin: %s", got)
	}
}

// TestCheckWaitsForNothing: a hook runs while git holds its lock, on files written
// a moment ago.
func TestCheckWaitsForNothing(t *testing.T) {
	dir := writeTree(t, map[string]string{".git/HEAD": commitA, ".git/index.lock": "", "desired/a.yaml": named("a")})
	s := checked(t, "", filepath.Join(dir, "desired"))
	if keysOf(s.Objects) != "shop/a" || len(s.Problems)+len(s.Warnings) > 0 {
		t.Errorf("objects: %s, problems: %s, warnings: %s", keysOf(s.Objects), texts(s.Problems), texts(s.Warnings))
	}
}

// TestCheckEndsWithItsContext also while it waits for someone to type.
func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	go func() {
		_, _ = io.WriteString(out, "apiVersion: ") // once this is read, Check waits for more
		cancel()
	}()
	if _, err := Check(ctx, []string{Stdin}, in, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Check(ctx, []string{t.TempDir()}, nil, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
