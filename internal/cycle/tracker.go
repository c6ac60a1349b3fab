// Package cycle says what is settled and what is converged.
//
// A Tracker follows the keys of a controller: which of them can act now, and
// what the last verdict on each of the others was. A cycle begins with the first
// key that can act and ends when none can. Judge says from a handful of facts
// whether all is as it should be; nothing else in the program may say so.
package cycle

// Standing is what the last verdict on a key means for convergence.
type Standing int

// The standings. The zero value is Done.
const (
	// Done: nothing is left to do.
	Done Standing = iota
	// Waiting: something must come about first.
	Waiting
	// Failing: something failed and is tried again.
	Failing
	// Held: a deletion that isn't allowed yet.
	Held
	// Blocked: what waits for held deletions, and so for a person as they do.
	Blocked
	standings
)

// Tracker follows keys through cycles. It isn't safe for concurrent use. The
// zero value is ready for use.
type Tracker[K comparable] struct {
	number  int64
	open    bool
	trigger string
	busy    int
	keys    map[K]state
	counts  [standings]int
}

type state struct {
	busy     bool
	judged   bool
	standing Standing
}

// Wake notes that key can act, and says whether that began a cycle. What it waited for
// is of no interest any more.
func (t *Tracker[K]) Wake(key K, trigger string) (began bool) {
	if t.keys == nil {
		t.keys = map[K]state{}
	}
	s := t.keys[key]
	if !s.busy {
		if s.judged && s.standing == Waiting {
			t.counts[Waiting]--
			s.judged = false
		}
		s.busy = true
		t.busy++
		t.keys[key] = s
	}
	return t.Begin(trigger)
}

// Rest notes the verdict on a key that can't act any more.
func (t *Tracker[K]) Rest(key K, standing Standing) {
	s := t.keys[key]
	t.leave(s)
	t.counts[standing]++
	t.keys[key] = state{judged: true, standing: standing}
}

// Drop forgets a key that doesn't exist any more.
func (t *Tracker[K]) Drop(key K) {
	t.leave(t.keys[key])
	delete(t.keys, key)
}

func (t *Tracker[K]) leave(s state) {
	if s.busy {
		t.busy--
	}
	if s.judged {
		t.counts[s.standing]--
	}
}

// Cut closes an open cycle although keys can act: whoever worked on them has
// gone. The keys stay as they are, and the next cycle has them too.
func (t *Tracker[K]) Cut() { t.open = false }

// Begin opens a cycle unless one is open, and says whether it did.
func (t *Tracker[K]) Begin(trigger string) (began bool) {
	if t.open {
		return false
	}
	t.open, t.trigger = true, trigger
	t.number++
	return true
}

// End closes the cycle if no key can act and the cache has caught up with our
// own writes. It says whether it did.
func (t *Tracker[K]) End(caughtUp bool) (ended bool) {
	if !t.open || t.busy > 0 || !caughtUp {
		return false
	}
	t.open = false
	return true
}

// Settled is true while no cycle is open.
func (t *Tracker[K]) Settled() bool { return !t.open }

// Number is the number of the last cycle that began; 0 before the first.
func (t *Tracker[K]) Number() int64 { return t.number }

// Trigger is what began it.
func (t *Tracker[K]) Trigger() string { return t.trigger }

// Busy counts the keys that can act.
func (t *Tracker[K]) Busy() int { return t.busy }

// Count counts the keys whose last verdict has the standing. Of those that wait, the
// ones that can act now don't count.
func (t *Tracker[K]) Count(s Standing) int { return t.counts[s] }
