package kube

import (
	"fmt"
	"testing"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

func factOf(n int) plan.Event {
	return plan.Event{Key: plan.Key{Namespace: "lab", Name: fmt.Sprint("s-", n)}, Reason: "Failed", Note: "it fails"}
}

// TestEventsAreCountedAtGrowingIntervals: an object that fails for a day, a try a
// minute, is told of with every one of its failures, and seldom.
func TestEventsAreCountedAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	q, start := newEventQueue(10), time.Unix(0, 0)
	var told []time.Duration
	var count int32
	for minute := range 24 * 60 {
		now := start.Add(time.Duration(minute) * time.Minute)
		q.note(factOf(1), now)
		q.release()
		if due, ok := q.next(); ok && !due.After(now) {
			f := q.take()
			count += f.unsent
			q.toldOf(f, f.unsent, count, now)
			told = append(told, now.Sub(start))
		}
	}
	// 15 s, 1 m, 4 m and then 10 m after the one before, at the next failure.
	for i, want := range []time.Duration{0, time.Minute, 2 * time.Minute, 6 * time.Minute, 16 * time.Minute, 26 * time.Minute} {
		if told[i] != want {
			t.Errorf("told at %v, want %v", told[i], want)
		}
	}
	if len(told) > 24*6+4 || count < 24*60-10 || len(q.facts) != 1 {
		t.Errorf("%d requests for %d failures, %d facts", len(told), count, len(q.facts))
	}
}

// TestEventsHaveABound: what was told makes room, and what was not doesn't.
func TestEventsHaveABound(t *testing.T) {
	t.Parallel()
	q, now := newEventQueue(100), time.Unix(0, 0)
	for n := range 150 {
		q.note(factOf(n), now)
		q.note(factOf(n), now) // is dropped with it, or counted with it
	}
	if len(q.facts) != 100 || q.dropped != 100 {
		t.Errorf("%d facts, %d dropped", len(q.facts), q.dropped)
	}
	if _, ok := q.next(); ok {
		t.Error("something may go out before it was released")
	}
	if !q.release() || q.release() {
		t.Error("what is released isn't what was noted")
	}
	for n := range 100 {
		f := q.take()
		if want := factOf(n).Key; f.event.Key != want || f.unsent != 2 {
			t.Fatalf("%s comes %d times, want %s", f.event.Key, f.unsent, want)
		}
		q.toldOf(f, 2, 2, now)
	}
	for n := range 500 {
		q.note(factOf(1000+n), now)
		q.release()
		f := q.take()
		q.toldOf(f, 1, 1, now)
	}
	if len(q.facts) != 100 || q.idle.Len() != 100 || q.dropped != 100 {
		t.Errorf("%d facts, %d of them idle, %d dropped", len(q.facts), q.idle.Len(), q.dropped)
	}
	q.forget()
	if len(q.facts) != 0 || q.idle.Len() != 0 {
		t.Errorf("%d facts are left", len(q.facts))
	}
}

// TestEventsThatAreDropped count where nobody was told of them at all.
func TestEventsThatAreDropped(t *testing.T) {
	t.Parallel()
	q, now := newEventQueue(10), time.Unix(0, 0)
	for n := range 3 {
		q.note(factOf(n), now)
	}
	q.release()
	q.toldOf(q.take(), 1, 1, now)
	q.note(factOf(0), now) // waits only to be counted up
	q.release()
	q.drop()
	if q.dropped != 2 || len(q.facts) != 0 {
		t.Errorf("%d dropped, %d left", q.dropped, len(q.facts))
	}
}

// TestEventsOfOneObject: one that is changed all the time doesn't fill the cluster with
// its events, and others have theirs.
func TestEventsOfOneObject(t *testing.T) {
	t.Parallel()
	q, now := newEventQueue(1000), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	note := func(name string, n int) {
		q.note(plan.Event{Key: plan.Key{Namespace: "lab", Name: name}, Reason: v1.EventUpdated, Note: fmt.Sprint("value ", n)}, now)
	}
	for n := range 50 {
		note("busy", n)
	}
	note("quiet", 0)
	note("busy", 3) // told already: it is counted up
	if len(q.facts) != freshMost+1 || q.dropped != 50-freshMost {
		t.Errorf("%d facts, %d dropped", len(q.facts), q.dropped)
	}
	now = now.Add(freshWindow)
	note("busy", 50)
	if len(q.facts) != freshMost+2 {
		t.Errorf("%d facts after the window", len(q.facts))
	}
}
