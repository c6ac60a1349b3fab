package report_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

func open(t *testing.T, dir string) *report.Out {
	t.Helper()
	out, err := report.OpenOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

func holdForever(dir string) {
	out, err := report.OpenOut(dir)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, "held")
	<-make(chan struct{})
	runtime.KeepAlive(out)
}

func TestOpenOutMakesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out[1]")
	out := open(t, dir)
	if out.Dir() != dir {
		t.Errorf("Dir() = %s", out.Dir())
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	first := open(t, dir)
	identity := first.Identity()
	if !strings.HasPrefix(identity, host+"_") || !regexp.MustCompile(`_[0-9a-f]{16}$`).MatchString(identity) {
		t.Errorf("identity %q", identity)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if again.Identity() != identity {
		t.Errorf("identity %q after %q", again.Identity(), identity)
	}
	if other := open(t, t.TempDir()); other.Identity() == identity {
		t.Errorf("two directories are both %q", identity)
	}
}

// An id that isn't whole is replaced, once.
func TestBrokenIdentity(t *testing.T) {
	for _, text := range []string{"", "\n", "0011", "not hexadecimal!", "00112233445566778899"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "identity"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		first := open(t, dir)
		identity := first.Identity()
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if again := open(t, dir).Identity(); again != identity || !regexp.MustCompile(`_[0-9a-f]{16}$`).MatchString(again) {
			t.Errorf("%q became %q, then %q", text, identity, again)
		}
	}
}

// The id alone is kept: the host's name in front of it is today's.
func TestIdentityKeepsNoHostName(t *testing.T) {
	dir := t.TempDir()
	const id = "0011223344556677"
	if err := os.WriteFile(filepath.Join(dir, "identity"), []byte(id+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).Identity(); got != host+"_"+id {
		t.Errorf("identity %q", got)
	}
}

func TestLockBetweenProcesses(t *testing.T) {
	dir := t.TempDir()
	holder, stdout := child(t, "holder", dir)
	if _, err := stdout.ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	_, err := report.OpenOut(dir)
	var locked *report.LockedError
	if !errors.As(err, &locked) || locked.PID != holder.Process.Pid || locked.Dir != dir {
		t.Fatalf("error %v (%T), want the lock of process %d", err, err, holder.Process.Pid)
	}
	if want := fmt.Sprintf("%s is in use by process %d: ", dir, holder.Process.Pid); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q, want %q...", err, want)
	}

	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	open(t, dir)
}

func TestLockWithinAProcess(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	_, err := report.OpenOut(dir)
	var locked *report.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error %v, want our own lock", err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	open(t, dir)
}

// A directory that was removed and made anew is another one: its new owner
// isn't kept out by the lock on a file that has no name any more.
func TestLockOfARemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

// A directory that goes while it is ours is made anew, and ours again.
func TestRetake(t *testing.T) {
	for name, goes := range map[string]func(dir string) error{
		"removed":               os.RemoveAll,
		"the lock alone":        func(dir string) error { return os.Remove(filepath.Join(dir, ".lock")) },
		"moved away":            func(dir string) error { return os.Rename(dir, dir+".old") },
		"emptied and made anew": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a", "out")
			out := open(t, dir)
			identity := out.Identity()
			if made, err := out.Retake(); made || err != nil {
				t.Fatalf("nothing has gone: %t, %v", made, err)
			}
			if err := goes(dir); err != nil {
				t.Fatal(err)
			}
			if made, err := out.Retake(); !made || err != nil {
				t.Fatalf("made anew: %t, %v", made, err)
			}
			_, err := report.OpenOut(dir)
			var locked *report.LockedError
			if !errors.As(err, &locked) || locked.PID != os.Getpid() {
				t.Errorf("error %v, want our own lock", err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			if got := open(t, dir).Identity(); got != identity || out.Identity() != identity {
				t.Errorf("identity %s, then %s, was %s", out.Identity(), got, identity)
			}
		})
	}
}

// Where another process was faster, the directory is that one's.
func TestRetakeTooLate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	out := open(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	for range 2 {
		var locked *report.LockedError
		if made, err := out.Retake(); made || !errors.As(err, &locked) {
			t.Fatalf("%t, %v", made, err)
		}
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if made, err := out.Retake(); !made || err != nil {
		t.Errorf("the other one has gone: %t, %v", made, err)
	}
}

// What can't be made anew is said, and tried again.
func TestRetakeFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "out")
	out := open(t, dir)
	above := filepath.Dir(dir)
	if err := errors.Join(os.RemoveAll(above), os.WriteFile(above, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if made, err := out.Retake(); made || err != nil {
		t.Errorf("it can't be seen what is there: %t, %v", made, err)
	}
	if err := os.Remove(above); err != nil {
		t.Fatal(err)
	}
	if made, err := out.Retake(); !made || err != nil {
		t.Errorf("%t, %v", made, err)
	}
}

func TestOpenOutFails(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(base, "locked")
	if err := os.MkdirAll(filepath.Join(lock, ".lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	identity := filepath.Join(base, "identity")
	if err := os.MkdirAll(filepath.Join(identity, "identity"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"a file": file, "below a file": filepath.Join(file, "out"),
		"the lock is a directory": lock, "the identity is a directory": identity,
	} {
		_, err := report.OpenOut(dir)
		var failed *report.WriteError
		if !errors.As(err, &failed) {
			t.Errorf("%s: error %v (%T)", name, err, err)
		}
	}
	// The last one got the lock before it failed, and must have let go of it.
	if err := os.Remove(filepath.Join(identity, "identity")); err != nil {
		t.Fatal(err)
	}
	open(t, identity)
}
