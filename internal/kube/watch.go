package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// How long a watch that fails waits before it tries again. A server that is
// back is noticed within a few seconds, and while it is away no watch asks more
// often than twice a second.
const (
	retryFirst = 500 * time.Millisecond
	retryMost  = 4 * time.Second
	// What may be done without and isn't allowed is asked for rarely.
	retryForbidden = 30 * time.Second
	// patience is how often it is asked for before that.
	patience = 5
	// retryJitter keeps those that failed together from coming back together.
	retryJitter = 0.2
)

func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: retryJitter, Steps: 20, Cap: retryMost}
}

// client is what the clients of all resources have in common.
type client[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// scope narrows what is listed and watched.
type scope func(*metav1.ListOptions)

func everything(*metav1.ListOptions) {}

func onlyNamed(name string) scope {
	return func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
	}
}

func onlyManaged(o *metav1.ListOptions) {
	o.LabelSelector = labels.Set{v1.ManagedByLabel: v1.Manager}.String()
}

// watcher keeps a feed going for as long as its context lasts. client-go's
// reflector does the listing and watching.
type watcher struct {
	what  string
	lists cache.ListWithContextFunc
	opens cache.WatchFuncWithContext
	store cache.ReflectorStore

	health *health
	// optional: being forbidden to watch is nothing to worry about.
	optional bool
}

func newWatcher[L runtime.Object](what string, c client[L], narrow scope, store cache.ReflectorStore, h *health) *watcher {
	return &watcher{
		what: what, store: store, health: h,
		lists: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			narrow(&opts)
			return c.List(ctx, opts)
		},
		opens: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			narrow(&opts)
			return c.Watch(ctx, opts)
		},
	}
}

func (w *watcher) run(ctx context.Context) {
	backoff := retryBackoff()
	reflector := cache.NewReflectorWithOptions(w.listWatch(), nil, w.store, cache.ReflectorOptions{
		Name: w.what, TypeDescription: w.what, Backoff: &backoff,
	})
	delay, refusals := retryBackoff(), 0
	for ctx.Err() == nil {
		began := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.note(ctx, err)
		}
		if time.Since(began) > retryMost {
			delay = retryBackoff()
		}
		wait := delay.Step()
		// A server that has just started refuses what it allows a moment later.
		if refusals++; !forbidden(w.health.err(w.what)) {
			refusals = 0
		} else if refusals > patience {
			wait = retryForbidden
		}
		pause(ctx, wait)
	}
}

// pause waits for so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// listWatch notes on the way how every try went: the reflector itself keeps
// quiet about a watch that it restarts.
func (w *watcher) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := w.lists(ctx, opts)
			w.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			stream, err := w.opens(ctx, opts)
			w.note(ctx, err)
			return stream, err
		},
	}
}

func (w *watcher) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if w.optional && apierrors.IsForbidden(err) {
		err = &forbiddenError{err}
	}
	w.health.set(w.what, err)
}

// forbiddenError is the failure of a watch that can be done without.
type forbiddenError struct{ error }

func (e *forbiddenError) Unwrap() error { return e.error }

// forbidden says whether a watch that can be done without is forbidden.
func forbidden(err error) bool {
	_, ok := errors.AsType[*forbiddenError](err)
	return ok
}

// health knows which watches work. Its zero value needs changed set.
type health struct {
	// changed is called when a watch begins or ceases to work.
	changed func()

	mu     sync.Mutex
	errors map[string]error
}

func (h *health) set(what string, err error) {
	h.mu.Lock()
	before, known := h.errors[what]
	if h.errors == nil {
		h.errors = map[string]error{}
	}
	h.errors[what] = err
	h.mu.Unlock()
	if !known || kindOf(before) != kindOf(err) {
		h.changed()
	}
}

// kindOf tells a watch that works from one that can be done without, and both
// from one that fails.
func kindOf(err error) int {
	switch {
	case err == nil:
		return 0
	case forbidden(err):
		return 1
	}
	return 2
}

// clear notes that what failed under these names, if it did, doesn't any more.
func (h *health) clear(names ...string) {
	for _, name := range names {
		if h.err(name) != nil {
			h.set(name, nil)
		}
	}
}

// forget drops a watch that isn't run any more.
func (h *health) forget(what string) {
	h.mu.Lock()
	delete(h.errors, what)
	h.mu.Unlock()
}

// err is why the watch called what doesn't work, or nil.
func (h *health) err(what string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errors[what]
}

// first is the failure of the watch whose name sorts first, or nil.
func (h *health) first() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var name string
	var first error
	for what, err := range h.errors {
		if err != nil && !forbidden(err) && (first == nil || what < name) {
			name, first = what, err
		}
	}
	return first
}
