package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

const (
	heldDigest  = "aa00000000000000000000000000000000000000000000000000000000000000"
	otherDigest = "bb00000000000000000000000000000000000000000000000000000000000000"
)

// held is the report of a controller that holds two deletions.
func held() *report.Report {
	return &report.Report{
		Role: report.RoleActive, Source: report.Source{Name: "team-a"}, HeldDigest: heldDigest,
		Held: []report.Held{
			{Namespace: "crd-lab", Name: "checkout", Reason: "no file; held: 2 objects would be deleted, and that is all"},
			{Namespace: "crd-lab", Name: "search", Reason: "no file; held: 2 objects would be deleted, and that is all\x1b[2J"},
		},
	}
}

// runIn runs a command with an out directory in which that report is, unless it is nil.
func runIn(t *testing.T, out string, r *report.Report, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if r != nil {
		if err := (&report.Writer{Dir: out}).Write(r); err != nil {
			t.Fatal(err)
		}
	}
	var o, e bytes.Buffer
	code = Run(t.Context(), Process{
		Program: "bin/webservice-controller", Args: append(args, "--out", out), Stdout: &o, Stderr: &e, Version: "v9",
	})
	return code, o.String(), e.String()
}

func isApproved(t *testing.T, out, digest string) bool {
	t.Helper()
	ok, err := (&report.Approvals{Dir: out}).Approved(digest)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestApprove(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	for range 2 { // again changes nothing
		code, stdout, stderr := runIn(t, out, held(), "approve", heldDigest)
		want := "approved: 2 deletions of the source team-a\n" +
			"  crd-lab/checkout: no file; held: 2 objects would be deleted, and that is all\n" +
			"  crd-lab/search: no file; held: 2 objects would be deleted, and that is all\\x1b[2J\n"
		if code != 0 || !strings.HasPrefix(stdout, want) || stderr != "" {
			t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
		}
		if !isApproved(t, out, heldDigest) {
			t.Error("there is no approval")
		}
	}
}

// TestApproveSaysWhatElse: a digest that isn't the one of what is held approves
// nothing, and the error says what does.
func TestApproveSaysWhatElse(t *testing.T) {
	t.Parallel()
	with := func(change func(*report.Report)) *report.Report {
		r := held()
		change(r)
		return r
	}
	for name, c := range map[string]struct {
		report *report.Report
		stderr []string
	}{
		"another set is held": {held(), []string{"2 deletions", "bin/webservice-controller approve " + heldDigest + " --out /"}},
		"approval can't help": {
			with(func(r *report.Report) {
				r.HeldDigest = ""
				r.Held[0].Reason = "no file; held: the source couldn't be read whole"
			}),
			[]string{"2 deletions are held", "crd-lab/checkout", "the source couldn't be read whole"},
		},
		"nothing is held": {
			with(func(r *report.Report) { r.HeldDigest, r.Held, r.Converged = "", nil, true }),
			[]string{"nothing is held"},
		},
		"nothing is held yet": {
			with(func(r *report.Report) { r.HeldDigest, r.Held, r.WaitingFor = "", nil, "the source to be read" }),
			[]string{"nothing is held", "the source to be read"},
		},
		"another process leads": {
			with(func(r *report.Report) {
				r.HeldDigest, r.Held, r.Role, r.Holder = "", nil, report.RoleStandby, "node-2_0011"
			}),
			[]string{"stands by", "node-2_0011"},
		},
		"no report": {nil, []string{report.FileName, "start run", "--out"}},
		"a report of another version": {
			nil, []string{`its schema is "webservice-controller/report/v9"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			if err := os.Mkdir(out, 0o755); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.stderr[0], "schema") {
				text := []byte(`{"schema": "webservice-controller/report/v9"}`)
				if err := os.WriteFile(filepath.Join(out, report.FileName), text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			code, stdout, stderr := runIn(t, out, c.report, "approve", otherDigest)
			if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("it doesn't say %q:\n%s", want, stderr)
				}
			}
			if isApproved(t, out, otherDigest) || isApproved(t, out, heldDigest) {
				t.Error("something was approved")
			}
		})
	}
}

func TestApproveIsCalledWrongly(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no digest":    {"approve"},
		"two digests":  {"approve", heldDigest, heldDigest},
		"empty":        {"approve", ""},
		"a beginning":  {"approve", heldDigest[:12]},
		"in capitals":  {"approve", strings.ToUpper(heldDigest)},
		"a path":       {"approve", "../" + heldDigest[3:]},
		"unknown flag": {"approve", heldDigest, "--force"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			code, stdout, stderr := runIn(t, out, held(), args...)
			if code != 64 || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
			}
			if isApproved(t, out, heldDigest) {
				t.Error("it is approved")
			}
		})
	}
}

func TestApproveThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "approvals"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runIn(t, out, held(), "approve", heldDigest)
	if code != 1 || stdout != "" || !strings.Contains(stderr, "can't write "+filepath.Join(out, "approvals", heldDigest)) {
		t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
}

// TestApproveElsewhere: the command works in a directory whose config.yaml is
// another program's. Without --out the settings say where to look.
func TestApproveElsewhere(t *testing.T) {
	out := t.TempDir()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("config.yaml", []byte("colour: blue\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runIn(t, out, held(), "approve", heldDigest); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	var stdout, stderr bytes.Buffer
	p := Process{Args: []string{"approve", heldDigest}, Stdout: &stdout, Stderr: &stderr}
	if code := Run(t.Context(), p); code != 64 || !strings.Contains(stderr.String(), "colour") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if err := os.WriteFile("config.yaml", []byte("out: "+out+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := Run(t.Context(), p); code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

func TestDigestIsCompleted(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := (&report.Writer{Dir: out}).Write(held()); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	Run(t.Context(), Process{Args: []string{"__complete", "approve", "--out", out, ""}, Stdout: &stdout, Stderr: &stderr})
	if !strings.HasPrefix(stdout.String(), heldDigest+"\t2 held deletions\n") {
		t.Errorf("got %q, %s", &stdout, &stderr)
	}
}

func TestApprovalCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, out, want string }{
		"as it was started": {"bin/webservice-controller", "/lab/out", "bin/webservice-controller approve D --out /lab/out"},
		"unknown program":   {"", "/lab/out", "webservice-controller approve D --out /lab/out"},
		"blanks":            {"/my tools/wc", "/my lab/out", "'/my tools/wc' approve D --out '/my lab/out'"},
		"quotes":            {"wc", "/it's", `wc approve D --out '/it'\''s'`},
		"what shells read":  {"wc", "/a$b`c\\d*~", "wc approve D --out '/a$b`c\\d*~'"},
	} {
		if got := newApprovals(&Process{Program: c.program}, c.out).Command("D"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := newApprovals(&Process{Program: "wc"}, "out").Command("D"), "wc approve D --out "+shellWord(wd+"/out"); got != want {
		t.Errorf("a relative path: %s, want %s", got, want)
	}
}
