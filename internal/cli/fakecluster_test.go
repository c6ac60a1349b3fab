package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeCluster answers what commands ask that only read. It is for what the command
// makes of answers; that the answers are an API server's, tests against one show.
type fakeCluster struct {
	*testing.T
	server *httptest.Server
	// objects are WebServices as JSON, namespaces the names of namespaces.
	objects    []map[string]any
	namespaces []string
	// fail is the status that everything is answered with; 0 for none.
	fail int

	mu    sync.Mutex
	asked []string
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{T: t}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

// add puts a WebService there. change may be nil.
func (c *fakeCluster) add(namespace, name string, change func(meta, spec map[string]any)) {
	meta := map[string]any{"namespace": namespace, "name": name, "uid": "1", "resourceVersion": "7"}
	spec := map[string]any{"image": "nginx:1.27", "replicas": 1, "tier": "dev"}
	if change != nil {
		change(meta, spec)
	}
	c.objects = append(c.objects, map[string]any{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "metadata": meta, "spec": spec})
}

// kubeconfig is the path of one that leads here, with that namespace in its context.
func (c *fakeCluster) kubeconfig(namespace string) string {
	c.Helper()
	path := filepath.Join(c.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %q}}]
users: [{name: me, user: {}}]
contexts:
- {name: lab, context: {cluster: lab, user: me, namespace: %q}}
- {name: other, context: {cluster: lab, user: me}}
current-context: lab
`, c.server.URL, namespace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.Method+" "+r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if c.fail != 0 {
		w.WriteHeader(c.fail)
		c.answer(w, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": c.fail, "message": "the fake says no"})
		return
	}
	const all, below = "/apis/apps.labhub.io/v1/webservices", "/apis/apps.labhub.io/v1/namespaces/"
	switch rest, scoped := strings.CutPrefix(r.URL.Path, below); {
	case r.URL.Path == "/version":
		c.answer(w, map[string]any{"gitVersion": "v1.37.9"})
	case r.URL.Path == "/api/v1/namespaces":
		c.answer(w, c.namespaceList())
	case r.URL.Path == all:
		c.answer(w, c.list(""))
	case scoped:
		namespace, _, _ := strings.Cut(rest, "/")
		c.answer(w, c.list(namespace))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (c *fakeCluster) answer(w http.ResponseWriter, body any) {
	if err := json.NewEncoder(w).Encode(body); err != nil {
		c.Error(err)
	}
}

func (c *fakeCluster) list(namespace string) any {
	items := []any{}
	for _, o := range c.objects {
		if meta, _ := o["metadata"].(map[string]any); namespace == "" || meta["namespace"] == namespace {
			items = append(items, o)
		}
	}
	return map[string]any{"apiVersion": "apps.labhub.io/v1", "kind": "WebServiceList", "metadata": map[string]any{"resourceVersion": "9"}, "items": items}
}

func (c *fakeCluster) namespaceList() any {
	items := []any{}
	for _, name := range c.namespaces {
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}})
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": items}
}

// requests are those so far, sorted.
func (c *fakeCluster) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.asked))
}
