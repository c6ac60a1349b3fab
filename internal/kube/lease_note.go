package kube

import (
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// takenOverAnnotation is the note on a Lease that says when it was last taken from
// another holder, by the server's clock. It outlives a release and the process that
// wrote it: whoever has the Lease next, and so whoever may delete, knows of it.
const takenOverAnnotation = v1.TakenOverAnnotation

// serverClock tells the time by the API server's clock, which is the same for all
// that hold a Lease in turns. Before the first answer that is our own.
type serverClock struct{ ahead atomic.Int64 }

// clockGrain is how much two clocks must differ before it counts: an answer's date
// has whole seconds, and was some time on its way.
const clockGrain = 3 * time.Second

// wrap reads the clock off each answer.
func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(req)
		if err != nil {
			return answer, err
		}
		if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
			c.set(time.Until(date))
		}
		return answer, nil
	})
}

// noteGrain is how far ahead a note may be that another has just written: clocks that
// are told by answers differ by so much.
const noteGrain = 10 * time.Second

func (c *serverClock) set(ahead time.Duration) {
	if ahead.Abs() < clockGrain {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
}

func (c *serverClock) now() time.Time {
	// Without its monotonic part: what it is compared with has none.
	return time.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

// stamp is the time as a note has it.
func (c *serverClock) stamp() string { return c.now().UTC().Format(metav1.RFC3339Micro) }

// possible says whether a note can be right: it is a time, and not one to come.
func (c *serverClock) possible(note string) bool {
	at, err := time.Parse(time.RFC3339Nano, note)
	return err == nil && at.Before(c.now().Add(noteGrain))
}

// since is when a note was written, by our own clock; "" is never. One that lies
// ahead, or that nobody can read, counts as written just now: that is the safe side.
func (c *serverClock) since(note string) time.Time {
	if note == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, note)
	if err != nil || !c.possible(note) {
		return time.Now()
	}
	return time.Now().Add(-max(0, c.now().Sub(at)))
}
