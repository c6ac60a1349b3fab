package walk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	stopLimit    = 30 * time.Second
	commandLimit = time.Minute
	tailSize     = 64 << 10
)

// controller starts the built binary, always with the same settings.
type controller struct {
	testing.TB
	binary, home string
	flags        []string
	daemon       *daemon // nil while none runs
	history      *history
	stderr       tail
}

// daemon is one run of `run`.
type daemon struct {
	cmd     *exec.Cmd
	started time.Time
	done    chan struct{}
}

func newController(t testing.TB, home string, h *history, flags ...string) *controller {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "..", "bin", "webservice-controller"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatal("bin/webservice-controller is missing: run make build first")
	}
	c := &controller{TB: t, binary: binary, home: home, flags: flags, history: h}
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			t.Logf("the end of what the controller logged:\n%s", c.stderr.String())
		}
	})
	return c
}

// command has next to no environment, so that nothing of whoever runs the tests
// comes in.
func (c *controller) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Dir = c.home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.home}
	cmd.SysProcAttr = dieWithParent()
	return cmd
}

// start runs the daemon, unless it runs.
func (c *controller) start() {
	c.Helper()
	if c.daemon != nil {
		return
	}
	d := &daemon{started: time.Now().Truncate(time.Millisecond), done: make(chan struct{})}
	// Ending it in order is the cleanup's work, after the test's context.
	d.cmd = c.command(context.WithoutCancel(c.Context()), append([]string{"run"}, c.flags...)...)
	d.cmd.Stderr = &c.stderr
	if err := d.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		defer close(d.done)
		_ = d.cmd.Wait() // how it ended is in its ProcessState
	}()
	c.daemon = d
}

// born is how long a process may take until it listens to signals.
const born = time.Second

// stop ends the daemon as a user would: it must exit with 0.
func (c *controller) stop() {
	c.Helper()
	d := c.daemon
	code := c.end(syscall.SIGTERM)
	if d != nil && code < 0 && time.Since(d.started) < born {
		return
	}
	if code != 0 {
		c.Errorf("run: exit code %d after SIGTERM", code)
	}
}

// kill ends it as a crash would.
func (c *controller) kill() { c.end(syscall.SIGKILL) }

func (c *controller) end(s syscall.Signal) int {
	d := c.daemon
	if d == nil {
		return 0
	}
	c.daemon = nil
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.Error(err)
	}
	select {
	case <-d.done:
	case <-time.After(stopLimit):
		c.Errorf("run didn't end within %s of %s", stopLimit, s)
		_ = d.cmd.Process.Kill()
		<-d.done
	}
	return d.cmd.ProcessState.ExitCode()
}

// ended is true where the daemon has gone by itself.
func (c *controller) ended() bool {
	if c.daemon == nil {
		return false
	}
	select {
	case <-c.daemon.done:
		return true
	default:
		return false
	}
}

// run is one command that ends by itself: its exit code and what it said.
func (c *controller) run(args ...string) (code int, stderr string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), commandLimit)
	defer cancel()
	cmd := c.command(ctx, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			c.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(0, len(t.end)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
