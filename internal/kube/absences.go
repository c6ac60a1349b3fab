package kube

import (
	"sync"
	"time"
)

// absenceLasts is how long the word of a write holds that a namespace is missing.
// Until then none of the namespace's objects asks again.
const absenceLasts = 5 * time.Second

// absences remembers for a short time which namespaces writes have found missing.
// The zero value remembers none.
type absences struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (a *absences) add(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	a.until[namespace] = time.Now().Add(absenceLasts)
}

func (a *absences) remove(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.until, namespace)
}

func (a *absences) has(namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[namespace]
	if ok && time.Now().After(until) {
		delete(a.until, namespace)
		return false
	}
	return ok
}
