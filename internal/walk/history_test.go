package walk

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// history is what the walk knows by itself: what the directory held when, how the
// objects were when, and what the controller asked of the server when.
type history struct {
	source    string // its name
	dirs      []dirState
	approvals []approval

	mu       sync.Mutex // over what watches and the proxy tell
	versions []version
	requests []*request
}

// rootState says how the directory as a whole can be read.
type rootState int

const (
	rootWhole rootState = iota
	rootEmpty
	rootMissing
)

// picture is what the directory says to whoever reads it whole.
type picture struct {
	root rootState
	// usable documents by key; broken names; names that may be in what can't be read.
	usable map[plan.Key]*document
	broken map[plan.Key]bool
	veiled map[plan.Key]bool
	// dirty: something in it is wrong.
	dirty bool
}

// names says whether a document names the object, or may.
func (r *picture) names(key plan.Key) bool {
	return r.usable[key] != nil || r.broken[key] || r.veiled[key]
}

func pictureOf(files map[string]file) *picture {
	r := &picture{usable: map[plan.Key]*document{}, broken: map[plan.Key]bool{}, veiled: map[plan.Key]bool{}}
	for _, f := range files {
		for _, doc := range f.docs {
			r.add(f, doc)
		}
		r.dirty = r.dirty || f.zeroed || f.locked
	}
	if len(r.usable)+len(r.broken)+len(r.veiled) == 0 && !r.dirty {
		r.root = rootEmpty
	}
	return r
}

func (r *picture) add(f file, doc *document) {
	switch {
	case f.zeroed || f.locked || doc.flaw == garbled:
		r.veiled[doc.key], r.dirty = true, true
	case doc.flaw != flawless, r.broken[doc.key]:
		r.broken[doc.key], r.dirty = true, true
		delete(r.usable, doc.key)
	case r.usable[doc.key] != nil: // written twice
		r.broken[doc.key], r.dirty = true, true
		delete(r.usable, doc.key)
	default:
		r.usable[doc.key] = doc
	}
}

// dirState is what the directory says: a reader may find it so after from, and
// finds it so after sure, until the next state's times.
type dirState struct {
	from, sure time.Time
	says       *picture
}

// version is an object as the server had it from a time on.
type version struct {
	at       time.Time
	resource string
	key      plan.Key
	rv       string
	uid      types.UID
	gone     bool
	// terminating: it has a deletionTimestamp; cleanup: our finalizer is on it.
	terminating, cleanup bool
	// source is the label's value, owned says that our own apply wrote it.
	source string
	owned  bool
	// kept and suspended: the annotation is there, with whatever value.
	kept, suspended bool
	// strangers is true of what the walk made to be somebody else's.
	strangers bool
}

// request is one write of the controller, as it left the controller.
type request struct {
	at              time.Time
	method          string
	resource        string
	subresource     string
	key             plan.Key
	preconditionUID types.UID
	preconditionRV  string
	code            int // of the server's answer; 0 where it never got there
}

func (r *request) String() string {
	return fmt.Sprintf("%s %s %s %s (uid %s, version %s) at %s, answered %d",
		r.method, r.resource, r.key, r.subresource, r.preconditionUID, r.preconditionRV, r.at.Format(clock), r.code)
}

const clock = "15:04:05.000"

func (r *request) deletesWebService() bool {
	return r.method == "DELETE" && r.resource == v1.Resource
}

// approval is a person's word: that these may be deleted.
type approval struct {
	at  time.Time
	set map[plan.Key][]types.UID
}

func (a *approval) has(key plan.Key, uid types.UID) bool { return slices.Contains(a.set[key], uid) }

// worlds are all states of the WebServices that there were between two times, the
// latest first.
func (h *history) worlds(from, until time.Time) []world {
	states := []world{{}}
	for i := range h.versions {
		v := &h.versions[i]
		if v.resource != v1.Resource {
			continue
		}
		if v.at.After(until) {
			break
		}
		now := states[len(states)-1]
		if v.at.Before(from) {
			now[v.key] = v
			continue
		}
		next := make(world, len(now)+1)
		for key, w := range now {
			next[key] = w
		}
		next[v.key] = v
		states = append(states, next)
	}
	slices.Reverse(states)
	return states
}

// world has the latest version of each WebService at one moment.
type world map[plan.Key]*version

func (w world) live(key plan.Key) *version {
	if v := w[key]; v != nil && !v.gone {
		return v
	}
	return nil
}

// seen is the version of a WebService that carries a resourceVersion.
func (h *history) seen(key plan.Key, rv string) *version {
	for i := len(h.versions) - 1; i >= 0; i-- {
		if v := &h.versions[i]; v.resource == v1.Resource && v.key == key && v.rv == rv && !v.gone {
			return v
		}
	}
	return nil
}

// during are the versions that an object had between two times.
func (h *history) during(resource string, key plan.Key, from, until time.Time) []*version {
	var found []*version
	for i := range h.versions {
		v := &h.versions[i]
		if v.resource != resource || v.key != key || v.at.After(until) {
			continue
		}
		if v.at.Before(from) {
			found = found[:0]
		}
		found = append(found, v)
	}
	return found
}

// forget drops what no judgement about something after a time needs.
func (h *history) forget(before time.Time) {
	firstDir := 0
	for firstDir+1 < len(h.dirs) && h.dirs[firstDir+1].sure.Before(before) {
		firstDir++
	}
	h.dirs = slices.Delete(h.dirs, 0, firstDir)
	last := map[string]int{}
	for i, v := range h.versions {
		if v.at.Before(before) {
			last[v.resource+" "+v.key.String()] = i
		}
	}
	kept := h.versions[:0]
	for i, v := range h.versions {
		if !v.at.Before(before) || last[v.resource+" "+v.key.String()] == i && !v.gone {
			kept = append(kept, v)
		}
	}
	h.versions = kept
	h.requests = slices.DeleteFunc(h.requests, func(r *request) bool { return r.at.Before(before) })
}
