package kube

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// TestOwnPace: a server that says to come again later is asked once, and what it
// said is what the failure says.
func TestOwnPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		code        int
		after, kind string
		body, says  string
		phrase      string
		retry       time.Duration
		tooMany     bool
	}{
		{"too many, in plain text", 429, "7", "text/plain; charset=utf-8", "slow down\n", "too many requests", "the API server is overloaded", 7 * time.Second, true},
		{"too many, as a status", 429, "1", "application/json", `{"kind":"Status","apiVersion":"v1","message":"a storm"}`, "too many requests", "the API server is overloaded", time.Second, true},
		{"failed", 500, "3", "text/plain", "no storage", "no storage", "the API server has failed", 3 * time.Second, false},
		{"away", 503, "2", "application/octet-stream", "\x00\x01", "", "the API server has failed", 2 * time.Second, false},
		{"no time said", 500, "", "text/plain", "no storage", "no storage", "the API server has failed", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", c.kind)
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.code)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			client, err := newClients(&rest.Config{Host: server.URL}, newConnections(&rest.Config{}), writeTimeout)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.core.ConfigMaps("lab").Get(t.Context(), "checkout-desired", metav1.GetOptions{})
			f := failure(err)
			if asked != 1 || client.requests.reads.Load() != 1 {
				t.Errorf("asked %d times, counted %d", asked, client.requests.reads.Load())
			}
			if f.Class != plan.Unavailable || f.Phrase != c.phrase || f.RetryAfter != c.retry {
				t.Errorf("%+v", f)
			}
			if apierrors.IsTooManyRequests(err) != c.tooMany {
				t.Errorf("too many requests: %t", !c.tooMany)
			}
			status, ok := errors.AsType[*apierrors.StatusError](f.Err)
			if !ok || c.says != "" && !strings.Contains(f.Error(), c.says) || strings.Contains(f.Error(), server.URL) {
				t.Errorf("%v of %v", f, status)
			}
		})
	}
}

// TestBrokenConnections: a request whose connection breaks is sent once, and a watch
// that couldn't be begun isn't an empty one.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer server.Close()
	client, err := newClients(&rest.Config{Host: server.URL}, newConnections(&rest.Config{}), writeTimeout)
	if err != nil {
		t.Fatal(err)
	}
	configmaps := client.core.ConfigMaps("lab")
	for name, ask := range map[string]func() error{
		"get": func() error {
			_, err := configmaps.Get(t.Context(), "checkout-desired", metav1.GetOptions{})
			return err
		},
		"list":  func() error { _, err := configmaps.List(t.Context(), metav1.ListOptions{}); return err },
		"watch": func() error { _, err := configmaps.Watch(t.Context(), metav1.ListOptions{}); return err },
	} {
		before := asked.Load()
		err := ask()
		// The transport itself sends a read again whose old connection turns out to be dead.
		if n := asked.Load() - before; n < 1 || n > 2 {
			t.Errorf("%s: asked %d times", name, n)
		}
		if f := failure(err); err == nil || f.Phrase != unreachable || errors.Is(err, ErrNoAnswer) {
			t.Errorf("%s: %v", name, err)
		}
		if got := (&watchError{err}).Error(); !strings.Contains(got, "it breaks the connection off; check that it runs") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNoAnswer: it can be told whether nobody listens or nobody answers.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	silent := listens(t, func(net.Conn) {})
	for address, want := range map[string]string{silent: "no answer", "127.0.0.1:1": "refused"} {
		cfg := &rest.Config{Host: "http://" + address}
		cluster, err := New(rest.CopyConfig(cfg), Options{CRD: manifests.CRD()})
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.State(); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("nobody was asked yet: %v", err)
		}
		reader, err := NewReader(cfg, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = reader.Namespaces(t.Context())
		if got := toldBy(err); got != want {
			t.Errorf("%s: %q, want %q: %v", address, got, want, err)
		}
	}
}
