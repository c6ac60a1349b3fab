package labtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
	readyPrefix  = "ready kubeconfig="
)

// process is one run of labcluster.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read after done only
	done   chan struct{}
	err    error // how it ended; set before done is closed
}

// startProcess returns once the server has said that it is ready.
func startProcess(ctx context.Context, binary string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, binary, args...), done: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = dieWithParent()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start labcluster: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start labcluster: %w", err)
	}
	ready := make(chan struct{})
	go p.follow(stdout, ready)
	select {
	case <-ready:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("labcluster ended before it was ready: %w: %s", p.err, strings.TrimSpace(p.stderr.String()))
	case <-time.After(startTimeout):
		err := p.kill()
		return nil, errors.Join(fmt.Errorf("labcluster was not ready after %s: %s", startTimeout, strings.TrimSpace(p.stderr.String())), err)
	}
}

// follow reads what the server says until its end, and collects its exit code.
func (p *process) follow(stdout io.Reader, ready chan<- struct{}) {
	defer close(p.done)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), readyPrefix) {
			close(ready)
			break
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	p.err = p.cmd.Wait()
	if p.err == nil {
		p.err = io.EOF
	}
}

// terminate asks for an end; anything but exit code 0 is an error.
func (p *process) terminate() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("labcluster didn't stop within %s of SIGTERM", stopTimeout), p.kill())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("labcluster stopped with exit code %d: %s", code, strings.TrimSpace(p.stderr.String()))
	}
	return nil
}

func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.done
	return err
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal labcluster: %w", err)
	}
	return nil
}
