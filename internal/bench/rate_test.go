package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/manifests"
)

// The work, how often each side does it, and the share of the bare loop's rate
// that the controller must reach.
const (
	objects  = 1000
	rounds   = 5
	leastOf1 = 0.9
)

// TestRateAgainstBareLoop brings 1,000 WebServices from nothing to converged,
// in turn with a loop that holds the same watches and sends the same requests
// with the same concurrency, but checks, compares and reports nothing.
func TestRateAgainstBareLoop(t *testing.T) {
	cluster := labtest.Start(t)
	cluster.Apply(t, manifests.CRD())
	bare := buildBareLoop(t)
	controller := controllerBinary(t)
	var ours, theirs []time.Duration
	ratio := 0.0
	// A noisy machine gets a second chance: with twice the runs.
	for range 2 {
		for range rounds {
			once := onceArgs(t, cluster) // before the other's turn: files that rest aren't waited for
			theirs = append(theirs, timed(t, bare, cluster.Kubeconfig, cluster.Namespace(t), fmt.Sprint(objects)))
			ours = append(ours, timed(t, controller, once...))
		}
		ratio = median(theirs).Seconds() / median(ours).Seconds()
		t.Logf("%d WebServices, medians of %d runs: controller %v, bare loop %v; %.2f of its rate",
			objects, len(ours), median(ours).Round(time.Millisecond), median(theirs).Round(time.Millisecond), ratio)
		if ratio >= leastOf1 {
			return
		}
	}
	t.Errorf("the controller reaches %.2f of the bare loop's rate, want at least %.2f", ratio, leastOf1)
}

// onceArgs makes a source of its own for each run.
func onceArgs(t *testing.T, cluster *labtest.Cluster) []string {
	t.Helper()
	namespace := cluster.Namespace(t)
	source := t.TempDir()
	for i := range objects {
		name := fmt.Sprintf("web-%04d", i+1)
		text := fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: %s\n  namespace: %s\n"+
			"spec:\n  image: nginx:1.27\n  replicas: 3\n  tier: dev\n", name, namespace)
		if err := os.WriteFile(filepath.Join(source, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"once", "--kubeconfig", cluster.Kubeconfig, "--source", source, "--out", t.TempDir(),
		"--source-name", namespace, "--namespaces-only", namespace, "--log-level", "warn",
	}
}

func timed(t *testing.T, name string, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	took := time.Since(began)
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
	return took
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// buildBareLoop builds it as the controller is built: without the race detector.
func buildBareLoop(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bareloop")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "./bareloop")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the bare loop: %v\n%s", err, out)
	}
	return path
}

func controllerBinary(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("finding the repository: %v", err)
	}
	path := filepath.Join(string(out[:len(out)-1]), "bin", "webservice-controller")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("run make build first: %v", err)
	}
	return path
}
