package report_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// keeper is evidence that is being written, with what it logs.
type keeper struct {
	*report.Evidence
	log  logged
	stop func()
}

// logged is text that may be read while it grows.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// keep starts to write evidence into dir. stop ends that, as does the test.
func keep(t *testing.T, dir string) *keeper {
	t.Helper()
	k := &keeper{}
	k.Evidence = report.NewEvidence(dir, slog.New(slog.NewTextHandler(&k.log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	k.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(k.stop)
	return k
}

func checkout(name string) report.EvidenceFile {
	return report.EvidenceFile{Namespace: "crd-lab", Name: "checkout", File: name}
}

func text(content string) report.Render {
	return func([]byte) ([]byte, error) { return []byte(content), nil }
}

func add(line string) report.Render {
	return func(old []byte) ([]byte, error) { return append(bytes.Clone(old), line...), nil }
}

// pass lets time pass, and what that brings about.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// holds fails the test unless the file below evidence has that content.
func holds(t *testing.T, dir, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "evidence", name))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

func TestEvidence(t *testing.T) {
	dir := t.TempDir()
	k := keep(t, dir)
	k.Put(checkout("decision.json"), report.JSON(map[string]string{"reason": "a < b"}))
	for i := range 100 {
		k.Put(checkout("observe.json"), text(strconv.Itoa(i)))
		k.Change(checkout("cleanup.txt"), add(strconv.Itoa(i%10)))
	}
	k.Change(checkout("terminating.json"), func([]byte) ([]byte, error) { return nil, nil })
	k.stop()

	holds(t, dir, "crd-lab/checkout/decision.json", "{\n  \"reason\": \"a < b\"\n}\n")
	holds(t, dir, "crd-lab/checkout/observe.json", "99")
	holds(t, dir, "crd-lab/checkout/cleanup.txt", strings.Repeat("0123456789", 10))
	if got := strings.Join(names(t, filepath.Join(dir, "evidence/crd-lab/checkout")), " "); got != "cleanup.txt decision.json observe.json" {
		t.Errorf("written are %s", got)
	}
	if got := names(t, dir); len(got) != 1 || k.log.String() != "" {
		t.Errorf("left behind: %q; logged: %s", got, &k.log)
	}
}

// What a file holds already isn't written again, not even by the next process.
func TestEvidenceThatIsNotNewIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "evidence/crd-lab/checkout/observe.json")
	var before os.FileInfo
	for range 2 {
		k := keep(t, dir)
		k.Put(checkout("observe.json"), text("same"))
		k.stop()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !os.SameFile(before, info) {
			t.Error("it was written again")
		}
		before = info
	}
}

// Nothing is written outside of the directory, whatever names and links say.
func TestEvidenceStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	precious := filepath.Join(outside, "precious")
	below := filepath.Join(dir, "evidence/crd-lab/checkout")
	for _, err := range []error{
		os.WriteFile(precious, []byte("precious"), 0o644),
		os.MkdirAll(below, 0o755),
		os.Symlink(precious, filepath.Join(below, "observe.json")),
		os.Symlink(outside, filepath.Join(dir, "evidence/elsewhere")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k := keep(t, dir)
	k.Change(checkout("observe.json"), add("ours"))
	k.Put(report.EvidenceFile{Namespace: "elsewhere", Name: "checkout", File: "observe.json"}, text("ours"))
	for _, bad := range []string{"", ".", "..", "a/b", "../../x", "/x"} {
		k.Put(report.EvidenceFile{Namespace: bad, Name: "checkout", File: "observe.json"}, text("ours"))
		k.Put(report.EvidenceFile{Namespace: "crd-lab", Name: bad, File: "observe.json"}, text("ours"))
		k.Put(report.EvidenceFile{Namespace: "crd-lab", Name: "checkout", File: bad}, text("ours"))
	}
	k.stop()

	holds(t, dir, "crd-lab/checkout/observe.json", "ours")
	if got, err := os.ReadFile(precious); string(got) != "precious" {
		t.Errorf("%s, %v", got, err)
	}
	if got := names(t, outside); len(got) != 1 {
		t.Errorf("outside there is %q", got)
	}
	if got := names(t, below); len(got) != 1 {
		t.Errorf("written are %q", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("written are %q", got)
	}
}

// What can't be written is told once, keeps no other file from being written, and
// is written when it can be, with what came meanwhile.
func TestEvidenceThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "evidence/crd-lab")
	if err := os.MkdirAll(filepath.Dir(inTheWay), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, dir)
		other := report.EvidenceFile{Namespace: "other", Name: "search", File: "observe.json"}
		k.Put(checkout("observe.json"), text("1"))
		k.Change(checkout("cleanup.txt"), add("1"))
		k.Put(other, text("1"))
		pass(time.Minute)
		holds(t, dir, "other/search/observe.json", "1")
		k.Put(checkout("observe.json"), text("2"))
		k.Change(checkout("cleanup.txt"), add("2"))
		pass(time.Minute)
		if lines := strings.Count(k.log.String(), "\n"); lines != 1 || !strings.Contains(k.log.String(), inTheWay) {
			t.Errorf("logged: %s", &k.log)
		}
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		holds(t, dir, "crd-lab/checkout/observe.json", "2")
		holds(t, dir, "crd-lab/checkout/cleanup.txt", "12")
		k.stop()
		if lines := strings.Count(k.log.String(), "\n"); lines != 2 || !strings.Contains(k.log.String(), "written again") {
			t.Errorf("logged: %s", &k.log)
		}
	})
}

// What is left at the end is told.
func TestEvidenceThatIsLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "evidence"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k := keep(t, dir)
	k.Put(checkout("observe.json"), text("1"))
	k.stop()
	if !strings.Contains(k.log.String(), "count=1") {
		t.Errorf("logged: %s", &k.log)
	}
}

// Many goroutines may tell at once; the last word on each file is what it holds.
func TestEvidenceAtOnce(t *testing.T) {
	dir := t.TempDir()
	k := keep(t, dir)
	var telling sync.WaitGroup
	for worker := range 8 {
		telling.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("service-%d", worker*10+i%10)
				k.Put(report.EvidenceFile{Namespace: "crd-lab", Name: name, File: "observe.json"}, text(strconv.Itoa(i)))
			}
		})
	}
	telling.Wait()
	k.stop()
	for i := range 80 {
		holds(t, dir, fmt.Sprintf("crd-lab/service-%d/observe.json", i), strconv.Itoa(190+i%10))
	}
}
