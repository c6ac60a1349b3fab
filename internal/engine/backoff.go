package engine

import "time"

// Backoff spaces the tries of an object that fails.
type Backoff struct {
	// Initial is the wait after the first failure, Max the longest one, both without
	// jitter.
	Initial, Max time.Duration
}

// jitter is the share of a wait that chance may add, so that objects that failed
// together don't come back together. It never takes away: no object is tried more
// than once in the longest wait.
const jitter = 0.2

// delay is the wait after so many failures in a row, at least 1. chance is a
// number from 0 to 1.
func (b Backoff) delay(failures int, chance float64) time.Duration {
	d := b.Initial
	for i := 1; i < failures && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	return d + time.Duration(float64(d)*jitter*chance)
}
