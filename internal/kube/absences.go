package kube

import (
	"context"
	"sync"
	"time"
)

// findingLasts is how long it holds what a request has found out about a namespace.
// Until then none of the namespace's objects asks again.
const findingLasts = 5 * time.Second

// findings remembers for a short time what requests have found out about namespaces,
// so that a thousand objects of one don't ask the same. The zero value knows nothing.
type findings struct {
	mu sync.Mutex
	of map[string]*finding
}

type finding struct {
	// asking is full while somebody asks.
	asking chan struct{}
	err    error
	until  time.Time
}

// get is what is kept of the namespace. f is locked.
func (f *findings) get(namespace string) *finding {
	if f.of == nil {
		f.of = map[string]*finding{}
	}
	if f.of[namespace] == nil {
		f.of[namespace] = &finding{asking: make(chan struct{}, 1)}
	}
	return f.of[namespace]
}

// note keeps what was found; nil is that all is well.
func (f *findings) note(namespace string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.get(namespace)
	known.err, known.until = err, time.Now().Add(findingLasts)
}

// last is what was found. known is false where that is too long ago.
func (f *findings) last(namespace string) (known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.of[namespace]
	if found == nil || time.Now().After(found.until) {
		return false, nil
	}
	return true, found.err
}

// ask finds out by send, unless that is known. Of those who come at once one sends,
// and the others wait for what it finds. sent says that it was this one.
func (f *findings) ask(ctx context.Context, namespace string, send func() error) (sent bool, err error) {
	f.mu.Lock()
	asking := f.get(namespace).asking
	f.mu.Unlock()
	select {
	case asking <- struct{}{}:
		defer func() { <-asking }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if known, err := f.last(namespace); known {
		return false, err
	}
	err = send()
	f.note(namespace, err)
	return true, err
}
