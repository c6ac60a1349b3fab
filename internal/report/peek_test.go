package report

import (
	"os"
	"path/filepath"
	"testing"
)

// Who uses a directory is known without using it, once somebody does.
func TestPeekIdentity(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if got := PeekIdentity(dir); got != "" {
		t.Errorf("where nobody was yet: %q", got)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
	out, err := OpenOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := PeekIdentity(dir); got != out.Identity() || got == "" {
		t.Errorf("while it is used: %q, want %q", got, out.Identity())
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, identityName), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := PeekIdentity(dir); got != "" {
		t.Errorf("of an id that isn't whole: %q", got)
	}
}
