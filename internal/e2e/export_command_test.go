package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
)

// export runs `export` of the lab's namespace into a directory.
func (l *lab) export(dir string, args ...string) result {
	l.Helper()
	return l.exec(append([]string{"export", "--kubeconfig=" + l.kubeconfig, "--to=" + dir, "-n", l.namespace}, args...)...)
}

// wanted is what a user wants of each WebService of the lab's namespace, as the
// server has it: everything that an export is to bring back.
func (l *lab) wanted() map[string]any {
	l.Helper()
	list, err := l.objects.Resource(webservices()).Namespace(l.namespace).List(l.Context(), metav1.ListOptions{})
	l.must(err)
	all := map[string]any{}
	for i := range list.Items {
		u := &list.Items[i]
		labels, annotations := u.GetLabels(), u.GetAnnotations()
		delete(labels, v1.SourceLabel)
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		all[u.GetName()] = []any{u.Object["spec"], fmt.Sprint(labels), fmt.Sprintf("%q", annotations), slices.Contains(u.GetFinalizers(), v1.CleanupFinalizer)}
	}
	return all
}

// wipe removes every WebService of the lab's namespace, also those that would wait
// for a controller.
func (l *lab) wipe() {
	l.Helper()
	client := l.objects.Resource(webservices()).Namespace(l.namespace)
	l.must(client.DeleteCollection(l.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	labtest.Eventually(l, 10*time.Second, func() error {
		list, err := client.List(l.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for i := range list.Items {
			if err := l.patch(l.Context(), webservices(), list.Items[i].GetName(), `{"metadata": {"finalizers": null}}`); err != nil {
				return err
			}
		}
		return fmt.Errorf("%d are still there", len(list.Items))
	})
}

// texts are the files below a directory.
func (l *lab) texts(dir string) map[string]string {
	l.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	l.must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		l.must(err)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
	}
	return files
}

// A lab's state becomes a directory, and the directory the same state again.
func TestExportedFilesBringEverythingBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{
		"checkout.yaml": service("checkout", "nginx:1.27", "finalizers: [webservice.labhub.io/cleanup]", "labels: {team: \"007\", empty: \"\"}",
			"annotations: {webservice.labhub.io/depends-on: billing.v2, webservice.labhub.io/prune: disabled, example.com/note: \"yEs\\n  two\\x1b[2J\\u0085\\u202e lines\\n\"}"),
		"billing.yaml":  "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: billing.v2}\nspec: {image: \"1.10\", replicas: 0, tier: \"\"}\n",
		"defaults.yaml": "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: defaults}\nspec: {image: a, replicas: 1, tier: dev}\n",
	})
	l.onceOK()
	byHand := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: byhand, namespace: " + l.namespace +
		", labels: {app: byhand}, annotations: {a/b: \"|\\n- {}\"}}\nspec: {image: httpd}\n"
	if stdout, stderr, code := l.cluster.KubectlExit(t, byHand, "apply", "-f", "-"); code != 0 {
		t.Fatal(stdout, stderr)
	}
	before := l.wanted()

	state := filepath.Join(l.home, "state")
	r := l.export(state)
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "exported: 4 WebServices; 4 created, 0 replaced, 0 unchanged\n") {
		t.Fatalf("export: %+v", r)
	}
	files := l.texts(state)
	want := []string{"billing.v2.yaml", "byhand.yaml", "checkout.yaml", "defaults.yaml"}
	for i := range want {
		want[i] = l.namespace + "/" + want[i]
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if text := files[l.namespace+"/byhand.yaml"]; strings.Contains(text, "last-applied") || strings.Contains(text, "replicas") {
		t.Errorf("byhand.yaml:\n%s", text)
	}
	if r := l.exec("validate", state); r.code != 0 {
		t.Errorf("validate: %+v", r)
	}

	l.wipe()
	l.source = state
	l.onceOK()
	if after := l.wanted(); !reflect.DeepEqual(before, after) {
		t.Errorf("before %q\nafter  %q", before, after)
	}
	again := filepath.Join(l.home, "again")
	if r := l.export(again); r.code != 0 {
		t.Errorf("export: %+v", r)
	}
	l.equal(files, l.texts(again))
	if r := l.export(state); r.code != 0 || r.stdout != "exported: 4 WebServices; 0 created, 0 replaced, 4 unchanged\n" {
		t.Errorf("export once more: %+v", r)
	}
}

// What is being deleted isn't the lab's state any more, and a changed object doesn't
// take the place of a file unasked.
func TestExportIsCareful(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.write(map[string]string{"going.yaml": service("going", "a", "finalizers: [webservice.labhub.io/cleanup]")})
	l.onceOK()
	l.must(l.objects.Resource(webservices()).Namespace(l.namespace).Delete(t.Context(), "going", metav1.DeleteOptions{}))
	state := filepath.Join(l.home, "state")
	r := l.export(state)
	if r.code != 0 || r.stderr != "note: "+l.namespace+"/going is left out: it is being deleted\n" {
		t.Errorf("export: %+v", r)
	}
	files := l.texts(state)
	l.edit(webservices(), "checkout", `{"spec": {"replicas": 5}}`)
	l.must(os.Remove(filepath.Join(state, l.namespace, "billing.yaml")))
	l.endsWith(l.export(state), 1, "checkout.yaml is there already", "--force")
	if after := l.texts(state); len(after) != 1 {
		t.Errorf("there are %q", slices.Sorted(maps.Keys(after)))
	}
	if r := l.export(state, "--force"); r.code != 0 || !strings.Contains(r.stdout, "1 created, 1 replaced, 0 unchanged") {
		t.Errorf("export --force: %+v", r)
	}
	after := l.texts(state)
	changed := l.namespace + "/checkout.yaml"
	if !strings.Contains(after[changed], "replicas: 5") {
		t.Errorf("checkout.yaml:\n%s", after[changed])
	}
	delete(after, changed)
	delete(files, changed)
	l.equal(files, after)
	l.edit(webservices(), "going", `{"metadata": {"finalizers": null}}`)
}

// An account that may list WebServices may export them, all namespaces too where it
// may list those.
func TestExportNeedsNoMoreThanToList(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.onceOK()
	all := l.exec("export", "--kubeconfig="+l.kubeconfig, "--to=-", "-A")
	if (all.code != 0 && all.code != 3) || !strings.Contains(all.stdout, "  name: checkout\n  namespace: "+l.namespace+"\nspec:\n  image: nginx:1.27\n  replicas: 2\n") {
		t.Errorf("export -A: %+v", all)
	}
	l.kubeconfig = l.cluster.ServiceAccount(t, l.namespace, "reader")
	l.endsWith(l.export("-"), 1, "not allowed: ", "cannot list resource", "webservices")
	l.cluster.Apply(t, fmt.Appendf(nil, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: %[1]q}
rules: [{apiGroups: [apps.labhub.io], resources: [webservices], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: %[1]q}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: %[1]q}]
`, l.namespace))
	labtest.Eventually(t, 5*time.Second, func() error {
		if r := l.export("-"); r.code != 0 || !strings.Contains(r.stdout, "name: checkout") {
			return fmt.Errorf("export: %+v", r)
		}
		return nil
	})
	l.endsWith(l.exec("export", "--kubeconfig="+l.kubeconfig, "--to=-", "-A"), 1, "cannot list resource")
}

// Without -n, the namespace is the one that kubectl would take.
func TestExportWithoutANamespace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.onceOK()
	text, err := os.ReadFile(l.kubeconfig)
	l.must(err)
	// The context of the account names no namespace yet.
	mine := l.file("mine.kubeconfig", strings.Replace(string(text), "- context:\n", "- context:\n    namespace: "+l.namespace+"\n", 1))
	r := l.exec("export", "--kubeconfig="+mine, "--to=-")
	if r.code != 0 || strings.Count(r.stdout, "kind: WebService") != 1 || !strings.Contains(r.stdout, "namespace: "+l.namespace) {
		t.Errorf("export: %+v", r)
	}
}

// A server that is away is waited for, and not for ever.
func TestExportGivesUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.kubeconfig = l.unreachable()
	began := time.Now()
	l.endsWith(l.export("-"), 1, "the API server can't be reached", "connection refused")
	if took := time.Since(began); took < 9*time.Second || took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Ctrl-C ends an export that waits for an answer: one line, and no file.
func TestInterruptedExport(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	var once sync.Once
	asked := make(chan struct{})
	proxy.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		once.Do(func() { close(asked) })
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), onceLimit)
	defer cancel()
	state := filepath.Join(l.home, "state")
	cmd := l.command(ctx, "export", "--kubeconfig="+proxy.Kubeconfig(t, l.kubeconfig), "--to="+state, "-n", l.namespace)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	l.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-asked:
	case err := <-ended:
		t.Fatalf("it ended: %v: %s", err, &stderr)
	}
	l.must(cmd.Process.Signal(syscall.SIGINT))
	if err := <-ended; !isExit(err) {
		t.Error(err)
	}
	l.endsWith(result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, 1, "interrupted: nothing was written")
	if _, err := os.Stat(state); err == nil {
		t.Error("the directory was made")
	}
}

// The program says what it was built from, and what it talks to.
func TestVersionOfTheCluster(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := l.exec("version", "--kubeconfig="+l.kubeconfig)
	for _, says := range []string{"webservice-controller ", "\ncommit:     ", "\nkubernetes: v1.", "\ncluster:    v1."} {
		if r.code != 0 || !strings.Contains(r.stdout, says) || r.stderr != "" {
			t.Errorf("no %q: %+v", says, r)
		}
	}
}

// Tab offers what is there, with the rights that are shipped: those to list.
func TestLiveNamesAreCompleted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.onceOK()
	r := l.exec("__complete", "verify", "--kubeconfig="+l.kubeconfig, "-n", l.namespace, "")
	if !strings.HasPrefix(r.stdout, "billing\ncheckout\n:4\n") {
		t.Errorf("names: %+v", r)
	}
	r = l.exec("__complete", "export", "--kubeconfig="+l.kubeconfig, "-n", l.namespace[:len(l.namespace)-1])
	if !strings.HasPrefix(r.stdout, l.namespace+"\n") {
		t.Errorf("namespaces: %+v", r)
	}
}

// In a shell, the script that completion prints completes.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.onceOK()
	script := l.file("completes", fmt.Sprintf(`PATH=%[1]q:$PATH
source <(webservice-controller completion bash)
compopt() { :; }
__ltrim_colon_completions() { :; }
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }
completes() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMPREPLY=()
  __start_webservice-controller; echo "${COMPREPLY[*]}"
}
completes webservice-controller exp
completes webservice-controller verify -n %[2]q --kubeconfig %[3]q che
`, filepath.Dir(l.binary()), l.namespace, l.kubeconfig))
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.home}
	out, err := cmd.CombinedOutput()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 2 || words[0] != "export" || words[1] != "checkout" {
		t.Errorf("%v: %s", err, out)
	}
}
