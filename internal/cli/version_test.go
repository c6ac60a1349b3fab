package cli

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	kubeconfig := "--kubeconfig=" + c.kubeconfig("")
	head := "webservice-controller v9\ncommit:     c0ffee\ngo:         " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\nkubernetes: "
	e := command(t, "version", kubeconfig)
	if e.code != 0 || !strings.HasPrefix(e.stdout, head) || !strings.HasSuffix(e.stdout, "\ncluster:    v1.37.9\n") || e.stderr != "" {
		t.Errorf("%+v", e)
	}
	e = command(t, "version", kubeconfig, "--client")
	if e.code != 0 || !strings.HasPrefix(e.stdout, head) || strings.Contains(e.stdout, "cluster") {
		t.Errorf("--client: %+v", e)
	}
	if got := c.requests(); len(got) != 1 || got[0] != "GET /version" {
		t.Errorf("asked %q", got)
	}
	if e = command(t, "--version"); e.code != 0 || e.stdout != "webservice-controller v9\n" {
		t.Errorf("--version: %+v", e)
	}
}

func TestVersionAsJSON(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	var got versions
	e := command(t, "version", "-o", "json", "--kubeconfig="+c.kubeconfig(""))
	if err := json.Unmarshal([]byte(e.stdout), &got); err != nil || e.code != 0 {
		t.Fatal(err, e)
	}
	if got.Version != "v9" || got.Commit != "c0ffee" || got.Server != "v1.37.9" || got.ServerError != "" || got.Go != runtime.Version() {
		t.Errorf("got %+v", got)
	}
}

// TestVersionWithoutACluster: the version is told all the same, and soon.
func TestVersionWithoutACluster(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(c *fakeCluster){
		"away":      func(c *fakeCluster) { c.server.Close() },
		"no answer": func(c *fakeCluster) { c.mu.Lock(); c.Cleanup(c.mu.Unlock) },
		"no rights": func(c *fakeCluster) { c.fail = 403 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFakeCluster(t)
			kubeconfig := "--kubeconfig=" + c.kubeconfig("")
			change(c)
			began := time.Now()
			e := command(t, "version", kubeconfig)
			if e.code != 0 || e.stderr != "" || !strings.Contains(e.stdout, "\ncluster:    unknown, ") || strings.Count(e.stdout, "\n") != 5 {
				t.Errorf("%+v", e)
			}
			if took := time.Since(began); took > 2*versionPatience {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestVersionIsCalledWrongly(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no kubeconfig there": {"--kubeconfig=nowhere"},
		"a wrong context":     {"--kubeconfig=" + newFakeCluster(t).kubeconfig(""), "--context=nope"},
		"an unknown form":     {"-o", "xml"},
		"an argument":         {"now"},
	} {
		if e := command(t, append([]string{"version"}, args...)...); e.code != 64 || e.stdout != "" || strings.Count(e.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestVersionsOf(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		Deps:     []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: "k8s.io/client-go", Version: "v0.37.2"}},
		Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}},
	}
	for name, c := range map[string]struct {
		commit             string
		info               *debug.BuildInfo
		wantCommit, wantKu string
	}{
		"stamped":                  {"def", info, "def", "v1.37.2"},
		"stamped by go":            {"", info, "abc", "v1.37.2"},
		"nothing known":            {"", nil, "unknown", "unknown"},
		"a library of another age": {"", &debug.BuildInfo{Deps: []*debug.Module{{Path: "k8s.io/client-go", Version: "v12.0.0"}}}, "unknown", "v12.0.0"},
	} {
		v := versionsOf(&Process{Commit: c.commit}, c.info)
		if v.Commit != c.wantCommit || v.Kubernetes != c.wantKu {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
