package walk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
)

// recorded makes a fault of one that tells history of every write: first that the
// controller sent it, then what the server answered.
func (h *history) recorded(spoil labtest.Fault) labtest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !labtest.IsWrite(r) {
			spoil(w, r, next)
			return
		}
		sent := newRequest(r)
		h.mu.Lock()
		h.requests = append(h.requests, sent)
		h.mu.Unlock()
		spoil(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := &answerCode{ResponseWriter: w}
			next.ServeHTTP(answer, r)
			h.mu.Lock()
			sent.code = answer.code
			h.mu.Unlock()
		}))
	}
}

type answerCode struct {
	http.ResponseWriter
	code int
}

func (a *answerCode) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// line is the connection between the controller and the server, which can be cut.
// The proxy's own way would give up its port for a moment, and in a long walk
// somebody takes it.
type line struct {
	mu    sync.Mutex
	open  map[*http.Request]context.CancelFunc
	dead  bool
	fault labtest.Fault
}

// handle is the line's fault: whatever is set, on a request that can be cut.
func (l *line) handle(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	l.mu.Lock()
	dead, fault := l.dead, l.fault
	l.open[r] = cancel
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, r)
	}()
	if dead {
		panic(http.ErrAbortHandler)
	}
	fault(w, r, next)
}

// cut breaks all requests that are under way, watches included.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.open {
		cancel()
	}
}

// set puts a fault on the line, or none; a dead one takes no requests.
func (l *line) set(fault labtest.Fault, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.dead = fault, dead
}

// passOn is no fault.
func passOn(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// newRequest reads what a write is about, and leaves it to be read once more.
func newRequest(r *http.Request) *request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the controller has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sent := &request{at: time.Now(), method: r.Method}
	sent.key, sent.resource, sent.subresource = target(r.URL.Path)
	switch r.Method {
	case http.MethodDelete:
		var options metav1.DeleteOptions
		decodeBody(body, &options)
		if p := options.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
			sent.preconditionUID, sent.preconditionRV = *p.UID, *p.ResourceVersion
		}
	case http.MethodPost:
		sent.key.Name = nameIn(body)
	}
	return sent
}

// target reads /api/v1/… and /apis/GROUP/VERSION/…, then namespaces/NAMESPACE where
// there is one, then RESOURCE/NAME/SUBRESOURCE.
func target(path string) (key plan.Key, resource, subresource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	parts = append(parts[min(skip, len(parts)):], "", "", "", "", "")
	if parts[0] == "namespaces" && parts[2] != "" {
		key.Namespace, parts = parts[1], parts[2:]
	}
	key.Name = parts[1]
	return key, parts[0], parts[2]
}

// decodeBody reads JSON or protobuf; what can't be read stays as it was.
func decodeBody(body []byte, into runtime.Object) {
	if json.Unmarshal(body, into) != nil {
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(body, nil, into)
	}
}

func nameIn(body []byte) string {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		var partial metav1.PartialObjectMetadata
		_ = json.Unmarshal(body, &partial)
		return partial.Name
	}
	named, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return named.GetName()
}

// tally counts writes by what they are about.
type tally map[string]int

func (t tally) add(verb, resource, subresource, namespace string) {
	t[fmt.Sprintf("%s %s/%s in %q", verb, resource, subresource, namespace)]++
}

// audited counts the writes that controllers did by the server's own record.
func audited(t testing.TB, cluster *labtest.Cluster, since labtest.Mark) tally {
	t.Helper()
	done := tally{}
	for _, r := range cluster.Audit().Requests(t, "webservice-controller/", since) {
		if r.IsWrite() && r.Code < 300 {
			done.add(r.Verb, r.Resource, r.Subresource, r.Namespace)
		}
	}
	return done
}

// count adds all requests that were sent.
func (t tally) count(requests []*request) {
	verbs := map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
	for _, r := range requests {
		t.add(verbs[r.method], r.resource, r.subresource, r.key.Namespace)
	}
}

// covers names what the server did without our having seen it sent.
func (t tally) covers(done tally) error {
	for what, n := range maps.All(done) {
		if t[what] < n {
			return fmt.Errorf("the server did %d times %s, and %d were seen", n, what, t[what])
		}
	}
	return nil
}
