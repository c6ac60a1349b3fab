package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// A server that is restored from a backup has forgotten what was written since. Watches
// that go on from there would never hear of it; yet all is made anew.
func TestAServerThatIsRestoredFromABackupIsBroughtToTheFilesAgain(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond)
	d.passes(1)
	l.cluster.Stop(t)
	d.reports(recovery, unconverged)
	backup := filepath.Join(t.TempDir(), "backup")
	l.copied(l.cluster.Dir(), backup)
	l.cluster.Restart(t)
	d.reports(recovery, converged)
	l.writeServices("nginx:1.29", "checkout", "billing", "search")
	d.converges(item("search", func(report.Item) bool { return true }))

	l.cluster.Stop(t)
	d.reports(recovery, unconverged)
	l.must(os.RemoveAll(l.cluster.Dir()))
	l.copied(backup, l.cluster.Dir())
	l.cluster.Restart(t)
	began := time.Now()
	labtest.Eventually(t, 2*recovery, func() error { return l.allDone("nginx:1.29", "checkout", "billing", "search") })
	t.Logf("as the files say %s after the server was back", time.Since(began).Round(time.Millisecond))
	d.reports(recovery, converged)
}

// A server that comes back with nothing, under the same address, gets all of it.
func TestAServerThatComesBackEmptyIsFilledAgain(t *testing.T) {
	t.Parallel()
	l := newLabOn(t, labtest.Start(t))
	l.kubeconfig = l.cluster.Kubeconfig // the account goes with the rest
	l.writeServices("nginx:1.27", "checkout", "billing")
	d := l.run(everySecond)
	d.passes(1)
	l.cluster.Stop(t)
	d.reports(recovery, unconverged)
	l.must(os.RemoveAll(filepath.Join(l.cluster.Dir(), "etcd")))
	l.cluster.Restart(t)
	l.cluster.Apply(t, manifests.RBAC()) // which has the namespace of the lease
	began := time.Now()
	labtest.Eventually(t, 2*recovery, func() error { return l.allDone("nginx:1.27", "checkout", "billing") })
	t.Logf("filled %s after the server was back", time.Since(began).Round(time.Millisecond))
	d.reports(recovery, converged)
}

func (l *lab) copied(from, to string) {
	l.Helper()
	if out, err := exec.CommandContext(l.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		l.Fatalf("%v: %s", err, out)
	}
}
