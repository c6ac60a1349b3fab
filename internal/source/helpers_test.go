package source

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/types"
)

type namespacedName = types.NamespacedName

func utf16Units(text string) []uint16 { return utf16.Encode([]rune(text)) }

// pass lets the fake time of a synctest bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// change is one way in which a source stops showing what it held, done by hand.
type change func(t *testing.T, dir string)

// replaced removes a path and makes something in its place.
func replaced(path string, by func(path string) error) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		full := filepath.Join(dir, path)
		if err := os.RemoveAll(full); err != nil {
			t.Fatal(err)
		}
		if err := by(full); err != nil {
			t.Fatal(err)
		}
	}
}

func aLink(target string) func(string) error {
	return func(path string) error { return os.Symlink(target, path) }
}

func aFile(path string) error      { return os.WriteFile(path, []byte("link/target"), 0o600) }
func aDirectory(path string) error { return os.Mkdir(path, 0o755) }
func aPipe(path string) error      { return syscall.Mkfifo(path, 0o600) }
func nothing(string) error         { return nil }
