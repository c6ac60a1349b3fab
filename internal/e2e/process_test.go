package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	stopLimit = 20 * time.Second
	onceLimit = 2 * time.Minute
)

// binary is the controller as `make build` leaves it.
func (l *lab) binary() string {
	l.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "webservice-controller"))
	l.must(err)
	if _, err := os.Stat(path); err != nil {
		l.Fatal("bin/webservice-controller is missing: run make build first")
	}
	return path
}

// command runs in a directory of its own and with next to no environment, so
// that nothing of whoever runs the tests comes in.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	l.Helper()
	cmd := exec.CommandContext(ctx, l.binary(), args...)
	cmd.Dir = l.home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.home}, l.environ...)
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Credential = l.user
	return cmd
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

// errorLines are the lines by which the command says why it failed.
func (r result) errorLines() []string {
	var lines []string
	for line := range strings.Lines(r.stderr) {
		if strings.HasPrefix(line, "error: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// exec runs a command with no flags but these, and waits for its end.
func (l *lab) exec(args ...string) result {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), onceLimit)
	defer cancel()
	cmd := l.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !isExit(err) {
		l.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func isExit(err error) bool {
	_, ok := errors.AsType[*exec.ExitError](err)
	return ok
}

// once runs `once` on the lab's files.
func (l *lab) once(args ...string) result {
	l.Helper()
	return l.exec(append(append([]string{"once"}, l.flags()...), args...)...)
}

// onceOK is once where it must converge.
func (l *lab) onceOK(args ...string) {
	l.Helper()
	if r := l.once(args...); r.code != 0 {
		l.Fatalf("once: exit code %d\n%s", r.code, r.stderr)
	}
}

// text is written by one process and read by the test meanwhile.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}

// daemon is a controller that runs.
type daemon struct {
	*lab
	cmd     *exec.Cmd
	started time.Time
	stderr  text
	done    chan struct{} // closed when it has ended
}

// run starts `run` on the lab's files. It is stopped when the test ends, if it
// wasn't before, and must end with exit code 0 then.
func (l *lab) run(args ...string) *daemon {
	l.Helper()
	return l.start(append(append([]string{"run"}, l.flags()...), args...)...)
}

// start is run with no flags but these.
func (l *lab) start(args ...string) *daemon {
	l.Helper()
	d := &daemon{lab: l, done: make(chan struct{})}
	// It outlives the test's context: ending it in order is the cleanup's work.
	d.cmd = l.command(context.WithoutCancel(l.Context()), args...)
	d.cmd.Stderr = &d.stderr
	d.started = time.Now().Truncate(time.Millisecond)
	l.must(d.cmd.Start())
	go func() {
		defer close(d.done)
		_ = d.cmd.Wait() // how it ended is in its ProcessState
	}()
	l.Cleanup(func() {
		if !d.ended() {
			d.stop()
		}
		if l.Failed() {
			l.Logf("stderr of %s:\n%s", l.name, d.stderr.String())
		}
	})
	return d
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// stop ends the daemon as a user would.
func (d *daemon) stop() {
	d.Helper()
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != 0 {
		d.Errorf("run: exit code %d after SIGTERM", code)
	}
}

// kill ends the daemon as a crash would.
func (d *daemon) kill() {
	d.Helper()
	d.signal(syscall.SIGKILL)
	d.wait()
}

func (d *daemon) signal(s syscall.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.Error(err)
	}
}

// wait waits for the daemon's end, and returns its exit code.
func (d *daemon) wait() int {
	d.Helper()
	select {
	case <-d.done:
	case <-time.After(stopLimit):
		d.Errorf("run didn't end within %s", stopLimit)
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	return d.cmd.ProcessState.ExitCode()
}
