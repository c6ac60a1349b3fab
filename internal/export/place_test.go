package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"labhub.io/webservice-controller/internal/source"
)

// twoObjects are an export of shop/web and lab/web.
func twoObjects(t *testing.T) *Set {
	t.Helper()
	one, two := object(t, nil), object(t, nil)
	two.SetNamespace("lab")
	return New([]unstructured.Unstructured{one, two})
}

func look(t *testing.T, dir string, set *Set) *Target {
	t.Helper()
	target, err := Look(t.Context(), dir, set, []string{""}, source.Options{DefaultNamespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// names are all files and directories below dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all[1:]
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	set := twoObjects(t)
	if err := look(t, dir, set).Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"lab", "lab/web.yaml", "shop", "shop/web.yaml"}) {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(filepath.Join(dir, "lab", "web.yaml"))
	if err != nil || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("%v, %v: others can't read it", info, err)
	}
	again := look(t, dir, set)
	if again.Count(StateUnchanged) != 2 || again.Write(t.Context()) != nil {
		t.Errorf("again: %+v", again)
	}
}

// TestInterruptedWrite leaves nothing: neither half of the files, nor what they were
// written in.
func TestInterruptedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := look(t, dir, twoObjects(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := target.Write(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}

// TestFileThatCameMeanwhile: what somebody makes between the look and the writing is
// theirs.
func TestFileThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := look(t, dir, twoObjects(t))
	theirs := filepath.Join(dir, "shop", "web.yaml")
	if err := errors.Join(os.Mkdir(filepath.Dir(theirs), 0o755), os.WriteFile(theirs, []byte("# theirs\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	err := target.Write(t.Context())
	if !errors.Is(err, fs.ErrExist) || err.Error() != "can't write "+theirs+": file exists" {
		t.Error(err)
	}
	if text, err := os.ReadFile(theirs); string(text) != "# theirs\n" {
		t.Errorf("it says %q, %v", text, err)
	}
	if got := names(t, dir); slices.ContainsFunc(got, func(name string) bool { return name[0] == '.' }) {
		t.Errorf("left %q", got)
	}
}

func TestCheckDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := errors.Join(os.WriteFile(file, nil, 0o644), os.Symlink(dir, filepath.Join(dir, "link")), os.Symlink("nowhere", filepath.Join(dir, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		want error
	}{
		"a directory":       {dir, nil},
		"a link to one":     {filepath.Join(dir, "link"), nil},
		"not there yet":     {filepath.Join(dir, "new", "deep"), nil},
		"a file":            {file, ErrNotDirectory},
		"below a file":      {filepath.Join(file, "new"), ErrNotDirectory},
		"a link to nothing": {filepath.Join(dir, "dangling"), ErrNotDirectory},
	} {
		if err := CheckDir(c.dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
