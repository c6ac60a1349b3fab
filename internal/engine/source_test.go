package engine

import (
	"context"
	"sync"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// scanTakes is how long the source in memory takes for a scan that it is asked for.
const scanTakes = 50 * time.Millisecond

// fakeSource hands out a picture when it changes, when it is asked for, and when
// the scan interval is over.
type fakeSource struct {
	asked chan struct{}

	mu    sync.Mutex
	now   *source.Snapshot
	scans int // that it was asked for
	deaf  bool
}

func newSource() *fakeSource { return &fakeSource{asked: make(chan struct{}, 1)} }

func (s *fakeSource) Rescan() { signal(s.asked) }

// run hands pictures to take until ctx ends.
func (s *fakeSource) run(ctx context.Context, take func(*source.Snapshot)) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		cause := source.CauseInterval
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.asked:
			cause = source.CauseHint
			<-time.After(scanTakes)
		}
		s.mu.Lock()
		var again *source.Snapshot
		if s.now != nil && (!s.deaf || cause == source.CauseInterval) {
			same := *s.now
			again = &same
		}
		if cause == source.CauseHint {
			s.scans++
		}
		s.mu.Unlock()
		if again != nil {
			again.Cause = cause
			take(again)
		}
	}
}

// askedFor is how many scans were asked for.
func (s *fakeSource) askedFor() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scans
}

// setDeaf makes it scan at the scan interval only.
func (s *fakeSource) setDeaf() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = true
}

// files makes these the files, and lets all happen that happens at once.
func (r *rig) files(objects ...source.Object) { r.shows(snapshot(objects...)) }

// shows makes s the picture of the source.
func (r *rig) shows(s *source.Snapshot) {
	r.source.mu.Lock()
	r.source.now = s
	r.source.mu.Unlock()
	r.Take(s)
	synctest.Wait()
}

// named are documents of objects in the namespace lab.
func filesOf(names ...string) []source.Object {
	var files []source.Object
	for _, name := range names {
		files = append(files, file(plan.Key{Namespace: "lab", Name: name}, "a"))
	}
	return files
}

// broken is a picture with a document that can't be used, and that names nothing.
func broken(objects ...source.Object) *source.Snapshot {
	s := snapshot(objects...)
	s.Problems = []source.Problem{{Path: "z.yaml", Line: 1, Message: "not YAML"}}
	return s
}

// emptied is a directory that was read whole and has nothing in it.
func emptied() *source.Snapshot {
	s := snapshot()
	s.Err = &source.RootError{Path: "desired", Reason: source.ErrEmpty}
	return s
}
