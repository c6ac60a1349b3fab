package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// The work, how often each side does it, and the share of the bare loop's rate
// that the controller must reach. A noisy machine gets more rounds before the
// median of all of them counts.
const (
	objects   = 1000
	rounds    = 5
	tries     = 4
	leastRate = 0.9
)

// TestRateAgainstBareLoop brings 1,000 WebServices from nothing to converged,
// in turn with a loop that holds the same watches and sends the same requests
// with the same concurrency, but checks, compares and reports nothing.
//
// Both send an Event for each object: the loop right after it is done, the
// controller when all are. What is compared is the time until everything is out,
// Events included. How long the controller takes until it says that all is
// converged, before them, is told beside it.
func TestRateAgainstBareLoop(t *testing.T) {
	cluster := labtest.Start(t)
	cluster.Apply(t, manifests.CRD())
	bare := buildBareLoop(t)
	controller := controllerBinary(t)
	var ours, theirs, convergedIn []time.Duration
	runOnce := func() {
		args, out := onceArgs(t, cluster)
		began := time.Now()
		took := timed(t, cluster, controller, args...)
		r := readReport(t, out)
		if r.Requests.Events != objects || r.Summary.Create != objects || r.Finished.Before(began) {
			t.Fatalf("requests %+v, summary %+v, finished %s", r.Requests, r.Summary, r.Finished)
		}
		ours = append(ours, took)
		convergedIn = append(convergedIn, took-time.Since(r.Finished))
	}
	ratio := 0.0
	for range tries {
		for range rounds {
			loop := []string{cluster.Kubeconfig, cluster.Namespace(t), fmt.Sprint(objects)}
			// Who goes first doesn't stay the same, and each begins with a server at rest:
			// what one leaves for the garbage collector isn't the other's work.
			if len(ours)%2 == 0 {
				theirs = append(theirs, timed(t, cluster, bare, loop...))
				runOnce()
			} else {
				runOnce()
				theirs = append(theirs, timed(t, cluster, bare, loop...))
			}
		}
		ratio = median(theirs).Seconds() / median(ours).Seconds()
		t.Logf("%d WebServices with their events, medians of %d runs: controller %v, %v of that until converged, bare loop %v; %.2f of its rate",
			objects, len(ours), median(ours).Round(time.Millisecond), median(convergedIn).Round(time.Millisecond),
			median(theirs).Round(time.Millisecond), ratio)
		if ratio >= leastRate {
			return
		}
	}
	t.Errorf("the controller reaches %.2f of the bare loop's rate, want at least %.2f", ratio, leastRate)
}

// onceArgs makes a source and an out directory of its own for each run.
func onceArgs(t *testing.T, cluster *labtest.Cluster) (args []string, out string) {
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
	out = t.TempDir()
	return []string{
		"once", "--kubeconfig", cluster.Kubeconfig, "--source", source, "--out", out,
		"--source-name", namespace, "--namespaces-only", namespace, "--log-level", "warn",
	}, out
}

func readReport(t *testing.T, out string) *report.Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, report.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func timed(t *testing.T, cluster *labtest.Cluster, name string, args ...string) time.Duration {
	t.Helper()
	awaitRest(t, cluster)
	began := time.Now()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	took := time.Since(began)
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
	return took
}

// awaitRest waits until the server does next to nothing of its own.
func awaitRest(t *testing.T, cluster *labtest.Cluster) {
	t.Helper()
	const look, share = 300 * time.Millisecond, 0.15
	before, at := cluster.CPUTime(t), time.Now()
	labtest.Eventually(t, 30*time.Second, func() error {
		since := time.Since(at)
		if since < look {
			return errors.New("still looking")
		}
		used := cluster.CPUTime(t)
		busy := (used - before).Seconds() / since.Seconds()
		before, at = used, time.Now()
		if busy > share {
			return fmt.Errorf("the server uses %.2f of a CPU", busy)
		}
		return nil
	})
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
