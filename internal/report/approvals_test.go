package report_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// digest is one that begins with the given digit.
func digest(first string) string { return first + strings.Repeat("0", 63) }

func approve(t *testing.T, a *report.Approvals, d string) {
	t.Helper()
	if err := a.Approve(&report.Approval{Digest: d, Approved: time.Unix(0, 0), Source: "default"}); err != nil {
		t.Fatal(err)
	}
}

func approved(t *testing.T, a *report.Approvals, d string) bool {
	t.Helper()
	ok, err := a.Approved(d)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestApproval(t *testing.T) {
	dir := t.TempDir()
	a := &report.Approvals{Dir: dir}
	if approved(t, a, digest("a")) {
		t.Error("approved before anybody said so")
	}
	approve(t, a, digest("a"))
	approve(t, a, digest("a"))
	approve(t, a, digest("b"))
	if !approved(t, a, digest("a")) || !approved(t, a, digest("b")) || approved(t, a, digest("c")) {
		t.Error("a and b are approved, and c isn't")
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}

	if err := a.Retain(digest("b")); err != nil {
		t.Fatal(err)
	}
	if approved(t, a, digest("a")) || !approved(t, a, digest("b")) {
		t.Error("b alone is to be left")
	}
	if err := a.Retain(""); err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Join(dir, "approvals")); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestApprovalSaysWhatItAllows(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 7, 1, 12, 0, 0, 999, time.FixedZone("", 7200))
	err := (&report.Approvals{Dir: dir}).Approve(&report.Approval{
		Digest: digest("a"), Approved: at, Source: "default",
		Held: []report.Held{{Namespace: "crd-lab", Name: "search", Reason: "no file; held: <all>"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "approvals", digest("a"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "digest": "` + digest("a") + `",
  "approved": "2026-07-01T10:00:00Z",
  "source": "default",
  "held": [
    {
      "namespace": "crd-lab",
      "name": "search",
      "reason": "no file; held: <all>"
    }
  ]
}
`
	if string(data) != want || !json.Valid(data) {
		t.Errorf("got %s", data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestDigests(t *testing.T) {
	dir := t.TempDir()
	a := &report.Approvals{Dir: dir}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "short": digest("a")[:63], "long": digest("a") + "0", "capitals": digest("A"),
		"no digit": digest("g"), "a path": "../" + digest("a")[3:], "a file beside": "../x",
	} {
		if report.ValidDigest(text) {
			t.Errorf("%s: %q counts as a digest", name, text)
		}
		if approved(t, a, text) {
			t.Errorf("%s: %q is approved", name, text)
		}
		if err := a.Approve(&report.Approval{Digest: text}); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if !report.ValidDigest(digest("a")) {
		t.Error("64 hexadecimal digits are no digest")
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("written: %q", got)
	}
}

// What a person doesn't put there by approving neither counts nor does harm.
func TestOddApprovals(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	precious := filepath.Join(outside, "precious")
	at := func(name string) string { return filepath.Join(dir, "approvals", name) }
	for _, err := range []error{
		os.WriteFile(precious, []byte("precious"), 0o644),
		os.MkdirAll(filepath.Join(at(digest("d")), "full"), 0o755),
		os.Mkdir(at(digest("e")), 0o755),
		os.Symlink(precious, at(digest("f"))),
		os.Symlink("nowhere", at(digest("1"))),
		os.WriteFile(at("README"), nil, 0o644),
		os.WriteFile(at(digest("2")), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := &report.Approvals{Dir: dir}
	for _, first := range []string{"d", "e", "f", "1"} {
		if approved(t, a, digest(first)) {
			t.Errorf("%s is approved", first)
		}
	}
	if !approved(t, a, digest("2")) {
		t.Error("an empty file of the right name is no approval")
	}
	if err := a.Retain(""); err != nil {
		t.Error(err)
	}
	got := strings.Join(names(t, filepath.Join(dir, "approvals")), " ")
	if want := "README " + digest("d") + " " + digest("e"); got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	if data, err := os.ReadFile(precious); string(data) != "precious" {
		t.Errorf("%s, %v", data, err)
	}
}

// A directory of approvals that leads out of the out directory isn't used.
func TestApprovalsElsewhere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(dir, "approvals")),
		os.WriteFile(filepath.Join(outside, digest("a")), nil, 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := &report.Approvals{Dir: dir}
	var unread *report.ReadError
	if ok, err := a.Approved(digest("a")); ok || !errors.As(err, &unread) {
		t.Errorf("%v, %v", ok, err)
	}
	if err := a.Retain(""); !errors.As(err, &unread) {
		t.Errorf("error %v", err)
	}
	var unwritten *report.WriteError
	if err := a.Approve(&report.Approval{Digest: digest("b")}); !errors.As(err, &unwritten) {
		t.Errorf("error %v", err)
	}
	if got := names(t, outside); len(got) != 1 || got[0] != digest("a") {
		t.Errorf("outside there is %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}

func TestApprovalsWithoutDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, a := range map[string]*report.Approvals{
		"no out directory": {Dir: filepath.Join(dir, "none")}, "none of approvals": {Dir: dir},
	} {
		if approved(t, a, digest("a")) {
			t.Errorf("%s: approved", name)
		}
		if err := a.Retain(""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("made: %q", got)
	}
}

// The daemon may have to remove what another user has put there, so the
// directory is the daemon's own.
func TestOpenOutMakesTheApprovalsDirectory(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if info, err := os.Stat(filepath.Join(dir, "approvals")); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}

// Approving and looking go on beside each other: nobody sees half an approval,
// and none of one's own is lost to the removal of others.
func TestApprovalsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for _, first := range []string{"a", "b"} {
		all.Go(func() {
			a := &report.Approvals{Dir: dir}
			for range 100 {
				if err := a.Approve(&report.Approval{Digest: digest(first), Source: "default"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		a := &report.Approvals{Dir: dir}
		for range 100 {
			if _, err := a.Approved(digest("b")); err != nil {
				t.Error(err)
			}
			if err := a.Retain(digest("b")); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if a := (&report.Approvals{Dir: dir}); !approved(t, a, digest("b")) {
		t.Error("b was lost")
	}
}
