package labtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

const (
	modulePath  = "labhub.io/webservice-controller"
	auditFile   = "audit.log"
	clusterData = "cluster"
)

// Cluster is an API server and the directory that it keeps its data in. Its methods take the test that uses it, and
// end that test when they fail.
type Cluster struct {
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string

	binary string
	dir    string
	server *process // nil while stopped
}

// Main runs the tests of a package with one server for all of them, and returns the exit code.
func Main(ctx context.Context, m *testing.M, use **Cluster) int {
	c, cleanup, err := newCluster()
	if err == nil {
		defer cleanup()
		err = c.start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "labtest:", err)
		return 1
	}
	*use = c
	code := m.Run()
	if err := c.end((*process).terminate); err != nil {
		fmt.Fprintln(os.Stderr, "labtest:", err)
		return max(code, 1)
	}
	return code
}

// Start gives the test a server of its own, stopped at the test's end.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, cleanup, err := newCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	t.Cleanup(func() {
		if err := c.end((*process).terminate); err != nil {
			t.Error(err)
		}
	})
	c.Restart(t)
	return c
}

// Stop ends the server as a user would, and waits for its end. A server that is stopped already is left alone.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	if err := c.end((*process).terminate); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server as a crash would: with no chance to tidy up.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	if err := c.end((*process).kill); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server on the same data, after a Stop where it runs. It keeps its port, thus its kubeconfigs.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.Stop(t)
	// The server outlives this test's context: the cleanups of the test still need it.
	if err := c.start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// Dir is the directory that the server keeps its data in.
func (c *Cluster) Dir() string { return filepath.Join(c.dir, clusterData) }

func newCluster() (*Cluster, func(), error) {
	binary, err := findBinary()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "labtest-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for the server: %w", err)
	}
	c := &Cluster{binary: binary, dir: dir}
	c.Kubeconfig = filepath.Join(c.Dir(), "kubeconfig")
	return c, func() { _ = os.RemoveAll(dir) }, nil
}

func (c *Cluster) start(ctx context.Context) error {
	p, err := startProcess(ctx, c.binary, "up", "--dir", c.Dir(), "--audit", filepath.Join(c.dir, auditFile), "--unsafe-no-fsync")
	if err != nil {
		return err
	}
	c.server = p
	return nil
}

func (c *Cluster) end(how func(*process) error) error {
	p := c.server
	if p == nil {
		return nil
	}
	c.server = nil
	return how(p)
}

// findBinary looks in the module's root, wherever below it the tests run.
func findBinary() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", "labcluster")
	if _, err := os.Stat(binary); err != nil {
		return "", errors.New("bin/labcluster is missing: run `make bin/labcluster` first")
	}
	return binary, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	module := regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(modulePath) + `$`)
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && module.Match(data) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module's root: no go.mod of " + modulePath + " above the tests")
		}
		dir = parent
	}
}
