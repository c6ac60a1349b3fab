package kube

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/gentype"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// clients are the typed clients of one purpose. They share a rest.Config and
// thus a connection, and count their requests together.
type clients struct {
	webservices func(namespace string) *gentype.ClientWithList[*v1.WebService, *v1.WebServiceList]
	core        corev1.CoreV1Interface
	leases      coordinationv1.CoordinationV1Interface
	dynamic     dynamic.Interface
	metadata    metadata.Interface
	requests    *requests
}

// How long an answer may take. A watch's has no end.
const (
	writeTimeout = 30 * time.Second
	leaseTimeout = 5 * time.Second
)

// newClients makes clients for cfg on these connections, whose answers may take as
// long as timeout; 0 is no limit. Requests and answers pass what is wrapped around.
// The server limits requests by priority and fairness, so there is no limit on this
// side.
func newClients(cfg *rest.Config, on *connections, timeout time.Duration, wrapped ...transport.WrapperFunc) (*clients, error) {
	cfg, counter := configFor(cfg, timeout)
	for _, w := range wrapped {
		cfg.Wrap(w)
	}
	h, err := on.client(cfg)
	if err != nil {
		return nil, err
	}
	web, err := webserviceClient(cfg, h)
	if err != nil {
		return nil, err
	}
	plain := rest.CopyConfig(cfg)
	plain.ContentType, plain.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	binary := binary(cfg)
	c := &clients{webservices: web, requests: counter}
	if c.core, err = corev1.NewForConfigAndClient(binary, h); err != nil {
		return nil, err
	}
	if c.leases, err = coordinationv1.NewForConfigAndClient(binary, h); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(cfg, h); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(plain, h); err != nil {
		return nil, err
	}
	return c, nil
}

// configFor is the configuration of one purpose's clients, and what counts their
// requests.
func configFor(cfg *rest.Config, timeout time.Duration) (*rest.Config, *requests) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = timeout
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	counter := &requests{}
	cfg.Wrap(counter.wrap)
	cfg.Wrap(ownPace)
	return cfg, counter
}

// binary is the configuration for resources that the server knows by itself.
func binary(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg
}

func webserviceClient(cfg *rest.Config, h *http.Client) (func(string) *gentype.ClientWithList[*v1.WebService, *v1.WebServiceList], error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering WebService: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	gv := v1.GroupVersion()
	cfg.GroupVersion = &gv
	cfg.APIPath = "/apis"
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(cfg, h)
	if err != nil {
		return nil, err
	}
	codec := runtime.NewParameterCodec(scheme)
	return func(namespace string) *gentype.ClientWithList[*v1.WebService, *v1.WebServiceList] {
		return gentype.NewClientWithList[*v1.WebService, *v1.WebServiceList](v1.Resource, client, codec, namespace,
			func() *v1.WebService { return &v1.WebService{} }, func() *v1.WebServiceList { return &v1.WebServiceList{} })
	}, nil
}

// requests counts what a set of clients sends.
type requests struct {
	reads, writes atomic.Int64
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet {
			r.reads.Add(1)
		} else {
			r.writes.Add(1)
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
