package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
)

// The demo is one command to three WebServices that are ready. What it prints as
// the next steps works as printed, and its end leaves nothing running.
func TestTheDemoShowsWhatItSays(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "demo")
	demo, lines := startDemo(t, root, home)
	var steps []string
	for line := range lines {
		if step, ok := strings.CutPrefix(line, "  "); ok {
			steps = append(steps, step)
		}
		if strings.Contains(line, "Ctrl-C ends the demo") {
			break
		}
	}
	if len(steps) < 4 || !strings.HasPrefix(steps[0], "export KUBECONFIG=") {
		t.Fatalf("next steps: %q", steps)
	}
	said := ""
	for _, step := range steps[1:] {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", steps[0]+"; "+step) // which says where the cluster is
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", step, err, out)
		}
		said += string(out)
	}
	if n := strings.Count(said, " True "); n != 3 || says(said, "checkout-desired", `"converged": true`) != nil {
		t.Errorf("%d are ready; the steps said:\n%s", n, said)
	}
	endDemo(t, demo, home)
}

// startDemo starts it without a terminal, and returns the lines that it prints.
func startDemo(t *testing.T, root, home string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "hack/demo.sh")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "DEMO_DIR="+home, "WEBSERVICE_CONTROLLER_HTTP_ADDR=")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return cmd, lines
}

func endDemo(t *testing.T, demo *exec.Cmd, home string) {
	t.Helper()
	if err := demo.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- demo.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the demo ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the demo doesn't end")
	}
	labtest.Eventually(t, 5*time.Second, func() error {
		if left, err := exec.CommandContext(t.Context(), "pgrep", "-f", home).Output(); err == nil {
			return fmt.Errorf("still running: %s", left)
		}
		return nil
	})
}
