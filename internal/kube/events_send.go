package kube

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// How long nothing is sent after failures of the server, how often one fact is
// tried, and how long no event goes into a namespace in which we may not write any.
const (
	pauseFirst   = 3 * time.Second
	pauseLast    = time.Minute
	mostTries    = 5
	refusalHolds = time.Minute
)

// action is what events say was being done.
const action = "Reconcile"

// telling is a fact as it is told now.
type telling struct {
	plan.Event
	name, instance string
	n, told        int32
	first, last    time.Time
	tried          time.Time
}

// deliver tells a fact that was taken.
func (e *Events) deliver(ctx context.Context, f *fact) {
	t, ok := e.begin(f)
	if !ok {
		return
	}
	n, told, err := e.tell(ctx, &t)
	e.end(ctx, f, n, told, err)
}

// begin notes what is told of the fact: more of it may be noted meanwhile. ok is
// false where it isn't told at all.
func (e *Events) begin(f *fact) (t telling, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until, refused := e.refused[f.event.Key.Namespace]; refused && time.Now().Before(until) {
		e.sending--
		e.queue.lose(f)
		return t, false
	}
	t = telling{
		Event: f.event, name: f.id.name(f.event.Key.Name), instance: instanceOf(e.opts.Instance()),
		n: f.unsent, told: f.told, first: f.first, last: f.last, tried: f.tried,
	}
	if f.told == 0 && f.tried.IsZero() {
		f.tried = f.first
		t.tried = f.first
	}
	return t, true
}

// end notes how telling a fact went.
func (e *Events) end(ctx context.Context, f *fact, n, told int32, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sending--
	if err == nil {
		if _, refused := e.refused[f.event.Key.Namespace]; refused {
			delete(e.refused, f.event.Key.Namespace)
			e.opts.Log.Info("events are sent again", "namespace", f.event.Key.Namespace)
		}
		e.paused, e.hurdles = time.Time{}, 0
		e.queue.toldOf(f, n, told, time.Now())
		return
	}
	switch why := failure(err); {
	case why.Class == plan.NotWriter:
		e.queue.lose(f) // whoever leads now tells its own
	case ctx.Err() != nil:
		e.queue.push(f)
	case why.Class == plan.NotReady:
		e.queue.lose(f) // its namespace goes, and all events with it
	case apierrors.IsForbidden(err):
		e.refuse(f, err)
	case why.Class == plan.Refused:
		e.tellInvalid(f, err)
	default:
		e.again(f, why)
	}
}

// refuse keeps events from being sent into a namespace for a while. The first one
// is told, with the right that is missing. It is locked.
func (e *Events) refuse(f *fact, err error) {
	if len(e.refused) == 0 {
		e.opts.Log.Warn("events can't be sent", "err", &watchError{err})
	}
	e.refused[f.event.Key.Namespace] = time.Now().Add(refusalHolds)
	e.queue.lose(f)
}

// tellInvalid gives up an event that the server won't have. It is locked.
func (e *Events) tellInvalid(f *fact, err error) {
	if !e.invalid {
		e.invalid = true
		e.opts.Log.Warn("the API server refuses an event", "object", f.event.Key.String(), "err", said(err))
	}
	e.queue.lose(f)
}

// again tries later what came to nothing through no fault of the event's. All others
// wait as well. It is locked.
func (e *Events) again(f *fact, why *plan.Failure) {
	f.tries++
	if why.Class == plan.Unavailable {
		wait := min(pauseFirst<<min(e.hurdles, 10), pauseLast)
		e.hurdles++
		e.paused = time.Now().Add(max(wait, why.RetryAfter))
	}
	if f.tries < mostTries {
		e.queue.push(f)
		return
	}
	e.queue.dropped++
	e.queue.lose(f)
}

// tell makes the Event of a fact, or counts it up. n is how many times of the fact
// that has told, and told how many the Event counts now.
func (e *Events) tell(ctx context.Context, t *telling) (n, told int32, err error) {
	if t.told > 0 {
		if told, err = e.countUp(ctx, t, t.told); !apierrors.IsNotFound(err) || failure(err).Class == plan.NotReady {
			return t.n, told, err
		}
		// The server keeps no event for ever.
	}
	if err = e.create(ctx, t); !apierrors.IsAlreadyExists(err) {
		return t.n, t.n, err
	}
	there, err := e.patch(ctx, t, []byte("{}"))
	if err != nil {
		return 0, 0, err
	}
	told = countOf(there)
	if t.tried.Truncate(time.Microsecond).Equal(there.EventTime.Time) && there.ReportingInstance == t.instance {
		return min(told, t.n), told, nil // our own, the answer to which was lost
	}
	told, err = e.countUp(ctx, t, told)
	return t.n, told, err
}

func (e *Events) create(ctx context.Context, t *telling) error {
	if err := e.leave(ctx); err != nil {
		return err
	}
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: t.Key.Namespace, Name: t.name},
		EventTime:           metav1.NewMicroTime(t.first),
		ReportingController: v1.Manager, ReportingInstance: t.instance,
		Action: action, Reason: string(t.Reason), Note: t.Note, Type: corev1.EventTypeNormal,
		Regarding: corev1.ObjectReference{
			APIVersion: v1.APIVersion, Kind: v1.Kind, Namespace: t.Key.Namespace, Name: t.Key.Name, UID: t.UID,
		},
	}
	if t.Reason.Warns() {
		event.Type = corev1.EventTypeWarning
	}
	if t.n > 1 {
		event.Series = &eventsv1.EventSeries{Count: t.n, LastObservedTime: metav1.NewMicroTime(t.last)}
	}
	_, err := e.client.Events(t.Key.Namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: v1.Manager})
	return err
}

// countUp makes the Event, which counts so many, count what is told now as well.
func (e *Events) countUp(ctx context.Context, t *telling, told int32) (int32, error) {
	series := &eventsv1.EventSeries{Count: told + t.n, LastObservedTime: metav1.NewMicroTime(t.last)}
	body, err := json.Marshal(map[string]any{"series": series})
	if err != nil {
		return 0, err
	}
	_, err = e.patch(ctx, t, body)
	return series.Count, err
}

// patch merges a body into the Event, and returns it as it is then. An empty one
// reads it: that takes no right of its own.
func (e *Events) patch(ctx context.Context, t *telling, body []byte) (*eventsv1.Event, error) {
	if err := e.leave(ctx); err != nil {
		return nil, err
	}
	return e.client.Events(t.Key.Namespace).Patch(ctx, t.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: v1.Manager})
}

// leave waits until one more request may be sent. An error says that none may, at
// once where that is so already.
func (e *Events) leave(ctx context.Context) error {
	if e.opts.Leave() {
		if err := e.limit.Wait(ctx); err != nil {
			return err
		}
		if e.opts.Leave() {
			return nil
		}
	}
	return &plan.Failure{Class: plan.NotWriter, Phrase: "the lease is not ours", Err: errLost}
}

// countOf is how often the Event says that it has happened.
func countOf(e *eventsv1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(1, e.DeprecatedCount)
}
