package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

const (
	collectTimeout = 2 * time.Second
	drainTimeout   = 5 * time.Second
	// stopLimit leaves room for a busy machine; it takes about two seconds.
	stopLimit = 5 * time.Second
)

func TestDataOutlivesTheServer(t *testing.T) {
	c := Start(t)
	namespace := c.Namespace(t)
	before := createConfigMap(t, c, namespace, "kept")
	admin, account := c.Client(t), clientFor(t, c.ServiceAccount(t, namespace, "someone"))

	for _, end := range []struct {
		name string
		how  func(testing.TB)
	}{{"stopped", c.Stop}, {"killed", c.Kill}} {
		end.how(t)
		c.Restart(t)
		// Clients from before the restart still work: port, authority and token key are the same.
		after, err := admin.CoreV1().ConfigMaps(namespace).Get(t.Context(), "kept", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%s: %v", end.name, err)
		}
		if after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
			t.Errorf("%s: uid and version %s %s became %s %s", end.name, before.UID, before.ResourceVersion, after.UID, after.ResourceVersion)
		}
		_, err = account.CoreV1().ConfigMaps(namespace).Get(t.Context(), "kept", metav1.GetOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: the account should be known and have no rights, got %v", end.name, err)
		}
	}
}

func TestStopIsQuickWithOpenWatches(t *testing.T) {
	c := Start(t)
	watch, err := c.Client(t).CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	begin := time.Now()
	c.Stop(t) // fails on any exit code but 0
	if took := time.Since(begin); took > stopLimit {
		t.Errorf("stopping took %s", took)
	}
}

func TestEverythingInDirIsPrivate(t *testing.T) {
	const others = 0o077
	err := filepath.WalkDir(shared.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		// A socket's own mode doesn't count where only its owner gets into the directory.
		if info.Mode().Perm()&others != 0 && info.Mode().Type() != fs.ModeSocket {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRightsComeFromRoles(t *testing.T) {
	namespace := shared.Namespace(t)
	account := clientFor(t, shared.ServiceAccount(t, namespace, "reader"))
	read := func() error {
		_, err := account.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := read(); !apierrors.IsForbidden(err) {
		t.Fatalf("without a role: want forbidden, got %v", err)
	}
	shared.Apply(t, fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: %[1]s}
`, namespace))
	Eventually(t, drainTimeout, read)
}

func TestCollectorDeletesDependents(t *testing.T) {
	namespace := shared.Namespace(t)
	t.Run("of a built-in kind", func(t *testing.T) {
		owner := createConfigMap(t, shared, namespace, "owner")
		createConfigMap(t, shared, namespace, "dependent", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID})
		remove(t, shared, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, namespace, owner.Name)
		expectGone(t, namespace, "dependent", collectTimeout)
	})
	t.Run("of a kind that came later", func(t *testing.T) {
		shared.Apply(t, widgetCRD)
		owner := createWidget(t, namespace, "owner")
		createConfigMap(t, shared, namespace, "widget-dependent", metav1.OwnerReference{APIVersion: "lab.example/v1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID()})
		remove(t, shared, widgets, namespace, owner.GetName())
		expectGone(t, namespace, "widget-dependent", collectTimeout)
	})
	t.Run("whose owner never existed", func(t *testing.T) {
		createConfigMap(t, shared, namespace, "orphan", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "never", UID: "00000000-0000-0000-0000-000000000000"})
		expectGone(t, namespace, "orphan", collectTimeout)
	})
}

func TestNamespaceGoes(t *testing.T) {
	client := shared.Client(t)
	for _, content := range []int{0, 20} {
		t.Run(fmt.Sprintf("with %d objects", content), func(t *testing.T) {
			namespace := shared.Namespace(t)
			for i := range content {
				createConfigMap(t, shared, namespace, fmt.Sprintf("c%d", i))
			}
			if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			Eventually(t, drainTimeout, func() error {
				_, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
				return wantNotFound(err)
			})
		})
	}
}

// An account that may not update the owner's finalizers must not be able to block the owner's deletion.
func TestBlockingAnOwnerNeedsRights(t *testing.T) {
	namespace := shared.Namespace(t)
	account := clientFor(t, shared.ServiceAccount(t, namespace, "writer"))
	shared.Kubectl(t, "create", "role", "writer", "-n", namespace, "--verb=create,delete", "--resource=configmaps")
	shared.Kubectl(t, "create", "rolebinding", "writer", "-n", namespace, "--role=writer", "--serviceaccount="+namespace+":writer")
	shared.Apply(t, widgetCRD)
	owner := createWidget(t, namespace, "owner")
	block := true
	reference := metav1.OwnerReference{APIVersion: "lab.example/v1", Kind: "Widget", Name: "owner", UID: owner.GetUID(), BlockOwnerDeletion: &block}
	create := func() error {
		_, err := account.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap("blocker", reference), metav1.CreateOptions{})
		return err
	}
	Eventually(t, drainTimeout, func() error { // until the role is known, the refusal is RBAC's
		if err := create(); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "blockOwnerDeletion") {
			return fmt.Errorf("want a refusal of blockOwnerDeletion, got %w", err)
		}
		return nil
	})
	shared.Kubectl(t, "create", "role", "finalizers", "-n", namespace, "--verb=update", "--resource=widgets.lab.example/finalizers")
	shared.Kubectl(t, "create", "rolebinding", "finalizers", "-n", namespace, "--role=finalizers", "--serviceaccount="+namespace+":writer")
	Eventually(t, drainTimeout, create)
}

func TestKubectlIsKubectl(t *testing.T) {
	if out := shared.Kubectl(t, "version"); strings.Count(out, "v1.37.") != 2 {
		t.Errorf("client and server should tell their version; is -X k8s.io/component-base/version.gitVersion missing from the build's flags? %s", out)
	}
	namespace := shared.Namespace(t)
	manifest := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "piped"}, "data": {"a": "b"}}`
	for _, want := range []struct {
		stdin, args, stdout, stderr string
		code                        int
	}{
		{args: "diff -f -", stdin: manifest, code: 1, stdout: "piped"},
		{args: "apply -f -", stdin: manifest, stdout: "configmap/piped created"},
		{args: "diff -f -", stdin: manifest},
		{args: "get configmap piped -o name", stdout: "configmap/piped"},
		{args: "get configmap missing", code: 1, stderr: "NotFound"},
		{args: "get nonsense", code: 1, stderr: "doesn't have a resource type"},
		{args: "--kubeconfig=/nonexistent get configmap", code: 1, stderr: "/nonexistent"},
	} {
		stdout, stderr, code := shared.KubectlExit(t, want.stdin, append(strings.Fields(want.args), "-n", namespace)...)
		if code != want.code || !strings.Contains(stdout, want.stdout) || !strings.Contains(stderr, want.stderr) {
			t.Errorf("kubectl %s: got %d %q %q, want %d %q %q", want.args, code, stdout, stderr, want.code, want.stdout, want.stderr)
		}
	}
}

func TestLongDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	p, err := startProcess(t.Context(), shared.binary, "up", "--dir", dir, "--unsafe-no-fsync")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.terminate(); err != nil {
		t.Error(err)
	}
}

func TestAnythingWrongIsOneClearLine(t *testing.T) {
	var listen net.ListenConfig
	taken, err := listen.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 64, "Usage"},
		{[]string{"serve"}, 64, "unknown command"},
		{[]string{"up"}, 64, "--dir is required"},
		{[]string{"up", "--dir", "d", "--bogus"}, 64, "bogus"},
		{[]string{"up", "--dir", "d", "more"}, 64, "unexpected argument"},
		{[]string{"up", "--dir", "d", "--port", "65536"}, 64, "--port 65536"},
		{[]string{"up", "--dir", filepath.Join(file, "d")}, 1, "not a directory"},
		{[]string{"up", "--dir", shared.Dir()}, 1, "another labcluster runs in"},
		{[]string{"up", "--dir", t.TempDir(), "--port", port}, 1, "port " + port + " on 127.0.0.1 is taken"},
		{[]string{"up", "--dir", t.TempDir(), "--audit", filepath.Join(file, "audit")}, 1, "--audit must be a file"},
		{[]string{"--help"}, 0, ""},
		{[]string{"version"}, 0, ""},
	} {
		stdout, stderr, code := runBinary(t, want.args...)
		if first, rest, _ := strings.Cut(stderr, "\n"); strings.HasPrefix(first, "starting") {
			stderr = rest
		}
		if code != want.code || !strings.Contains(stderr, want.says) {
			t.Errorf("%q: got %d %q, want %d and %q", want.args, code, stderr, want.code, want.says)
		}
		if lines := strings.Count(stderr, "\n"); want.args != nil && lines > 1 {
			t.Errorf("%q: %d lines: %s", want.args, lines, stderr)
		}
		if (code == 0) != (stdout != "") {
			t.Errorf("%q: only an answer belongs on stdout, got %q", want.args, stdout)
		}
	}
}

func TestSecondSignalKills(t *testing.T) {
	p, err := startProcess(t.Context(), shared.binary, "up", "--dir", t.TempDir(), "--unsafe-no-fsync")
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, stopTimeout, func() error {
		if err := p.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.done:
			return nil
		default:
			return errors.New("still running")
		}
	})
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Errorf("want an end by the second signal, got %s", p.cmd.ProcessState)
	}
}

func runBinary(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shared.binary, args...)
	cmd.Dir = t.TempDir()
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

func clientFor(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(ConfigFrom(t, kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

func createConfigMap(t *testing.T, c *Cluster, namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	t.Helper()
	made, err := c.Client(t).CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap(name, owners...), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func createWidget(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
	}}
	made, err := dynamicClient(t, shared).Resource(widgets).Namespace(namespace).Create(t.Context(), widget, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func remove(t *testing.T, c *Cluster, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := dynamicClient(t, c).Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func dynamicClient(t *testing.T, c *Cluster) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func expectGone(t *testing.T, namespace, name string, timeout time.Duration) {
	t.Helper()
	client := shared.Client(t)
	Eventually(t, timeout, func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return wantNotFound(err)
	})
}

func wantNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("still there (%w)", err)
}

var widgets = schema.GroupVersionResource{Group: "lab.example", Version: "v1", Resource: "widgets"}

var widgetCRD = []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.lab.example}
spec:
  group: lab.example
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
