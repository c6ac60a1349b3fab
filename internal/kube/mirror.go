package kube

import (
	"fmt"
	"iter"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"labhub.io/webservice-controller/internal/plan"
)

// mirror holds one resource as the watches tell it, with the answers of our own
// writes laid over it until the watches have caught up.
//
// It is a cache.ReflectorStore by way of its feeds. What a feed tells of an
// object is news only where it is newer than the answer of our own write:
// echoes and the past wake nobody.
type mirror[T any] struct {
	// convert makes what is kept of an object; it may keep parts of it.
	convert func(obj any) (T, error)
	// news is told the keys of objects that somebody else has changed.
	news func(plan.Key)
	// caughtUp is called whenever the last own write has come back.
	caughtUp func()
	// listed is called when a feed has been listed whole for the first time.
	listed func()

	mu      sync.RWMutex
	objects map[plan.Key]record[T]
	ahead   map[plan.Key]record[T]
	feeds   []*feed[T]
}

// record is an object with what orders its versions.
type record[T any] struct {
	value   T
	uid     types.UID
	version string
	// gone: deleted by us. Then version is the last one that was seen.
	gone bool
}

func newMirror[T any](convert func(any) (T, error), news func(plan.Key), caughtUp, listed func()) *mirror[T] {
	return &mirror[T]{
		convert: convert, news: news, caughtUp: caughtUp, listed: listed,
		objects: map[plan.Key]record[T]{}, ahead: map[plan.Key]record[T]{},
	}
}

// get answers with the newest that is known: our own writes included. fresh is
// false while the watch hasn't caught up with them.
func (m *mirror[T]) get(key plan.Key) (value T, fresh bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if r, ok := m.ahead[key]; ok {
		return r.value, false
	}
	return m.objects[key].value, true
}

// keys goes over the keys of all objects. The mirror is locked for reading meanwhile.
func (m *mirror[T]) all() iter.Seq2[plan.Key, T] {
	return func(yield func(plan.Key, T) bool) {
		m.mu.RLock()
		defer m.mu.RUnlock()
		for key, r := range m.objects {
			if a, ok := m.ahead[key]; ok {
				r = a
			}
			if !r.gone && !yield(key, r.value) {
				return
			}
		}
		for key, r := range m.ahead {
			if _, ok := m.objects[key]; !ok && !r.gone && !yield(key, r.value) {
				return
			}
		}
	}
}

// pending counts our own writes that the watch hasn't told of yet.
func (m *mirror[T]) pending() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.ahead)
}

// ready is true once every feed has been listed whole.
func (m *mirror[T]) ready() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, f := range m.feeds {
		if !f.listed {
			return false
		}
	}
	return len(m.feeds) > 0
}

// wrote lays the answer of a write over the mirror, and returns what is kept of it.
func (m *mirror[T]) wrote(key plan.Key, obj any) (T, error) {
	r, err := m.record(obj)
	if err != nil {
		return r.value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ahead[key].version != r.version && !m.told(key, r.version) {
		m.ahead[key] = r
	}
	return r.value, nil
}

// told says whether the watch of key has passed version already, so that a
// write's answer that comes late isn't laid over what is newer.
func (m *mirror[T]) told(key plan.Key, version string) bool {
	if known, ok := m.objects[key]; ok && !newer(version, known.version) {
		return true
	}
	for _, f := range m.feeds {
		if f.passed != "" && f.covers(key) && !newer(version, f.passed) {
			return true
		}
	}
	return false
}

// deleted remembers that the object with that uid is gone. The answer to a
// delete has no version, so the uid has to do.
func (m *mirror[T]) deleted(key plan.Key, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.objects[key]
	if a, written := m.ahead[key]; written {
		known, ok = a, true
	}
	if ok && known.uid == uid {
		m.ahead[key] = record[T]{uid: uid, version: known.version, gone: true}
	}
}

func (m *mirror[T]) record(obj any) (record[T], error) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return record[T]{}, fmt.Errorf("an object without metadata: %w", err)
	}
	value, err := m.convert(obj)
	return record[T]{value: value, uid: o.GetUID(), version: o.GetResourceVersion()}, err
}

// newer says whether version a is later than b. Versions that can't be compared
// count as later: the last word that was heard counts.
func newer(a, b string) bool {
	if a == b {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || c > 0
}
