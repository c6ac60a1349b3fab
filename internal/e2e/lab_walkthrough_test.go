package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// The pages, as seen from the root of the repository.
const (
	labPage    = "examples/lab/README.md"
	koreanPage = "README.ko.md"
	frontPage  = "README.md"
)

// walkthroughLimit is far more than the walk-through takes.
const walkthroughLimit = 2 * time.Minute

// A newcomer who types what the lab's page says sees what it says, and has the
// lab's evidence in one folder at the end.
func TestTheLabsWalkThroughShowsWhatItSays(t *testing.T) {
	t.Parallel()
	steps := stepsOf(t, fencesOf(t, labPage))
	w := startWalk(t)
	names := newVaried()
	for i, said := range w.run(steps) {
		if steps[i].output == nil {
			continue
		}
		if err := names.compare(steps[i].output.text, said); err != nil {
			t.Errorf("%s:%d: %v\nall of it:\n%s", labPage, steps[i].output.line, err, said)
		}
	}
	w.leftNothingBehind()
	w.checkEvidence()
}

// step is what is typed, and what is said to be printed then.
type step struct {
	commands fence
	output   *fence
}

// stepsOf pairs commands with the output that follows them.
func stepsOf(t *testing.T, fences []fence) []step {
	t.Helper()
	var steps []step
	for _, f := range fences {
		switch last := len(steps) - 1; {
		case f.language == "sh":
			steps = append(steps, step{commands: f})
		case last < 0 || steps[last].output != nil:
			t.Fatalf("line %d: no commands in front of this output", f.line)
		default:
			steps[last].output = &f
		}
	}
	return steps
}

// walk is one bash, in what looks like the root of a fresh clone.
type walk struct {
	*testing.T
	root    string
	scratch string
	group   int // of the processes that were started
}

// cloned is what the page may use of the repository.
func cloned() []string { return []string{"bin", "config.yaml", "desired", "examples"} }

func startWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{T: t, root: t.TempDir(), scratch: t.TempDir()}
	for _, name := range cloned() {
		path, err := filepath.Abs(filepath.Join("..", "..", name))
		if err == nil {
			err = os.Symlink(path, filepath.Join(w.root, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, binary := range []string{"labcluster", "webservice-controller"} {
		if _, err := os.Stat(filepath.Join(w.root, "bin", binary)); err != nil {
			t.Fatalf("bin/%s is missing: run make build first", binary)
		}
	}
	return w
}

// run types all the commands, and returns what each step prints to stdout. Every
// command must go well.
func (w *walk) run(steps []step) []string {
	w.Helper()
	const mark = "--- so far, so good ---\n"
	var script strings.Builder
	for _, s := range steps {
		script.WriteString(s.commands.text + "echo '" + strings.TrimSpace(mark) + "'\n")
	}
	ctx, cancel := context.WithTimeout(w.Context(), walkthroughLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", script.String())
	cmd.Dir = w.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.scratch, "TMPDIR=" + w.scratch, "WEBSERVICE_CONTROLLER_HTTP_ADDR="}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // what still runs in the background may hold the pipes
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.group = cmd.Process.Pid
	w.Cleanup(w.killAll)
	err := cmd.Wait()
	said := strings.Split(stdout.String(), mark)
	if done := len(said) - 1; err != nil || done != len(steps) {
		failed := steps[min(done, len(steps)-1)].commands
		w.Fatalf("%s:%d: %v\n%s\nstdout of it:\n%s\nstderr of all:\n%s", labPage, failed.line, err, failed.text, said[done], stderr.String())
	}
	return said[:len(steps)]
}

// killAll ends what a walk that failed has left.
func (w *walk) killAll() {
	if err := syscall.Kill(-w.group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		w.Error(err)
	}
}

// leftNothingBehind wants no process, and no file but in the scratch directory.
func (w *walk) leftNothingBehind() {
	w.Helper()
	labtest.Eventually(w, 5*time.Second, func() error {
		if err := syscall.Kill(-w.group, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("something of the page's is still running (%w)", err)
		}
		return nil
	})
	if names := w.list(w.root); !slices.Equal(names, cloned()) {
		w.Errorf("the root of the repository has %s now", names)
	}
}

// list is what a directory holds, sorted.
func (w *walk) list(dir string) []string {
	w.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// evidenceFiles are those that the lab asks for, each with what it must show.
func evidenceFiles() map[string]func(text []byte) error {
	rv := func(text []byte) error {
		_, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		return err
	}
	return map[string]func(text []byte) error{
		"observe.json":          jsonWith(observesTheSpec),
		"decision-1.json":       jsonWith(decides(plan.Create)),
		"decision-2.json":       jsonWith(decides(plan.Noop)),
		"rv-before.txt":         rv,
		"rv-after.txt":          rv,
		"requeue.json":          jsonWith(isNoError),
		"backoff-note.txt":      textWith("exponentially?", `"not ready yet" is treated as an error?`),
		"terminating.json":      jsonWith(isTerminating),
		"cleanup.txt":           textWith("removed configmap/ephemeral-desired", "dropped the finalizer "+v1.CleanupFinalizer, "the object is gone"),
		"reconcile-report.json": jsonWith(hasThreeNoops),
	}
}

// checkEvidence looks at the files as somebody who knows the lab and not the page.
func (w *walk) checkEvidence() {
	w.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.scratch, "*", "evidence"))
	if err != nil || len(dirs) != 1 {
		w.Fatalf("folders of evidence: %s (%v)", dirs, err)
	}
	checks := evidenceFiles()
	texts := map[string]string{}
	for _, name := range w.list(dirs[0]) {
		text, err := os.ReadFile(filepath.Join(dirs[0], name))
		check, wanted := checks[name]
		switch {
		case err != nil:
			w.Error(err)
		case !wanted:
			w.Errorf("%s isn't evidence", name)
		default:
			if err := check(text); err != nil {
				w.Errorf("%s: %v\n%s", name, err, text)
			}
		}
		texts[name] = string(text)
	}
	if len(texts) != len(checks) {
		w.Errorf("%d files, want %d", len(texts), len(checks))
	}
	if before, after := texts["rv-before.txt"], texts["rv-after.txt"]; before != after {
		w.Errorf("the resourceVersion went from %q to %q", before, after)
	}
}

// jsonWith reads the text as a T, and checks that.
func jsonWith[T any](check func(*T) error) func([]byte) error {
	return func(text []byte) error {
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		return check(&value)
	}
}

func textWith(parts ...string) func([]byte) error {
	return func(text []byte) error { return says(string(text), parts...) }
}

type observation struct {
	Desired struct{ Image string }
	Actual  map[string]string
}

func observesTheSpec(o *observation) error {
	if o.Desired.Image != "nginx:1.27" || o.Actual != nil {
		return errors.New("want the spec's image, and no ConfigMap yet")
	}
	return nil
}

type recordedDecision struct {
	Action       plan.Action
	Reason       string
	Target       string
	AfterSeconds int   `json:"after_seconds"`
	IsError      *bool `json:"is_error"`
}

func decides(action plan.Action) func(*recordedDecision) error {
	return func(d *recordedDecision) error {
		if d.Action != action || d.Reason == "" || d.Target != "configmap/checkout-desired" {
			return fmt.Errorf("want %s, with a reason, for configmap/checkout-desired", action)
		}
		return nil
	}
}

func isNoError(d *recordedDecision) error {
	if d.Action != plan.Requeue || d.AfterSeconds <= 0 || d.IsError == nil || *d.IsError {
		return errors.New("want requeue after some seconds, and no error")
	}
	return nil
}

func isTerminating(o *metav1.PartialObjectMetadata) error {
	if o.DeletionTimestamp == nil || !slices.Contains(o.Finalizers, v1.CleanupFinalizer) {
		return errors.New("want deletionTimestamp and our finalizer")
	}
	return nil
}

func hasThreeNoops(r *report.Report) error {
	var names []string
	for i := range r.Items {
		it := &r.Items[i]
		names = append(names, it.Name)
		if it.Generation == 0 || it.ObservedGeneration != it.Generation {
			return fmt.Errorf("%s: generation %d, observed %d", it.Name, it.Generation, it.ObservedGeneration)
		}
	}
	if all := strings.Join(names, " "); !r.Converged || r.Summary.Noop != 3 || all != "billing checkout search" {
		return fmt.Errorf("converged %v, %d noops, %s", r.Converged, r.Summary.Noop, all)
	}
	return nil
}

// The page says which command made each file.
func TestTheLabsPageNamesEachFile(t *testing.T) {
	t.Parallel()
	for _, page := range []string{labPage, koreanPage} {
		text := pageText(t, page)
		for name := range evidenceFiles() {
			if !strings.Contains(text, "| `"+name+"`") && !strings.Contains(text, ", `"+name+"` |") {
				t.Errorf("%s: no line of the table begins with %s", page, name)
			}
		}
	}
}

// Whoever follows the Korean page types what the English ones say, in the same
// order, and sees the same. Only comments and the learner's note are translated.
func TestTheKoreanPageHasTheSameCommands(t *testing.T) {
	t.Parallel()
	english, korean := fencesOf(t, labPage), fencesOf(t, koreanPage)
	start := len(korean) - len(english)
	if start < 1 {
		t.Fatalf("%d blocks, want more than the lab's %d: the quick start as well", len(korean), len(english))
	}
	for i, f := range korean[start:] {
		if f.language != english[i].language || untranslated(f.text) != untranslated(english[i].text) {
			t.Fatalf("%s:%d differs from %s:%d:\n%s\nwant\n%s", koreanPage, f.line, labPage, english[i].line, f.text, english[i].text)
		}
	}
	front := fencesOf(t, frontPage)
	for _, f := range korean[:start] {
		at := slices.IndexFunc(front, func(e fence) bool {
			return e.language == f.language && untranslated(e.text) == untranslated(f.text)
		})
		if at < 0 {
			t.Fatalf("%s:%d isn't in %s, or not in this order:\n%s", koreanPage, f.line, frontPage, f.text)
		}
		front = front[at+1:]
	}
}
