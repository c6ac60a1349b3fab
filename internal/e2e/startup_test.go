package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// unreachable is a kubeconfig of a server that isn't there.
func (l *lab) unreachable() string {
	l.Helper()
	return l.file("unreachable.kubeconfig", `apiVersion: v1
kind: Config
clusters: [{name: away, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: away, context: {cluster: away, user: nobody}}]
current-context: away
`)
}

// file writes a file beside the source.
func (l *lab) file(name, content string) string {
	l.Helper()
	path := filepath.Join(l.home, name)
	l.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// A start that can't succeed says in one line what is wrong and how to mend it.
func TestAStartThatCantSucceedSaysWhy(t *testing.T) {
	t.Parallel()
	const env = "WEBSERVICE_CONTROLLER_"
	for name, c := range map[string]struct {
		prepare func(l *lab) (args []string)
		code    int
		says    []string
		both    bool // run ends in the same way
	}{
		"no kubeconfig": {func(l *lab) []string { l.kubeconfig = ""; return nil },
			64, []string{"no cluster is configured", "--kubeconfig", "$KUBECONFIG"}, true},
		"kubeconfig missing": {func(l *lab) []string { l.kubeconfig = "nowhere"; return nil },
			64, []string{"kubeconfig", "nowhere"}, true},
		"kubeconfig no YAML": {func(l *lab) []string { l.kubeconfig = l.file("bad.kubeconfig", "{[}"); return nil },
			64, []string{"the kubeconfig can't be used", "bad.kubeconfig"}, true},
		"wrong context": {func(*lab) []string { return []string{"--context=nope"} },
			64, []string{"context", `"nope"`}, true},
		"server away": {func(l *lab) []string { l.kubeconfig = l.unreachable(); return nil },
			5, []string{"the API server can't be reached", "127.0.0.1:1"}, false},
		"no rights": {func(l *lab) []string { l.kubeconfig = l.cluster.ServiceAccount(l, l.namespace, "nobody"); return nil },
			1, []string{"cannot list resource", "configmaps"}, false},
		"no right to the lease": {func(l *lab) []string { return []string{"--lease-namespace=" + l.namespace} },
			1, []string{"cannot get resource", "leases"}, false},
		"rights to look alone": {func(l *lab) []string { l.kubeconfig = l.spectator(true); return nil },
			1, []string{"cannot patch resource", "webservices"}, false},
		"source missing": {func(*lab) []string { return []string{"--source=nowhere"} },
			5, []string{"source nowhere doesn't exist"}, false},
		"source empty": {func(l *lab) []string { l.must(os.Remove(filepath.Join(l.source, "checkout.yaml"))); return nil },
			5, []string{"holds no WebService"}, false},
		"source a dangling link": {func(l *lab) []string {
			l.must(os.Symlink("nowhere", filepath.Join(l.home, "link")))
			return []string{"--source=link"}
		},
			5, []string{"source link is a link to something that doesn't exist"}, false},
		"source a file": {func(l *lab) []string { return []string{"--source=" + filepath.Join(l.source, "checkout.yaml")} },
			64, []string{"checkout.yaml is a file"}, true},
		"out in the source": {func(l *lab) []string { return []string{"--out=" + filepath.Join(l.source, "out")} },
			64, []string{"lies inside source.path", "--out"}, true},
		"out in the source by a link": {func(l *lab) []string {
			l.must(os.Symlink(l.source, filepath.Join(l.home, "link")))
			return []string{"--out=link/new/out"}
		},
			64, []string{"out link/new/out lies inside source.path"}, true},
		"unknown key": {func(l *lab) []string {
			return []string{"--config=" + l.file("wrong.yaml", "# ours\nsource:\n  allowempty: true\n")}
		}, 64, []string{"wrong.yaml:3", "source.allowempty", "source.allowEmpty"}, true},
		"bad value": {func(l *lab) []string { return []string{"--config=" + l.file("wrong.yaml", "prune:\n  after: soon\n")} },
			64, []string{"prune.after", "wrong.yaml:2", "duration"}, true},
		"unknown variable": {func(l *lab) []string { l.environ = []string{env + "COLOUR=red"}; return nil },
			64, []string{env + "COLOUR"}, true},
		"unknown flag": {func(*lab) []string { return []string{"--colour=red"} },
			64, []string{"--colour"}, true},
		"bad flag": {func(*lab) []string { return []string{"--reconcile-workers=many"} },
			64, []string{"reconcile.workers", "--reconcile-workers"}, true},
		"argument": {func(*lab) []string { return []string{"files"} },
			64, []string{"files"}, true},
		"out a file": {func(l *lab) []string { return []string{"--out=" + l.file("taken", "")} },
			1, []string{"taken"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout")
			args := c.prepare(l)
			r := l.once(append([]string{shortly}, args...)...)
			l.endsWith(r, c.code, c.says...)
			t.Log(r.errorLines())
			if c.both {
				l.endsWith(l.exec(append(append([]string{"run"}, l.flags()...), args...)...), c.code, c.says...)
			}
		})
	}
}

// spectator is an account that may look at everything, and also hold leases
// where that is wanted.
func (l *lab) spectator(leases bool) string {
	l.Helper()
	l.onceOK("--source-name=setup", "--source-namespace=default", "--source-allow-empty", "--source="+l.TempDir())
	name := fmt.Sprintf("spectator-%t", leases)
	kubeconfig := l.cluster.ServiceAccount(l, l.namespace, name)
	l.cluster.Apply(l, fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: spectator}
rules:
  - apiGroups: [apps.labhub.io, "", apiextensions.k8s.io]
    resources: [webservices, configmaps, namespaces, customresourcedefinitions]
    verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "%[1]s-in-%[2]s"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: spectator}
subjects: [{kind: ServiceAccount, name: "%[1]s", namespace: "%[2]s"}]
`, name, l.namespace))
	if leases {
		l.cluster.Apply(l, fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "%[1]s-in-%[2]s", namespace: webservice-controller}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: webservice-controller-lease}
subjects: [{kind: ServiceAccount, name: "%[1]s", namespace: "%[2]s"}]
`, name, l.namespace))
	}
	return kubeconfig
}

// A daemon waits for its API server and its rights, and says what it waits for
// to whoever asks whether it is ready.
func TestADaemonThatCantWorkYetIsntReadyAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kubeconfig func(l *lab) string
		args       []string
		says       []string
	}{
		"server away": {(*lab).unreachable, nil, []string{"the API server can't be reached", "check that it runs"}},
		"no rights": {func(l *lab) string { return l.cluster.ServiceAccount(l, l.namespace, "nobody") }, nil,
			[]string{"configmaps is forbidden", "cannot list resource", "grant the rights in manifests/rbac.yaml"}},
		"no right to the lease": {func(l *lab) string { return l.spectator(false) }, nil,
			[]string{"leases", "cannot get resource", "grant the rights in manifests/rbac.yaml"}},
		"no namespace for the lease": {func(l *lab) string { return l.cluster.Kubeconfig }, []string{"--lease-namespace=nowhere"},
			[]string{"the lease can't be made", `"nowhere" not found`, "set lease.namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout")
			l.kubeconfig, l.http = c.kubeconfig(l), "--http-addr=127.0.0.1:0"
			d := l.run(c.args...)
			labtest.Eventually(t, 10*time.Second, func() error {
				code, body := d.get("/readyz")
				if code != http.StatusServiceUnavailable {
					return fmt.Errorf("readyz: %d %s", code, body)
				}
				return says(body, c.says...)
			})
			d.reports(10*time.Second, unconverged, waitsFor(c.says...))
			labtest.Eventually(t, 10*time.Second, func() error { return says(d.warnings(), append(c.says, "not ready")...) })
			if code, body := d.get("/healthz"); code != http.StatusOK {
				t.Errorf("healthz: %d %s", code, body)
			}
		})
	}
}

// warnings are the lines of the log that a user should look at.
func (d *daemon) warnings() string {
	var lines strings.Builder
	for line := range strings.Lines(d.stderr.String()) {
		if strings.Contains(line, " level=WARN ") || strings.Contains(line, " level=ERROR ") {
			lines.WriteString(strings.ReplaceAll(line, `\"`, `"`))
		}
	}
	return lines.String()
}

// says wants every part in the text.
func says(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q isn't in: %s", part, text)
		}
	}
	return nil
}

// waitsFor is true where the report says so.
func waitsFor(parts ...string) fits {
	return func(r *report.Report) error { return says(r.WaitingFor, parts...) }
}

// get asks the daemon over HTTP, at the address that it says it serves. The
// code is 0 while it doesn't.
func (d *daemon) get(path string) (code int, body string) {
	d.Helper()
	match := regexp.MustCompile(`msg="serving http" addr=(\S+)`).FindStringSubmatch(d.stderr.String())
	if match == nil {
		return 0, "no address yet"
	}
	request, err := http.NewRequestWithContext(d.Context(), http.MethodGet, "http://"+match[1]+path, nil)
	d.must(err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	d.must(err)
	return response.StatusCode, string(data)
}

func TestADaemonServesItsReportAndIsReadyOnceItWorks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.http = "--http-addr=127.0.0.1:0"
	d := l.run()
	d.converges()
	if code, body := d.get("/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, body)
	}
	if code, body := d.get("/api/report"); code != http.StatusOK || !strings.Contains(body, `"converged": true`) {
		t.Errorf("report: %d %s", code, body)
	}
}

func TestAPortThatTheUserChoseMustBeFree(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.http = "--http-addr=" + l.take("127.0.0.1:0")
	r := l.exec(append([]string{"run"}, l.flags()...)...)
	l.endsWith(r, 1, "http.addr", "address already in use")
}

func TestTheDefaultPortMayBeTaken(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.take("127.0.0.1:8080")
	l.http = ""
	d := l.run()
	d.converges()
	if log := d.warnings(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "going on without http") {
		t.Errorf("warnings: %s", log)
	}
}

// take makes an address be in use: by us, unless it is anyway.
func (l *lab) take(addr string) string {
	l.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(context.WithoutCancel(l.Context()), "tcp", addr)
	if err != nil {
		l.Log(err)
		return addr
	}
	l.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
