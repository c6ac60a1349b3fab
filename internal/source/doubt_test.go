package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

// TestDoubt has every state in which the absence of an object means nothing.
func TestDoubt(t *testing.T) {
	good, bad := file("a.yaml", named("a")), file("b.yaml", named("b")+"  replicas: x\n")
	unsettled := File{Path: "hot.yaml", Parsed: file("hot.yaml", named("hot")).Parsed, Unsettled: true}
	lost := func(reason, cause error) *Snapshot {
		return Build(nil, &RootError{Path: "desired", Reason: reason, Cause: cause}, nil)
	}
	denied := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}
	const problem = "a problem in the source: "
	for _, test := range []struct {
		name     string
		snapshot *Snapshot
		want     string
	}{
		{"nothing was read yet", nil, "the source wasn't read yet"},
		{"read whole", Build([]File{good}, nil, nil), ""},
		{"another kind, and a warning", Build([]File{good, file("c.yaml", "a: b\n---\n"+metaWith("  uid: x\n"))}, nil, nil), ""},

		{"the root is missing", lost(ErrMissing, nil), "source desired doesn't exist: put it back, or mend source.path"},
		{"the root is a dangling link", lost(ErrDangling, nil), "source desired is a link to something that doesn't exist: mend the link"},
		{"the root is a file", lost(ErrNotDirectory, nil), "source desired isn't a directory: let source.path name a directory"},
		{"the root is unreadable", lost(ErrUnreadable, denied), "source desired can't be read: permission denied: make it readable"},
		{"not read whole, for whatever reason", &Snapshot{Objects: Build([]File{good}, nil, nil).Objects}, "the source wasn't read whole"},

		{"a broken document", Build([]File{good, bad}, nil, nil), problem + "b.yaml:7: mend it"},
		{"the first of several", Build([]File{file("z.yaml", "a: [\n"), bad, good}, nil, nil), problem + "b.yaml:7: mend it"},
		{"text that can't be parsed", Build([]File{good, file("b.yaml", "a: [\n")}, nil, nil), problem + "b.yaml:1: mend it"},
		{"an empty file", Build([]File{good, file("b.yaml", "")}, nil, nil), problem + "b.yaml: mend it"},
		{"a file that can't be read", Build([]File{good, unreadableFile("b.yaml")}, nil, nil), problem + "b.yaml: mend it"},
		{"a directory that can't be read", Build([]File{good, {Path: "sub", Err: denied, Directory: true}}, nil, nil), problem + "sub: mend it"},
		{"the same object twice", Build([]File{good, file("b.yaml", named("a"))}, nil, nil), problem + "a.yaml:1: mend it"},
		{"a cycle", Build([]File{good, file("b.yaml", depending("b", "b"))}, nil, nil), problem + "b.yaml:5: mend it"},
		{"a name that isn't text", Build([]File{good, file("\xff.yaml", "")}, nil, nil), problem + "\uFFFD.yaml: mend it"},

		{"a file that still changes", Build([]File{good, unsettled}, nil, nil), "hot.yaml still changes: let it rest"},
		{"a file that comes and isn't read yet", Build([]File{good, {Path: "new.yaml", Unsettled: true}}, nil, nil), "new.yaml still changes: let it rest"},
		{"and a problem, which goes first", Build([]File{good, unsettled, bad}, nil, nil), problem + "b.yaml:7: mend it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.snapshot.Doubt(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestDoubtOfAnEmptySource is the one that callers may be allowed to pass over: no
// other can hide behind it.
func TestDoubtOfAnEmptySource(t *testing.T) {
	const phrase = "the source holds no WebService: mend source.path, or set source.allowEmpty"
	for _, test := range []struct {
		name  string
		files map[string]string
		empty bool
	}{
		{"no file", map[string]string{".keep": ""}, true},
		{"a comment", map[string]string{"a.yaml": "# nothing\n"}, true},
		{"another kind", map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"}, true},
		{"nothing but a problem", map[string]string{"a.yaml": "a: [\n"}, false},
		{"nothing but a broken object", map[string]string{"a.yaml": named("a") + "  replicas: x\n"}, false},
		{"an object", map[string]string{"a.yaml": named("a")}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scan(t, NewScanner(config(writeTree(t, test.files))))
				if got := errors.Is(s.Err, ErrEmpty); got != test.empty || (s.Doubt() == phrase) != test.empty {
					t.Errorf("error: %v, doubt: %q", s.Err, s.Doubt())
				}
			})
		})
	}
}

// TestDoubtEndsWithItsCause by scans of one scanner.
func TestDoubtEndsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(writeTree(t, map[string]string{"desired/a.yaml": named("a")}), "desired")
		s := NewScanner(config(dir))
		step := func(want string, change func() error) {
			t.Helper()
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if got := scan(t, s).Doubt(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		write := func(text string) func() error {
			return func() error { return os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600) }
		}
		step("", write(named("a")))
		step("a problem in the source: a.yaml: mend it", write(""))
		step("", write(named("b")))
		step("source "+dir+" doesn't exist: put it back, or mend source.path", func() error { return os.Rename(dir, dir+".old") })
		step("", func() error { return os.Rename(dir+".old", dir) })
	})
}
