package engine

import "time"

// pace spaces the tries of all objects together that got no good answer from the
// server the last time. Each has a backoff of its own; but when everything fails,
// many of those come to many requests for a server that is in trouble already. With
// one object that fails it is never in the way. The zero value holds nobody up.
type pace struct {
	// failures are the tries in a row that failed, and next is before when there is
	// none.
	failures int
	next     time.Time
}

// mostPace is the longest time between two tries.
const mostPace = 4 * time.Second

// wait is how long the next try has to wait; where that is 0 it is begun.
func (p *pace) wait(now time.Time, b Backoff) time.Duration {
	if left := p.next.Sub(now); left > 0 {
		return left
	}
	b.Max = min(b.Max, mostPace)
	p.next = now.Add(b.delay(p.failures+1, 0))
	return 0
}

func (p *pace) failed() { p.failures++ }

// answered ends it: the server does what it is asked for again.
func (p *pace) answered() { *p = pace{} }
