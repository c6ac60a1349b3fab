package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	corev1 "k8s.io/api/core/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// ErrNoDefinition says that the cluster doesn't know WebServices.
var ErrNoDefinition = errors.New("the cluster knows no WebServices: their definition, the CRD " + v1.CRDName +
	", isn't installed; run and once install it")

// askAgain is how long a Reader rests before it asks again a server that is away.
const askAgain = 500 * time.Millisecond

// Reader reads from the API server itself, past all mirrors, for commands that
// look once and write nothing.
//
// While nothing answers, it asks again until its patience is over; any answer, also
// a refusal, ends that. Errors say in one sentence what is wrong and what to do.
type Reader struct {
	clients  *clients
	patience time.Duration
}

// NewReader makes a Reader. Nothing is sent yet. patience is how long it waits for a
// first answer, and for each further one.
func NewReader(cfg *rest.Config, patience time.Duration) (*Reader, error) {
	c, err := newClients(cfg, newConnections(cfg), patience)
	if err != nil {
		return nil, err
	}
	return &Reader{clients: c, patience: patience}, nil
}

// WebServices are those of the namespaces, "" being all, exactly as the server has
// them, without who owns which field. An error may be ErrNoDefinition.
func (r *Reader) WebServices(ctx context.Context, namespaces ...string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, namespace := range namespaces {
		page := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return r.clients.dynamic.Resource(v1.GroupVersionResource()).Namespace(namespace).List(ctx, opts)
		}
		err := r.list(ctx, page, func(o runtime.Object) error {
			u, ok := o.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("a %T among the WebServices", o)
			}
			u.SetManagedFields(nil)
			all = append(all, *u)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// WebServiceNames are the names of a namespace's WebServices, sorted.
func (r *Reader) WebServiceNames(ctx context.Context, namespace string) ([]string, error) {
	return r.names(ctx, v1.GroupVersionResource(), namespace)
}

// Namespaces are the names of all namespaces, sorted.
func (r *Reader) Namespaces(ctx context.Context) ([]string, error) {
	return r.names(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), "")
}

// ServerVersion is the version that the API server gives as its own, such as v1.37.2.
func (r *Reader) ServerVersion(ctx context.Context) (string, error) {
	var info version.Info
	err := r.patiently(ctx, func(ctx context.Context, _ func()) error {
		body, err := r.clients.core.RESTClient().Get().AbsPath("/version").SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &info)
	})
	return info.GitVersion, err
}

func (r *Reader) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	var names []string
	page := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return r.clients.metadata.Resource(resource).Namespace(namespace).List(ctx, opts)
	}
	err := r.list(ctx, page, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err == nil {
			names = append(names, object.GetName())
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// list calls each with every object of a list, which is asked for page by page.
func (r *Reader) list(ctx context.Context, page pager.ListPageFunc, each func(runtime.Object) error) error {
	var list runtime.Object
	err := r.patiently(ctx, func(ctx context.Context, answered func()) error {
		pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := page(ctx, opts)
			if err == nil {
				answered()
			}
			return list, err
		})
		var err error
		list, _, err = pages.List(ctx, metav1.ListOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return ErrNoDefinition
	}
	if err != nil {
		return err
	}
	return meta.EachListItem(list, each)
}

// patiently asks until somebody answers. Whoever goes on asking after a first answer
// says so by answered: from there each answer has a time of its own, and what fails
// then isn't asked for again.
func (r *Reader) patiently(ctx context.Context, ask func(ctx context.Context, answered func()) error) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(r.patience, cancel)
	defer patience.Stop()
	begun := false
	answered := func() { begun = patience.Stop() || begun }
	var last error
	for {
		err := ask(waiting, answered)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case waiting.Err() != nil && last == nil:
			return &watchError{context.DeadlineExceeded}
		case waiting.Err() != nil:
			return last // it says more than that the time is over
		}
		if last = (&watchError{err}); begun || failure(err).Phrase != unreachable {
			return last
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return last
		case <-time.After(askAgain):
		}
	}
}
