package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// ending is how a command ends: its exit code, and what it says. With 0 that is on
// stdout, else in the one line of its error.
type ending struct {
	code int
	says []string
}

// ok is the end of a command which the trouble is none of.
func ok(says ...string) ending { return ending{0, says} }

// fails is an end with one error.
func fails(code int, says ...string) ending { return ending{code, says} }

// offline is a lab with a file and a kubeconfig, and no server at its other end.
func offline(t *testing.T) *lab {
	t.Helper()
	l := alone(t)
	l.source, l.out, l.http = filepath.Join(l.home, "files"), filepath.Join(l.home, "out"), "--http-addr="
	l.name, l.namespace = "offline", "default"
	l.must(os.Mkdir(l.source, 0o755))
	l.writeServices("nginx:1.27", "checkout")
	l.kubeconfig = l.unreachable()
	return l
}

// line is a command as it is usually called, and more flags, which are stronger.
func (l *lab) line(command string, flags ...string) []string {
	line := []string{command}
	switch command {
	case "once", "verify":
		line = append(line, shortly)
	case "export":
		line = append(line, "--to="+filepath.Join(l.home, "exported"))
	case "approve":
		line = append(line, strings.Repeat("0", 64))
	case "completion":
		line = append(line, "bash")
	}
	return append(append(line, l.flags()...), flags...)
}

// wantEnd wants that end, with nothing but log lines beside the error.
func (l *lab) wantEnd(r result, want ending) {
	l.Helper()
	errorLines, text := r.errorLines(), r.stdout
	if want.code != 0 {
		text = strings.Join(errorLines, "\n")
	}
	if err := says(text, want.says...); err != nil || r.code != want.code || len(errorLines) != min(want.code, 1) {
		l.Errorf("exit code %d, want %d: %v\nstdout: %s\nstderr: %s", r.code, want.code, err, r.stdout, r.stderr)
	}
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "time=") && !strings.HasPrefix(line, "error: ") {
			l.Errorf("neither log nor error: %s", line)
		}
	}
	if all := r.stdout + r.stderr; strings.Contains(all, "goroutine ") || strings.Contains(all, "panic") {
		l.Errorf("a stack trace: %s", all)
	}
	l.Log(text)
}

// Whatever stands in a command's way, it says so in one line that also says what to
// do, and by its exit code. What a command doesn't need isn't in its way. Commands
// that a trouble doesn't list have it in a test of their own.
func TestEveryCommandInTrouble(t *testing.T) {
	t.Parallel()
	const kubeconfig, completes = "--kubeconfig or --context", "__start_webservice-controller"
	valid, unknown, unapproved := ok("ok: 1 WebService"), ok("\ncluster:    unknown, "), fails(1, "reconcile-report.json", "start run", "--out")
	for name, trouble := range map[string]struct {
		prepare func(l *lab) (flags []string)
		ends    map[string]ending
	}{
		"no kubeconfig": {func(l *lab) []string { l.kubeconfig = ""; return nil }, map[string]ending{
			"plan":     fails(64, "no cluster is configured", "--kubeconfig", "$KUBECONFIG"),
			"export":   fails(64, "no cluster is configured", "--kubeconfig", "$KUBECONFIG"),
			"validate": valid, "approve": unapproved, "version": unknown, "completion": ok(completes),
		}},
		"server away": {func(*lab) []string { return nil }, map[string]ending{
			"validate": valid, "approve": unapproved, "version": ok("\ncluster:    unknown, the API server can't be reached"), "completion": ok(completes),
		}},
		"server gives no answer": {func(l *lab) []string { l.kubeconfig, _ = l.mute(); return nil }, map[string]ending{
			"once":    fails(5, "not converged: the API server"),
			"plan":    fails(1, "the API server"),
			"verify":  fails(1, "nothing can be verified: the API server"),
			"export":  fails(1, "the API server"),
			"version": ok("\ncluster:    unknown, the API server"),
		}},
		"wrong context": {func(*lab) []string { return []string{"--context=nope"} }, map[string]ending{
			"run":      fails(64, `context "nope"`, kubeconfig),
			"once":     fails(64, `context "nope"`, kubeconfig),
			"plan":     fails(64, `context "nope"`, kubeconfig),
			"verify":   fails(64, `context "nope"`, kubeconfig),
			"export":   fails(64, `context "nope"`, kubeconfig),
			"version":  fails(64, `context "nope"`, "--client leaves the cluster out"),
			"validate": valid, "approve": unapproved, "completion": ok(completes),
		}},
		"unknown flag": {func(*lab) []string { return []string{"--colour=red"} }, map[string]ending{
			"plan":       fails(64, "--colour", "plan --help"),
			"verify":     fails(64, "--colour", "verify --help"),
			"export":     fails(64, "--colour", "export --help"),
			"approve":    fails(64, "--colour", "approve --help"),
			"version":    fails(64, "--colour", "version --help"),
			"completion": fails(64, "--colour", "completion --help"),
		}},
		"a value that isn't one": {func(*lab) []string { return []string{"--prune-after=soon"} }, map[string]ending{
			"once":     fails(64, "prune.after (flag --prune-after)", `"soon"`, "isn't a duration: write a number"),
			"plan":     fails(64, "prune.after (flag --prune-after)", "isn't a duration: write a number"),
			"verify":   fails(64, "prune.after (flag --prune-after)", "isn't a duration: write a number"),
			"validate": fails(64, "prune.after (flag --prune-after)", "isn't a duration: write a number"),
			"export":   fails(64, "prune.after (flag --prune-after)", "isn't a duration: write a number"),
			"version":  unknown, "completion": ok(completes), // they have no use for settings
		}},
		"an argument too many": {func(*lab) []string { return []string{"more"} }, map[string]ending{
			"run":        fails(64, `run takes no arguments, and "more" is one`, "run --help"),
			"once":       fails(64, `once takes no arguments`, "once --help"),
			"plan":       fails(64, `plan takes no arguments`, "plan --help"),
			"export":     fails(64, `export takes no arguments`, "export --help"),
			"version":    fails(64, `version takes no arguments`, "version --help"),
			"approve":    fails(64, "one DIGEST, and 2 were given"),
			"completion": fails(64, "one shell", "bash, zsh"),
		}},
		"source missing": {func(*lab) []string { return []string{"--source=nowhere"} }, map[string]ending{
			"plan":     fails(5, "source nowhere doesn't exist", "put it back, or mend source.path"),
			"validate": fails(3, "1 problem in the files"),
		}},
		"source a file": {func(l *lab) []string { return []string{"--source=" + l.file("taken", "")} }, map[string]ending{
			"plan":   fails(64, "taken is a file", "name the directory"),
			"verify": fails(64, "taken is a file", "name the directory"),
		}},
		"source unreadable": {func(l *lab) []string { l.shut(l.source); return nil }, map[string]ending{
			"once":     fails(5, "can't be read: permission denied", "make it readable"),
			"plan":     fails(5, "can't be read: permission denied", "make it readable"),
			"verify":   fails(5, "can't be read: permission denied", "make it readable"),
			"validate": fails(3, "1 problem in the files"),
		}},
		"out a file": {func(l *lab) []string { return []string{"--out=" + l.file("taken", "")} }, map[string]ending{
			"run":     fails(1, "can't write", "taken", "choose another directory with --out"),
			"once":    fails(1, "can't write", "taken", "choose another directory with --out"),
			"verify":  fails(1, "can't write", "taken", "choose another directory with --out"),
			"approve": fails(1, "can't read", "taken", "name the running controller's out directory with --out"),
		}},
		"out unwritable": {func(l *lab) []string { l.shut(l.out); return nil }, map[string]ending{
			"run":     fails(1, "can't write", "permission denied", "choose another directory with --out"),
			"once":    fails(1, "can't write", "permission denied", "choose another directory with --out"),
			"verify":  fails(1, "can't write", "permission denied", "choose another directory with --out"),
			"approve": fails(1, "can't read", "permission denied", "name the running controller's out directory with --out"),
		}},
		"target of the export a file": {func(l *lab) []string { return []string{"--to=" + l.file("taken", "")} }, map[string]ending{
			"export": fails(64, "taken isn't a directory", "name another place"),
		}},
		"target of the export out of reach": {func(l *lab) []string { l.shut(l.out); return []string{"--to=" + l.out + "/new"} }, map[string]ending{
			"export": fails(1, "permission denied", "name another place"),
		}},
	} {
		for command, want := range trouble.ends {
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				l := offline(t)
				flags := trouble.prepare(l)
				l.wantEnd(l.exec(l.line(command, flags...)...), want)
			})
		}
	}
}

// shut makes commands run as a user who may do nothing with a directory.
func (l *lab) shut(dir string) {
	l.Helper()
	l.asNobody()
	l.must(os.MkdirAll(dir, 0o755))
	l.must(os.Chown(dir, os.Getuid(), os.Getgid()))
	l.must(os.Chmod(dir, 0))
	l.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // so that it can be removed
}

// A daemon waits for its files, and says what it waits for.
func TestADaemonWaitsForADirectoryThatItMayRead(t *testing.T) {
	t.Parallel()
	l := offline(t)
	l.shut(l.source)
	d := l.run()
	d.reports(10*time.Second, unconverged, waitsFor("can't be read: permission denied: make it readable"))
	d.stop()
}

// An account without a role gets to know what it lacks, and still what anybody may.
func TestCommandsWithoutRights(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.kubeconfig = l.cluster.ServiceAccount(t, l.namespace, "nobody")
	l.wantEnd(l.exec(l.line("plan")...), fails(1, "cannot list resource", "grant the rights in manifests/rbac.yaml"))
	l.wantEnd(l.exec(l.line("version")...), ok("\ncluster:    v1."))
	l.wantEnd(l.exec(l.line("validate")...), ok("ok: 1 WebService"))
}

// mute is a kubeconfig of a server that takes requests and answers none, and
// whether it has taken one.
func (l *lab) mute() (kubeconfig string, asked func() error) {
	l.Helper()
	var taken atomic.Bool
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		taken.Store(true)
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	l.Cleanup(func() { close(over); server.Close() })
	return l.file("mute.kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: mute, cluster: {server: %q}}]
users: [{name: nobody, user: {}}]
contexts: [{name: mute, context: {cluster: mute, user: nobody}}]
current-context: mute
`, server.URL)), func() error {
			if !taken.Load() {
				return errors.New("nobody has asked the server yet")
			}
			return nil
		}
}

// Ctrl-C ends a command at once, also one that waits for an answer. What it was
// about to do is not done, and nothing of it is left.
func TestEveryCommandCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]ending{
		"run":     ok(),
		"once":    fails(5, "interrupted: not converged: "),
		"plan":    fails(1, "interrupted: nothing was planned"),
		"verify":  fails(1, "interrupted: nothing can be verified: "),
		"version": fails(1, "interrupted: ", "--client leaves it out"),
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			l := offline(t)
			var asked func() error
			l.kubeconfig, asked = l.mute()
			began := time.Now()
			r := l.interrupted(asked, l.line(command, "--prune-after=1h")...)
			l.wantEnd(r, want)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			if r.stdout != "" {
				t.Errorf("stdout: %s", r.stdout)
			}
		})
	}
}

// interrupted runs a command, and presses Ctrl-C when it is in the middle.
func (l *lab) interrupted(middle func() error, args ...string) result {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), onceLimit)
	defer cancel()
	cmd := l.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	l.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	labtest.Eventually(l, convergeLimit, func() error {
		select {
		case err := <-ended:
			l.Fatalf("it ended by itself: %v: %s", err, &stderr)
		default:
		}
		return middle()
	})
	l.must(cmd.Process.Signal(syscall.SIGINT))
	if err := <-ended; err != nil && !isExit(err) {
		l.Error(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Ctrl-C between the two passes of a proof proves nothing.
func TestAProofInterruptedBetweenItsPasses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	converged := func() error {
		r, err := report.Read(l.out)
		if err == nil && !r.Converged {
			err = errors.New("the first pass isn't at its end")
		}
		return err
	}
	r := l.interrupted(converged, l.line("verify")...)
	l.wantEnd(r, fails(1, "interrupted: not proven: "))
	if r.stdout != "" {
		t.Errorf("stdout: %s", r.stdout)
	}
}
