package kube

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"labhub.io/webservice-controller/internal/plan"
)

// What events may cost. The rate counts requests, after a burst that lets a first
// start over a thousand objects tell of all of them.
const (
	eventRate    = 100 // a second
	eventBurst   = 2000
	eventSenders = 8
	eventTimeout = 10 * time.Second
	// mostEvents is how many facts are remembered: those that wait to be sent, and of
	// those that were, what it takes to count them up.
	mostEvents = 5000
)

// EventOptions are what Events need to know. All fields but Observer must be set.
type EventOptions struct {
	// Instance is who reports, as events call it. It is asked when one is sent.
	Instance func() string
	// Leave says whether a request may be started now. It returns at once.
	Leave func() bool
	Log   *slog.Logger
	// Observer counts requests; nil is nobody.
	Observer Observer
}

// Events sends facts about objects to the API server as Events of events.k8s.io.
//
// What is noted waits until it is released, and then until Run or Flush sends it.
// The same fact again is counted on the same Event, at intervals that grow; the
// name of the Event is made of the fact, so that this holds across restarts too.
// Nothing here ever waits for the server but Run and Flush.
type Events struct {
	opts     EventOptions
	client   v1.EventsV1Interface
	requests *requests
	limit    flowcontrol.RateLimiter
	// news wakes senders: something is to be sent, or was.
	news broadcast

	mu    sync.Mutex
	queue *eventQueue
	// sending counts the facts that senders are at.
	sending int
	// paused: the server can't take events before that time. hurdles counts the
	// failures in a row that led to it.
	paused  time.Time
	hurdles int
	// refused has the namespaces in which we may not write events, and when it is
	// worth another try. invalid: it was told that the server doesn't take one.
	refused map[string]time.Time
	invalid bool
}

// NewEvents makes what sends events. Nothing is sent before Run or Flush.
func NewEvents(cfg *rest.Config, opts EventOptions) (*Events, error) {
	cfg, counter := configFor(observing(cfg, opts.Observer), eventTimeout)
	client, err := v1.NewForConfig(binary(cfg))
	if err != nil {
		return nil, fmt.Errorf("the client for events: %w", err)
	}
	return &Events{
		opts: opts, client: client, requests: counter,
		limit: flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst),
		queue: newEventQueue(mostEvents), refused: map[string]time.Time{},
	}, nil
}

// Note takes a fact. Where too many are remembered that were not sent yet, it is
// dropped and counted.
func (e *Events) Note(event plan.Event) {
	event.Note = noteOf(event.Note)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue.note(event, time.Now())
}

// Release lets go out what was noted.
func (e *Events) Release() {
	e.mu.Lock()
	released := e.queue.release()
	e.mu.Unlock()
	if released {
		e.news.fire()
	}
}

// Sent counts the requests that were sent.
func (e *Events) Sent() int64 { return e.requests.reads.Load() + e.requests.writes.Load() }

// Run sends what is due until ctx ends, and returns when every sender has ended.
// What others have told meanwhile isn't known here, so what was sent before it
// counts for nothing.
func (e *Events) Run(ctx context.Context) {
	e.mu.Lock()
	e.queue.forget()
	e.mu.Unlock()
	e.send(ctx, false)
}

// Flush sends what is due, and returns when that is done or ctx ends. What is left
// then is dropped, and so is what waits only to be counted up.
func (e *Events) Flush(ctx context.Context) {
	e.send(ctx, true)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue.drop()
	e.tellDropped()
}

func (e *Events) send(ctx context.Context, drain bool) {
	var senders sync.WaitGroup
	defer senders.Wait()
	for range eventSenders {
		senders.Go(func() { e.work(ctx, drain) })
	}
}

// work sends one fact after the other until ctx ends, or, to drain, until none is
// due any more.
func (e *Events) work(ctx context.Context, drain bool) {
	for ctx.Err() == nil {
		news := e.news.wait()
		f, wait, over := e.take(drain)
		switch {
		case f != nil:
			e.deliver(ctx, f)
			e.news.fire()
			continue
		case over:
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-news:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idleLook is how long a sender waits that nothing tells of anything to be sent.
const idleLook = time.Hour

// take is the next fact to be sent, or how long to wait for one. over: there is
// nothing more to drain.
func (e *Events) take(drain bool) (f *fact, wait time.Duration, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	due, ok := e.queue.next()
	if !ok || due.After(now) {
		e.tellDropped()
		if drain && e.sending == 0 {
			return nil, 0, true
		}
	}
	switch {
	case !ok:
		return nil, idleLook, false
	case e.paused.After(now):
		return nil, e.paused.Sub(now), false
	case due.After(now):
		return nil, due.Sub(now), false
	case e.hurdles > 0 && e.sending > 0:
		return nil, idleLook, false // one at a time, until the server takes them again
	}
	e.sending++
	return e.queue.take(), 0, false
}

// tellDropped logs what there was no room for, once that is over. It is locked.
func (e *Events) tellDropped() {
	if n := e.queue.dropped; n > 0 {
		e.queue.dropped = 0
		e.opts.Log.Warn("events were dropped: there were more than can be sent", "count", n)
	}
}
