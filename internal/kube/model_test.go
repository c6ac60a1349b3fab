package kube

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// TestMirrorModel plays random histories of one server against a mirror: we and
// others write, the watch tells all of it in order, and our own answers come at
// any moment after the write. Whatever the order, a look never shows anything
// older than our last answer, and in the end mirror and server agree, nothing is
// pending, and what others did last was told, unless we did something after it.
func TestMirrorModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		h := newHistory(seed)
		for range 40 {
			h.step(t)
		}
		h.finish(t)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, h.log)
		}
	}
}

// history is a server with one object, a watch of it, and us.
type history struct {
	*mirrored
	rand    *rand.Rand
	log     string
	version int
	uids    int

	live    *corev1.ConfigMap // nil: there is none
	watch   []func() error    // what the watch has yet to tell
	answer  func()            // our own request that hasn't been answered yet
	newest  int               // the version of our last answer
	ours    int               // the version of the last thing that we did
	theirs  int               // the version of the last thing that others did
	heeded  int               // the last version of which we were told that it is news
	telling int               // the version that the watch tells right now
}

func newHistory(seed uint64) *history {
	h := &history{mirrored: newMirrored(), rand: rand.New(rand.NewPCG(seed, 1))}
	h.mirror.news = func(plan.Key) { h.heeded = h.telling }
	_ = h.feeds[""].Replace(nil, "0")
	return h
}

func (h *history) note(format string, args ...any) { h.log += fmt.Sprintf(format, args...) + "\n" }

func (h *history) step(t *testing.T) {
	t.Helper()
	switch n := h.rand.IntN(10); {
	case n < 2:
		h.write(false)
	case n < 3:
		h.remove(false)
	case n < 5 && h.answer == nil:
		h.write(true)
	case n < 6 && h.answer == nil:
		h.remove(true)
	case n < 8 && h.answer != nil:
		h.answer()
		h.answer = nil
	case len(h.watch) > 0:
		h.tell(t)
	}
	child, _ := h.get(keyNamed("a"))
	if seen, err := strconv.Atoi(child.ResourceVersion); err == nil && seen < h.newest {
		t.Errorf("a look shows version %d, after our own %d was answered", seen, h.newest)
	}
}

// write is what we or others do to the object: make it or change it.
func (h *history) write(own bool) {
	h.version++
	version := h.version
	if h.live == nil {
		h.uids++
	}
	o := object(fmt.Sprintf("a/u%d@%d", h.uids, version))
	h.live = o
	h.note("%d: write, own %t", version, own)
	h.watch = append(h.watch, func() error { h.telling = version; return h.feeds[""].Update(o.DeepCopy()) })
	if !own {
		h.theirs = version
		return
	}
	h.ours = version
	h.answer = func() {
		h.note("answer %d", version)
		_, _ = h.wrote(keyNamed("a"), o.DeepCopy())
		h.newest = version
	}
}

// remove is what we or others do to end the object, where there is one.
func (h *history) remove(own bool) {
	if h.live == nil {
		return
	}
	h.version++
	version := h.version
	o := h.live.DeepCopy()
	uid := o.UID
	o.ResourceVersion = strconv.Itoa(version)
	h.live = nil
	h.note("%d: remove, own %t", version, own)
	h.watch = append(h.watch, func() error { h.telling = version; return h.feeds[""].Delete(o) })
	if !own {
		h.theirs = version
		return
	}
	h.ours = version
	h.answer = func() {
		h.note("answer to removal %d", version)
		h.deleted(keyNamed("a"), uid)
	}
}

func (h *history) tell(t *testing.T) {
	t.Helper()
	next := h.watch[0]
	h.watch = h.watch[1:]
	if err := next(); err != nil {
		t.Error(err)
	}
	h.note("told %d", h.telling)
}

func (h *history) finish(t *testing.T) {
	t.Helper()
	if h.answer != nil {
		h.answer()
	}
	for len(h.watch) > 0 {
		h.tell(t)
	}
	want := "-"
	if h.live != nil {
		want = string(h.live.UID) + "@" + h.live.ResourceVersion
	}
	if got := h.seen("a"); got != want {
		t.Errorf("in the end %s is seen, and there is %s", got, want)
	}
	if h.pending() != 0 {
		t.Errorf("%d writes are pending for ever", h.pending())
	}
	if h.theirs > h.ours && h.heeded < h.theirs {
		t.Errorf("of what others did at version %d nobody was told", h.theirs)
	}
}

// TestMirrorRace: writers, watches and readers at once, for the race detector.
func TestMirrorRace(t *testing.T) {
	t.Parallel()
	m := newMirrored()
	m.play(t, "listed 1")
	var all sync.WaitGroup
	const rounds = 500
	echoes := make(chan *corev1.ConfigMap, 8)
	all.Go(func() {
		defer close(echoes)
		for i := range rounds {
			o := object(fmt.Sprintf("a/u1@%d", i+2))
			echoes <- o.DeepCopy()
			_, _ = m.wrote(keyNamed("a"), o)
		}
	})
	all.Go(func() {
		for o := range echoes {
			_ = m.feeds[""].Update(o)
		}
	})
	all.Go(func() {
		for range rounds {
			m.get(keyNamed("a"))
			m.pending()
			m.ready()
			for range m.all() {
				break
			}
		}
	})
	all.Wait()
	if got, want := m.seen("a"), fmt.Sprintf("u1@%d", rounds+1); got != want || m.pending() != 0 {
		t.Errorf("seen %s, want %s; %d pending", got, want, m.pending())
	}
}
