package source

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// file parses a file for Build.
func file(path, text string) File {
	return File{Path: path, Parsed: Parse(path, []byte(text), options())}
}

// unreadableFile is one that the system refuses.
func unreadableFile(path string) File {
	return File{Path: path, Err: &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}}
}

// keysOf are the names in a map of a snapshot, sorted.
func keysOf[T any](m map[namespacedName]T) string {
	var keys []string
	for k := range maps.Keys(m) {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func TestBuild(t *testing.T) {
	two := named("a") + "---\n" + named("b")
	broken := "a: [\n"
	before := Build([]File{file("one.yaml", two), file("sub/two.yaml", named("c"))}, nil, nil)
	for _, test := range []struct {
		name            string
		files           []File
		err             error
		prev            *Snapshot
		objects, broken string
		problems        string
	}{
		{
			name:  "two files",
			files: []File{file("one.yaml", two), file("sub/two.yaml", named("c"))}, objects: "shop/a shop/b shop/c",
		},
		{
			name:  "the same object in two files",
			files: []File{file("b.yaml", "# b\n"+named("a")), file("a.yaml", two)}, objects: "shop/b", broken: "shop/a",
			problems: "a.yaml:1:1: shop/a is written in b.yaml:2 as well: keep one\nb.yaml:2:1: shop/a is written in a.yaml:1 as well: keep one",
		},
		{
			name:  "the same object twice in a file, equal",
			files: []File{file("a.yaml", named("a")+"---\n"+named("a"))}, broken: "shop/a",
			problems: "a.yaml:1:1: shop/a is written in a.yaml:8 as well: keep one\na.yaml:8:1: shop/a is written in a.yaml:1 as well: keep one",
		},
		{
			name:  "the same object in a broken document",
			files: []File{file("a.yaml", named("a")), file("b.yaml", named("a")+"  replicas: x\n")}, broken: "shop/a",
			problems: "b.yaml:7:13: spec.replicas is a string: write a plain integer, such as 3",
		},
		{
			name:  "an unreadable file keeps its names",
			files: []File{unreadableFile("one.yaml"), file("sub/two.yaml", named("c"))}, prev: before,
			objects: "shop/c", broken: "shop/a shop/b", problems: "one.yaml: can't be read: permission denied",
		},
		{
			name:  "an unreadable file against a copy",
			files: []File{unreadableFile("one.yaml"), file("sub/two.yaml", named("a"))}, prev: before,
			broken: "shop/a shop/b", problems: "one.yaml: can't be read: permission denied",
		},
		{
			name:  "an unreadable directory keeps its names",
			files: []File{file("one.yaml", two), {Path: "sub", Err: fs.ErrPermission, Directory: true}}, prev: before,
			objects: "shop/a shop/b", broken: "shop/c", problems: "sub: can't be read: permission denied",
		},
		{
			name:  "a file without a usable name keeps its names",
			files: []File{file("one.yaml", broken+"---\n"+named("b")), file("sub/two.yaml", named("c"))}, prev: before,
			objects: "shop/b shop/c", broken: "shop/a", problems: "one.yaml:1:1: not valid YAML: did not find expected node content",
		},
		{
			name:  "an object moves away from a file that breaks",
			files: []File{file("one.yaml", broken), file("sub/two.yaml", named("a"))}, prev: before,
			objects: "shop/a", broken: "shop/b", problems: "one.yaml:1:1: not valid YAML: did not find expected node content",
		},
		{
			name:  "a file of zero bytes keeps its names",
			files: []File{file("one.yaml", ""), file("sub/two.yaml", named("c"))}, prev: before,
			objects: "shop/c", broken: "shop/a shop/b",
			problems: "one.yaml: the file is empty: remove it, or leave a comment in it where it is meant to hold nothing",
		},
		{
			name:  "a removed file holds nothing",
			files: []File{file("sub/two.yaml", named("c"))}, prev: before, objects: "shop/c",
		},
		{
			name:  "a file that still changes keeps its content, and nothing is absent",
			files: []File{{Path: "one.yaml", Parsed: file("one.yaml", two).Parsed, Unsettled: true}}, prev: before,
			objects: "shop/a shop/b shop/c",
		},
		{
			name: "a lost root keeps every name",
			err:  &RootError{Path: "desired", Reason: ErrMissing}, prev: before, broken: "shop/a shop/b shop/c",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Build(test.files, test.err, test.prev)
			if got := keysOf(s.Objects); got != test.objects {
				t.Errorf("objects: %s, want %s", got, test.objects)
			}
			if got := keysOf(s.Broken); got != test.broken {
				t.Errorf("broken: %s, want %s", got, test.broken)
			}
			if got := texts(s.Problems); !strings.HasPrefix(got, test.problems) || (got == "") != (test.problems == "") {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.problems)
			}
			if s.Complete != (test.err == nil) || !errors.Is(s.Err, test.err) {
				t.Errorf("complete: %v, error: %v", s.Complete, s.Err)
			}
		})
	}
}

func TestNamesOutlastSeveralBadScans(t *testing.T) {
	s := Build([]File{file("a.yaml", named("a"))}, nil, nil)
	lost := &RootError{Path: "desired", Reason: ErrUnreadable}
	for range 3 {
		s = Build([]File{unreadableFile("a.yaml")}, nil, s)
		s = Build(nil, lost, s)
	}
	if got := keysOf(s.Broken); got != "shop/a" {
		t.Errorf("broken: %q", got)
	}
}

func TestSnapshotDigestIgnoresOrderAndPlace(t *testing.T) {
	a, b := file("a.yaml", named("a")), file("b.yaml", named("b"))
	one, other := Build([]File{a, b}, nil, nil), Build([]File{file("c.yaml", "#\n"+named("b")), a}, nil, nil)
	if one.Digest != other.Digest || !one.Same(other) {
		t.Error("order or place changes the digest")
	}
	if third := Build([]File{a}, nil, nil); third.Digest == one.Digest || third.Same(one) {
		t.Error("an object less doesn't change the digest")
	}
}

// A file of nothing but copies costs no more than its size, and its problems name a
// few of the others.
func TestManyCopies(t *testing.T) {
	t.Parallel()
	const copies = 20_000
	objects := make([]Object, copies)
	for i := range objects {
		objects[i] = Object{Key: types.NamespacedName{Namespace: "shop", Name: "a"}, File: "a.yaml", Line: i + 1, Document: i + 1}
	}
	got := Build([]File{{Path: "a.yaml", Parsed: &Parsed{Objects: objects}}}, nil, nil)
	want := "shop/a is written in a.yaml:2, a.yaml:3, a.yaml:4, 19996 more places as well: keep one"
	if len(got.Problems) != copies || got.Problems[0].Message != want {
		t.Errorf("%d problems, the first: %s", len(got.Problems), got.Problems[0].Message)
	}
}
