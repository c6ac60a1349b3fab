package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"labhub.io/webservice-controller/internal/plan"
)

// feed is one watch's way into a mirror.
type feed[T any] struct {
	mirror *mirror[T]
	// covers says which keys the watch would tell of.
	covers func(plan.Key) bool
	// listed: a whole list has come.
	listed bool
	// passed is the version up to which the watch has told all.
	passed string
}

// newFeed adds a feed for the keys that it covers. The mirror isn't ready until
// each of its feeds has been listed.
func (m *mirror[T]) newFeed(covers func(plan.Key) bool) *feed[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &feed[T]{mirror: m, covers: covers}
	m.feeds = append(m.feeds, f)
	return f
}

// Add and Update take what a watch tells of an object.
func (f *feed[T]) Add(obj any) error { return f.Update(obj) }

// Update takes what a watch tells of an object.
func (f *feed[T]) Update(obj any) error {
	m := f.mirror
	r, err := m.record(obj)
	if err != nil {
		return err
	}
	key := keyOf(obj)
	m.mu.Lock()
	before, known := m.objects[key]
	m.objects[key] = r
	isNews := !known || before.version != r.version
	if a, ok := m.ahead[key]; ok {
		isNews = m.passed(key, a, r)
	}
	told := f.sweep(r.version)
	m.mu.Unlock()
	if isNews {
		told = append(told, key)
	}
	m.tell(told)
	return nil
}

// Delete takes what a watch tells of the end of an object, or of its leaving
// what is watched.
func (f *feed[T]) Delete(obj any) error {
	m := f.mirror
	m.mu.Lock()
	key, end, err := m.ended(obj)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	delete(m.objects, key)
	a, ok := m.ahead[key]
	isNews := !ok
	// A write of ours may have brought back what left before.
	if ok && a.uid == end.uid && (a.gone || !newer(a.version, end.version)) {
		delete(m.ahead, key)
		isNews = !a.gone
	}
	var told []plan.Key
	if _, guessed := obj.(cache.DeletedFinalStateUnknown); !guessed {
		told = f.sweep(end.version)
	}
	m.mu.Unlock()
	if isNews {
		told = append(told, key)
	}
	m.tell(told)
	return nil
}

// ended says which object has ended, and in what state. One whose last state is
// unknown ended as it was last heard of. The mirror is locked.
func (m *mirror[T]) ended(obj any) (plan.Key, record[T], error) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		if d.Obj == nil {
			namespace, name, err := cache.SplitMetaNamespaceKey(d.Key)
			key := plan.Key{Namespace: namespace, Name: name}
			return key, m.objects[key], err
		}
		obj = d.Obj
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return plan.Key{}, record[T]{}, fmt.Errorf("the end of an object without metadata: %w", err)
	}
	return keyOf(obj), record[T]{uid: o.GetUID(), version: o.GetResourceVersion()}, nil
}

// Replace takes a whole list, and the version at which it was true.
func (f *feed[T]) Replace(list []any, version string) error {
	m := f.mirror
	fresh := make(map[plan.Key]record[T], len(list))
	for _, obj := range list {
		r, err := m.record(obj)
		if err != nil {
			return err
		}
		fresh[keyOf(obj)] = r
	}
	m.mu.Lock()
	told := f.replace(fresh)
	told = append(told, f.sweep(version)...)
	first := !f.listed
	m.mu.Unlock()
	m.tell(told)
	if first {
		f.setListed()
	}
	return nil
}

// setListed makes the mirror ready as far as the feed goes. What the list said has
// been told by then: told later, it would be taken for news.
func (f *feed[T]) setListed() {
	m := f.mirror
	m.mu.Lock()
	f.listed = true
	m.mu.Unlock()
	m.listed()
}

// replace puts fresh in the place of what the feed told before, and returns the
// keys of which that is news.
func (f *feed[T]) replace(fresh map[plan.Key]record[T]) []plan.Key {
	m := f.mirror
	var told []plan.Key
	for key, old := range m.objects {
		if _, ok := fresh[key]; ok || !f.covers(key) {
			continue
		}
		delete(m.objects, key)
		if a, ok := m.ahead[key]; ok && a.gone && a.uid == old.uid {
			delete(m.ahead, key)
		} else if !ok {
			told = append(told, key)
		}
	}
	for key, r := range fresh {
		before, known := m.objects[key]
		m.objects[key] = r
		isNews := !known || before.version != r.version
		if a, ok := m.ahead[key]; ok {
			isNews = m.passed(key, a, r)
		}
		if isNews {
			told = append(told, key)
		}
	}
	return told
}

// reset forgets everything: the resource itself has gone.
func (f *feed[T]) reset() {
	m := f.mirror
	m.mu.Lock()
	var told []plan.Key
	for key := range m.objects {
		if f.covers(key) {
			delete(m.objects, key)
			told = append(told, key)
		}
	}
	for key := range m.ahead {
		if f.covers(key) {
			delete(m.ahead, key)
			told = append(told, key)
		}
	}
	f.listed, f.passed = false, ""
	m.mu.Unlock()
	m.tell(told)
}

// Resync has nothing to do: passes are the engine's.
func (f *feed[T]) Resync() error { return nil }

// Bookmark takes word that all up to version was told.
func (f *feed[T]) Bookmark(version string) error {
	m := f.mirror
	m.mu.Lock()
	told := f.sweep(version)
	m.mu.Unlock()
	m.tell(told)
	return nil
}

// passed settles what our own write a of key means now that the watch has told
// r. It says whether r is news. The mirror is locked.
func (m *mirror[T]) passed(key plan.Key, a, r record[T]) bool {
	echo := r.version == a.version && !a.gone
	if !echo && !newer(r.version, a.version) {
		return false
	}
	delete(m.ahead, key)
	return !echo
}

// sweep notes that all up to version was told, and ends the overlay of every
// write that the watch has passed without telling of it, since the object isn't
// in what it watches any more. It returns their keys. The mirror is locked.
//
// When a deletion is over can't be told from versions. But what has gone, and
// isn't among the objects although the watch is past it, is over.
func (f *feed[T]) sweep(version string) []plan.Key {
	m := f.mirror
	f.passed = version
	var told []plan.Key
	for key, a := range m.ahead {
		if !f.covers(key) || !newer(version, a.version) {
			continue
		}
		switch {
		case !a.gone:
			delete(m.ahead, key)
			told = append(told, key)
		case m.objects[key].uid != a.uid:
			delete(m.ahead, key)
		}
	}
	return told
}

// tell passes the keys on, outside the lock.
func (m *mirror[T]) tell(keys []plan.Key) {
	for _, key := range keys {
		m.news(key)
	}
	if m.pending() == 0 {
		m.caughtUp()
	}
}

func keyOf(obj any) plan.Key {
	o, err := meta.Accessor(obj)
	if err != nil {
		return plan.Key{}
	}
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
