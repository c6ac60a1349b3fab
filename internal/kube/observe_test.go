package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRequestOf: what a request is about, by the rules of the API server.
func TestRequestOf(t *testing.T) {
	t.Parallel()
	const apps = "/apis/apps.labhub.io/v1"
	for _, c := range []struct{ method, path, want string }{
		{"GET", apps + "/webservices", "webservices list"},
		{"GET", apps + "/webservices?watch=true&resourceVersion=1", "webservices watch"},
		{"GET", apps + "/namespaces/lab/webservices?watch=1", "webservices watch"},
		{"GET", apps + "/namespaces/lab/webservices?watch=false", "webservices list"},
		{"GET", apps + "/namespaces/lab/webservices/checkout", "webservices get"},
		{"PATCH", apps + "/namespaces/lab/webservices/checkout", "webservices patch"},
		{"PATCH", apps + "/namespaces/lab/webservices/checkout/status", "webservices patch"},
		{"DELETE", apps + "/namespaces/lab/webservices/checkout", "webservices delete"},
		{"POST", "/api/v1/namespaces/lab/configmaps", "configmaps create"},
		{"GET", "/api/v1/namespaces/lab/configmaps/checkout-desired", "configmaps get"},
		{"GET", "/api/v1/configmaps?labelSelector=a", "configmaps list"},
		{"POST", "/api/v1/namespaces", "namespaces create"},
		{"GET", "/api/v1/namespaces", "namespaces list"},
		{"GET", "/api/v1/namespaces/lab", "namespaces get"},
		{"GET", "/api/v1/namespaces?fieldSelector=metadata.name%3Dlab&watch=true", "namespaces watch"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/lab/leases/webservice-source-a", "leases update"},
		{"POST", "/apis/events.k8s.io/v1/namespaces/lab/events", "events create"},
		{"PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webservices.apps.labhub.io", "customresourcedefinitions patch"},
		// Names are no words of the API, whatever they are.
		{"GET", "/api/v1/namespaces/configmaps/configmaps/namespaces", "configmaps get"},
		{"GET", "/api/v1/namespaces/lab/secrets/leases", "other get"},
		{"GET", "/version", "other get"},
		{"GET", "/version?watch=true", "other get"},
		{"GET", "/", "other get"},
		{"GET", "/apis", "other get"},
		{"GET", "/apis/apps.labhub.io/v1", "other get"},
	} {
		for _, prefix := range []string{"", "/k8s/clusters/c-1"} {
			req := httptest.NewRequestWithContext(t.Context(), c.method, "https://server"+prefix+c.path, nil)
			resource, verb := requestOf(req, prefix)
			if got := resource + " " + verb; got != c.want {
				t.Errorf("%s %s%s: %s, want %s", c.method, prefix, c.path, got, c.want)
			}
			if !slices.Contains(RequestResources(), resource) || !slices.Contains(RequestVerbs(), verb) {
				t.Errorf("%s or %s isn't on the list", resource, verb)
			}
		}
	}
}

func TestPathPrefix(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"https://127.0.0.1:6443": "", "https://host/": "", "https://host/k8s/clusters/c-1": "/k8s/clusters/c-1",
		"https://host/k8s/": "/k8s", "127.0.0.1:8080": "", "localhost": "",
	} {
		if got := pathPrefix(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

type requested []string

func (o *requested) Requested(resource, verb string, code int) {
	*o = append(*o, fmt.Sprint(resource, " ", verb, " ", code))
}

// TestObserving: each answer is told with its code, and a request without one with 0.
func TestObserving(t *testing.T) {
	t.Parallel()
	var o requested
	cfg := &rest.Config{Host: "https://server/prefix"}
	watched := observing(cfg, &o)
	if cfg.WrapTransport != nil {
		t.Error("the config that was given has changed")
	}
	if observing(cfg, nil) != cfg {
		t.Error("a copy is made for nobody")
	}
	fails := errors.New("no route")
	for _, answer := range []struct {
		code int
		err  error
	}{{200, nil}, {429, nil}, {0, fails}} {
		next := roundTripper(func(*http.Request) (*http.Response, error) {
			if answer.err != nil {
				return nil, answer.err
			}
			return &http.Response{StatusCode: answer.code, Body: http.NoBody}, nil
		})
		req := httptest.NewRequestWithContext(t.Context(), "GET", "https://server/prefix/api/v1/configmaps", nil)
		got, err := watched.WrapTransport(next).RoundTrip(req)
		if !errors.Is(err, answer.err) || err == nil && got.StatusCode != answer.code {
			t.Errorf("the answer became %v, %v", got, err)
		}
		if err == nil {
			got.Body.Close()
		}
	}
	if want := (requested{"configmaps list 200", "configmaps list 429", "configmaps list 0"}); !slices.Equal(o, want) {
		t.Errorf("told %q, want %q", o, want)
	}
}
