package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/manifests"
)

// account is the name of the ServiceAccount that manifests.RBAC makes, and of
// its namespace, where the leases are kept as well.
const account = "webservice-controller"

// lab is one test's own corner of a cluster: a namespace, a directory of files,
// an out directory, a source name, and the shipped account to run as.
type lab struct {
	testing.TB
	cluster *labtest.Cluster
	objects dynamic.Interface
	core    kubernetes.Interface

	kubeconfig string
	namespace  string
	name       string // of the source
	home       string // the working directory, and $HOME
	source     string
	out        string
	http       string // the flag, "" for none
	environ    []string
	user       *syscall.Credential // who commands run as; nil: whoever runs the tests
}

// newLab makes a corner of the shared server.
func newLab(t testing.TB) *lab {
	t.Helper()
	return newLabOn(t, shared)
}

// newLabOn makes a corner of that server, with the rights that are shipped.
func newLabOn(t testing.TB, cluster *labtest.Cluster) *lab {
	t.Helper()
	cluster.Apply(t, manifests.RBAC())
	home := t.TempDir()
	l := &lab{
		TB: t, cluster: cluster, core: cluster.Client(t),
		kubeconfig: cluster.ServiceAccount(t, account, account), namespace: cluster.Namespace(t),
		home: home, source: filepath.Join(home, "files"), out: filepath.Join(home, "out"), http: "--http-addr=",
	}
	l.name = "source-" + l.namespace
	l.must(os.Mkdir(l.source, 0o755))
	var err error
	l.objects, err = dynamic.NewForConfig(cluster.Config(t))
	l.must(err)
	return l
}

// beside is another controller's corner for the same source: its own files and
// its own out directory.
func (l *lab) beside() *lab {
	l.Helper()
	other := *l
	other.home = l.TempDir()
	other.source, other.out = filepath.Join(other.home, "files"), filepath.Join(other.home, "out")
	l.must(os.Mkdir(other.source, 0o755))
	return &other
}

// flags are those of every command. What a test adds is stronger.
func (l *lab) flags() []string {
	flags := []string{
		"--kubeconfig=" + l.kubeconfig, "--source=" + l.source, "--source-name=" + l.name, "--source-namespace=" + l.namespace,
		"--out=" + l.out, "--lease-namespace=" + account, "--reconcile-unlabelled=false",
	}
	if l.http != "" {
		flags = append(flags, l.http)
	}
	return flags
}

// service is a file's text. More lines go below metadata.
func service(name, image string, metadata ...string) string {
	var more strings.Builder
	for _, line := range metadata {
		more.WriteString("  " + line + "\n")
	}
	return fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: %s\n%sspec:\n  image: %s\n  replicas: 2\n",
		name, more.String(), image)
}

// write makes or replaces files: their paths in the source, and their texts.
func (l *lab) write(files map[string]string) {
	l.Helper()
	for path, text := range files {
		path = filepath.Join(l.source, path)
		l.must(os.MkdirAll(filepath.Dir(path), 0o755))
		// At once: a busy machine may rest longer than source.quiet between emptying a
		// file and filling it.
		fresh := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
		l.must(os.WriteFile(fresh, []byte(text), 0o644))
		l.must(os.Rename(fresh, path))
	}
}

// writeServices makes one file for each name, all with that image.
func (l *lab) writeServices(image string, names ...string) {
	l.Helper()
	files := map[string]string{}
	for _, name := range names {
		files[name+".yaml"] = service(name, image)
	}
	l.write(files)
}

// afterwards runs f when the test ends, with a context that lasts until then.
func (l *lab) afterwards(f func(context.Context) error) {
	l.Helper()
	ctx := context.WithoutCancel(l.Context())
	l.Cleanup(func() {
		if err := f(ctx); err != nil && !apierrors.IsNotFound(err) {
			l.Error(err)
		}
	})
}

// dropNamespace deletes a namespace when the test ends.
func (l *lab) dropNamespace(name string) {
	l.Helper()
	l.afterwards(func(ctx context.Context) error {
		return l.core.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	})
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// equal compares what stood in the cluster before with what stands there now.
func (l *lab) equal(before, after map[string]string) {
	l.Helper()
	if maps.Equal(before, after) {
		return
	}
	for name, state := range before {
		if after[name] != state {
			l.Errorf("%s was written\nbefore %s\nafter  %s", name, state, after[name])
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			l.Errorf("%s is new", name)
		}
	}
}
