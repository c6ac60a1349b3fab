package plan

import (
	"slices"
	"strconv"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// A field may be taken back this often within that time. Whoever changes it once
// more is fought no further.
const (
	contestLimit  = 5
	contestWindow = time.Minute
)

// wholeChild is the path that a ConfigMap counts under that is made anew.
const wholeChild = "configmap"

// made is the change that making a ConfigMap comes to.
func made() Change { return Change{Path: wholeChild, Missing: true} }

// Contests counts how often fields of one object were taken back from somebody
// else who changes them. The zero value has counted none. It isn't safe for
// several goroutines.
//
// Only what somebody else has undone is to be counted, and a person who edits a
// file often undoes nothing: a StepApply counts where the one that succeeded
// before had the same Desired.Digest, and a StepCreateChild or StepUpdateChild
// where the WebService has had the same generation since the one before. Their
// Decision has the changes.
type Contests struct {
	// taken has the latest times for each path, the oldest first, and no more than
	// contestLimit.
	taken map[string][]time.Time
}

// Took notes that changes were taken back now.
func (c *Contests) Took(changes []Change, now time.Time) {
	c.forget(now)
	for i := range changes {
		if c.taken == nil {
			c.taken = map[string][]time.Time{}
		}
		path := changes[i].Path
		times := append(c.taken[path], now)
		c.taken[path] = slices.Delete(times, 0, max(0, len(times)-contestLimit))
	}
}

// Paths lists the fields that must not be written now, sorted; nil where all may be.
func (c *Contests) Paths(now time.Time) []string {
	if len(c.taken) == 0 {
		return nil
	}
	c.forget(now)
	var out []string
	for path, times := range c.taken {
		if left(times, now) > 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Free is how long it takes until one of Paths may be written again; 0 where there
// are none.
func (c *Contests) Free(now time.Time) time.Duration {
	var free time.Duration
	for _, times := range c.taken {
		if l := left(times, now); l > 0 && (free == 0 || l < free) {
			free = l
		}
	}
	return free
}

// left is how long a path with those times is still contested; 0 or less where it
// isn't.
func left(times []time.Time, now time.Time) time.Duration {
	if len(times) < contestLimit {
		return 0
	}
	return times[0].Add(contestWindow).Sub(now)
}

// forget drops the paths that nobody has changed for as long as counts.
func (c *Contests) forget(now time.Time) {
	for path, times := range c.taken {
		if !times[len(times)-1].Add(contestWindow).After(now) {
			delete(c.taken, path)
		}
	}
	if len(c.taken) == 0 {
		c.taken = nil
	}
}

// contestedOf is the first change that somebody else keeps undoing; nil where none is.
func contestedOf(in *Input, changes []Change) *Change {
	if len(in.Contested) == 0 {
		return nil
	}
	for i := range changes {
		if _, found := slices.BinarySearch(in.Contested, changes[i].Path); found {
			return &changes[i]
		}
	}
	return nil
}

func contested(on Target, c *Change) verdict {
	who, what := c.By, c.Path
	if who == "" {
		who = "somebody else"
	}
	if what == wholeChild {
		what = "the ConfigMap"
	}
	return failing(on, who+" keeps changing "+what+", which was taken back "+strconv.Itoa(contestLimit)+
		" times within a minute: let only one of the two write it",
		readiness{reason: v1.ReasonContested, message: "Somebody else keeps changing " + what})
}
