package kube

import (
	"container/heap"
	"container/list"
	"maps"
	"time"

	"labhub.io/webservice-controller/internal/plan"
)

// The same fact again is told at intervals that grow from the first to the last
// one. That is less than the hour for which a server keeps an event by default.
const (
	countFirst  = 15 * time.Second
	countLast   = 10 * time.Minute
	countGrowth = 4
)

// freshMost is how many facts of one object that weren't told before are taken within
// freshWindow. Of an object that somebody changes all the time, each value would be a
// fact of its own.
const (
	freshMost   = 10
	freshWindow = time.Minute
)

// fresh counts the new facts of one object since the window began.
type fresh struct {
	since time.Time
	n     int
}

// fact is what one Event tells, however often it was noted.
type fact struct {
	id    eventID
	event plan.Event
	// unsent is how often it was noted since it was last told, from first to last.
	unsent      int32
	first, last time.Time
	// told is how often it has happened by the server's Event; 0 where that isn't
	// known, or where there is none.
	told int32
	// due is when it may be told again, after the last wait.
	due  time.Time
	wait time.Duration
	// tries counts the failures to tell it; tried is the time by which an Event of a
	// creation without an answer is recognised.
	tries int
	tried time.Time

	order int64 // of the first of several that are due
	idle  *list.Element
}

// eventQueue remembers facts: those that are to be told, and those that were. It
// isn't safe for several goroutines.
type eventQueue struct {
	most  int
	facts map[eventID]*fact
	fresh map[plan.Key]fresh
	// noted are those of the cycle that lasts, waiting those that may go out, and idle
	// those with nothing to be told, the one that was told longest ago first.
	noted   []*fact
	waiting dueFacts
	idle    *list.List
	// dropped counts what there was no room for.
	dropped int64
	order   int64
}

func newEventQueue(most int) *eventQueue {
	return &eventQueue{most: most, facts: map[eventID]*fact{}, fresh: map[plan.Key]fresh{}, idle: list.New()}
}

// note counts a fact.
func (q *eventQueue) note(event plan.Event, now time.Time) {
	id := idOf(&event)
	f := q.facts[id]
	switch {
	case f == nil && (!q.mayTell(event.Key, now) || !q.room()):
		q.dropped++
		return
	case f == nil:
		f = &fact{id: id, event: event}
		q.facts[id] = f
		q.noted = append(q.noted, f)
	case f.idle != nil:
		q.idle.Remove(f.idle)
		f.idle = nil
		q.noted = append(q.noted, f)
	}
	if f.unsent == 0 {
		f.first = now
	}
	f.unsent++
	f.last = now
}

// mayTell counts a new fact of an object, and says whether that isn't one too many.
func (q *eventQueue) mayTell(key plan.Key, now time.Time) bool {
	if len(q.fresh) > q.most {
		maps.DeleteFunc(q.fresh, func(_ plan.Key, f fresh) bool { return now.Sub(f.since) >= freshWindow })
	}
	f := q.fresh[key]
	if now.Sub(f.since) >= freshWindow {
		f = fresh{since: now}
	}
	f.n++
	q.fresh[key] = f
	return f.n <= freshMost
}

// room makes room for one more fact, if there is any to be had.
func (q *eventQueue) room() bool {
	if len(q.facts) < q.most {
		return true
	}
	oldest := q.idle.Front()
	if oldest == nil {
		return false
	}
	if f, ok := q.idle.Remove(oldest).(*fact); ok {
		delete(q.facts, f.id)
	}
	return true
}

// release lets go what was noted, and says whether there was any.
func (q *eventQueue) release() bool {
	released := len(q.noted) > 0
	for _, f := range q.noted {
		q.push(f)
	}
	clear(q.noted)
	q.noted = q.noted[:0]
	return released
}

func (q *eventQueue) push(f *fact) {
	q.order++
	f.order = q.order
	heap.Push(&q.waiting, f)
}

// next is when the next fact is due; ok is false where none waits.
func (q *eventQueue) next() (due time.Time, ok bool) {
	if len(q.waiting) == 0 {
		return time.Time{}, false
	}
	return q.waiting[0].due, true
}

// take takes the next fact out, to be told or given back.
func (q *eventQueue) take() *fact {
	f, _ := heap.Pop(&q.waiting).(*fact)
	return f
}

// toldOf notes that a fact was told n times of those that were unsent, and that the
// server's Event counts so many. The fact was taken.
func (q *eventQueue) toldOf(f *fact, n, told int32, now time.Time) {
	f.unsent, f.told, f.tries, f.tried = f.unsent-n, told, 0, time.Time{}
	f.wait = min(max(f.wait*countGrowth, countFirst), countLast)
	f.due = now.Add(f.wait)
	if f.unsent > 0 {
		f.first = f.last
		q.push(f)
		return
	}
	f.idle = q.idle.PushBack(f)
}

// lose forgets a fact that was taken.
func (q *eventQueue) lose(f *fact) { delete(q.facts, f.id) }

// forget forgets what was told.
func (q *eventQueue) forget() {
	for q.idle.Len() > 0 {
		if f, ok := q.idle.Remove(q.idle.Front()).(*fact); ok {
			delete(q.facts, f.id)
		}
	}
}

// drop forgets all that waits, and counts what was never told.
func (q *eventQueue) drop() {
	for _, f := range q.waiting {
		if f.told == 0 {
			q.dropped++
		}
		delete(q.facts, f.id)
	}
	clear(q.waiting)
	q.waiting = q.waiting[:0]
}

// dueFacts is a heap of those that are due first.
type dueFacts []*fact

func (d dueFacts) Len() int { return len(d) }

func (d dueFacts) Less(i, j int) bool {
	if c := d[i].due.Compare(d[j].due); c != 0 {
		return c < 0
	}
	return d[i].order < d[j].order
}

func (d dueFacts) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push is heap's.
func (d *dueFacts) Push(x any) {
	if f, ok := x.(*fact); ok {
		*d = append(*d, f)
	}
}

// Pop is heap's.
func (d *dueFacts) Pop() any {
	old := *d
	last := len(old) - 1
	f := old[last]
	old[last] = nil
	*d = old[:last]
	return f
}
