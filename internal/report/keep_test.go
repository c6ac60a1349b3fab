package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestKeepAndDrop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := OpenOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	path := filepath.Join(dir, "rv-before.txt")
	for _, c := range []struct {
		name   string
		render Render
		want   string
	}{
		{"a text", Text("41"), "41\n"},
		{"another one", Text("42"), "42\n"},
		{"one that is made of the old", func(old []byte) ([]byte, error) { return append(old, "43\n"...), nil }, "42\n43\n"},
		{"one that stays", func([]byte) ([]byte, error) { return nil, nil }, "42\n43\n"},
	} {
		if err := out.Keep("rv-before.txt", c.render); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	if err := out.Drop("rv-before.txt", "rv-after.txt"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestKeepFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := OpenOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	if err := os.MkdirAll(filepath.Join(dir, "taken", "by a directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("it can't be rendered")
	for name, err := range map[string]error{
		"a directory in its place":       out.Keep("taken", Text("42")),
		"a directory that isn't empty":   out.Drop("taken"),
		"what can't be made into a file": out.Keep("x", func([]byte) ([]byte, error) { return nil, broken }),
	} {
		var e *WriteError
		if !errors.As(err, &e) || filepath.Dir(e.Path) != dir {
			t.Errorf("%s: %v", name, err)
		}
	}
}
