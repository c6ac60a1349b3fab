package report_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

// TestMain lets the test binary stand in for a second process.
func TestMain(m *testing.M) {
	switch role, dir := os.Getenv("TEST_ROLE"), os.Getenv("TEST_DIR"); role {
	case "writer":
		writeForever(dir)
	case "holder":
		holdForever(dir)
	default:
		os.Exit(m.Run())
	}
}

// child starts this test binary in a role; it is killed when the test ends.
func child(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_ROLE="+role, "TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(stdout)
}

// many is a report that takes several writes to the disk, and says its number
// at both ends.
func many(cycle, items int) *report.Report {
	r := &report.Report{Cycle: int64(cycle), Items: make([]report.Item, items)}
	for i := range r.Items {
		r.Items[i] = report.Item{
			Namespace: "crd-lab", Name: "service-" + strconv.Itoa(i), Action: report.ActionNoop,
			Reason: "the cluster is what the file says", Target: "webservice/service-" + strconv.Itoa(i),
			Source: "crd-lab/service.yaml:1", Generation: 1, ObservedGeneration: 1,
		}
	}
	r.HeldDigest = strconv.Itoa(cycle)
	return r
}

func writeForever(dir string) {
	w := report.Writer{Dir: dir}
	for cycle := 1; ; cycle++ {
		if err := w.Write(many(cycle, 500)); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, cycle)
	}
}

// read fails the test unless the file is one whole report.
func read(t *testing.T, dir string) *report.Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	if r.HeldDigest != strconv.FormatInt(r.Cycle, 10) {
		t.Fatalf("begins as cycle %d and ends as %s", r.Cycle, r.HeldDigest)
	}
	return &r
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	w := report.Writer{Dir: dir}
	for cycle := range 3 {
		if err := w.Write(many(cycle, 3-cycle)); err != nil {
			t.Fatal(err)
		}
		if r := read(t, dir); r.Cycle != int64(cycle) || len(r.Items) != 3-cycle || r.Schema != report.Schema {
			t.Errorf("cycle %d: got %+v", cycle, r)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
	info, err := os.Stat(filepath.Join(dir, report.FileName))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v; want 0644", info.Mode(), err)
	}
}

// A reader that loops never sees half a report, nor an older one than before.
func TestWriteIsAtomic(t *testing.T) {
	dir := t.TempDir()
	w := report.Writer{Dir: dir}
	if err := w.Write(many(0, 200)); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	written := make(chan error, 1)
	go func() {
		defer done.Store(true)
		for cycle := 1; cycle <= 100; cycle++ {
			if err := w.Write(many(cycle, 200+cycle%2)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	var last int64
	for !done.Load() {
		if r := read(t, dir); r.Cycle < last {
			t.Fatalf("cycle %d after %d", r.Cycle, last)
		} else {
			last = r.Cycle
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}

// A process that is killed while it writes leaves a whole report; what else it
// leaves is gone when the next one opens the directory.
func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		cmd, stdout := child(t, "writer", dir)
		if _, err := stdout.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		read(t, dir)
	}
	stale := filepath.Join(dir, ".webservice-controller-1.tmp")
	if err := os.WriteFile(stale, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := report.OpenOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	for _, name := range names(t, dir) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s is still there", name)
		}
	}
	read(t, dir)
}

func TestWriteFails(t *testing.T) {
	base := t.TempDir()
	taken := filepath.Join(base, "taken")
	if err := os.MkdirAll(filepath.Join(taken, report.FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		want error
	}{
		"a file in the way":         {filepath.Join(file, "out"), syscall.ENOTDIR},
		"the report is a directory": {taken, syscall.EEXIST},
	} {
		t.Run(name, func(t *testing.T) {
			w := report.Writer{Dir: c.dir}
			err := w.Write(full())
			var failed *report.WriteError
			if !errors.As(err, &failed) || failed.Path != filepath.Join(c.dir, report.FileName) {
				t.Fatalf("error %v (%T)", err, err)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v beneath", err, c.want)
			}
		})
	}
	if got := names(t, taken); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}

// A directory that somebody removed is made again.
func TestWriteIntoARemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	w := report.Writer{Dir: dir}
	if err := w.Write(many(1, 1)); err != nil {
		t.Fatal(err)
	}
	if r := read(t, dir); r.Cycle != 1 {
		t.Errorf("cycle %d", r.Cycle)
	}
}

// A report that can't be encoded changes nothing, and the writer goes on.
func TestWriteGoesOnAfterAnError(t *testing.T) {
	dir := t.TempDir()
	w := report.Writer{Dir: dir}
	if err := w.Write(many(1, 1)); err != nil {
		t.Fatal(err)
	}
	var zero float64
	infinite := 1 / zero
	broken := many(2, 1)
	broken.DurationSeconds = &infinite
	if err := w.Write(broken); err == nil {
		t.Fatal("an infinite duration was written")
	}
	if r := read(t, dir); r.Cycle != 1 {
		t.Errorf("cycle %d, want the old report", r.Cycle)
	}
	if err := w.Write(many(3, 1)); err != nil {
		t.Fatal(err)
	}
	if r := read(t, dir); r.Cycle != 3 {
		t.Errorf("cycle %d, want 3", r.Cycle)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %q", got)
	}
}

func BenchmarkWrite(b *testing.B) {
	w := report.Writer{Dir: b.TempDir()}
	r := many(1, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(r); err != nil {
			b.Fatal(err)
		}
	}
}
