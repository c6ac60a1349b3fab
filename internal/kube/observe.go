package kube

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Observer counts what is sent to the API server. Its method is called from any
// goroutine, and must return at once.
type Observer interface {
	// Requested tells of one request, once its answer has begun or there is none: the
	// resource that it was for, one of RequestResources; its verb, one of RequestVerbs,
	// as the server's audit log has it; and the HTTP status of the answer, 0 where
	// there was none.
	Requested(resource, verb string, code int)
}

// The verbs of requests. What is no request for a resource is a get.
const (
	verbGet    = "get"
	verbList   = "list"
	verbWatch  = "watch"
	verbCreate = "create"
	verbUpdate = "update"
	verbPatch  = "patch"
	verbDelete = "delete"
)

// RequestVerbs are all verbs that an Observer is told of.
func RequestVerbs() []string {
	return []string{verbGet, verbList, verbWatch, verbCreate, verbUpdate, verbPatch, verbDelete}
}

// resourceOther stands for whatever isn't one of the resources that we use.
const resourceOther = "other"

// RequestResources are all resources that an Observer is told of.
func RequestResources() []string {
	return []string{
		v1.Resource, string(corev1.ResourceConfigMaps), watchNamespaces, watchCRD, "leases", "events", resourceOther,
	}
}

// observing makes a copy of cfg whose clients tell o of every request; nil is nobody.
func observing(cfg *rest.Config, o Observer) *rest.Config {
	if o == nil {
		return cfg
	}
	cfg = rest.CopyConfig(cfg)
	prefix := pathPrefix(cfg.Host)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(req)
			code := 0
			if err == nil {
				code = answer.StatusCode
			}
			resource, verb := requestOf(req, prefix)
			o.Requested(resource, verb, code)
			return answer, err
		})
	})
	return cfg
}

// pathPrefix is what goes before every path where the API server is reached by way
// of a proxy.
func pathPrefix(host string) string {
	u, err := url.Parse(host)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

// requestOf says what a request is about, as the API server reads it.
func requestOf(req *http.Request, prefix string) (resource, verb string) {
	resource, named := resourceOf(strings.TrimPrefix(req.URL.Path, prefix))
	switch req.Method {
	case http.MethodPost:
		verb = verbCreate
	case http.MethodPut:
		verb = verbUpdate
	case http.MethodPatch:
		verb = verbPatch
	case http.MethodDelete:
		verb = verbDelete
	default:
		verb = verbGet
		if watch := req.URL.Query().Get("watch"); resource != "" && (watch == "true" || watch == "1") {
			verb = verbWatch
		} else if resource != "" && !named {
			verb = verbList
		}
	}
	if !slices.Contains(RequestResources(), resource) {
		resource = resourceOther
	}
	return resource, verb
}

// resourceOf is the resource that a path of the API is about, and whether the path
// names one object of it; "" where it is about none.
func resourceOf(path string) (resource string, named bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "", false
	}
	if parts[0] == watchNamespaces && len(parts) > 2 {
		parts = parts[2:]
	}
	return parts[0], len(parts) > 1
}
