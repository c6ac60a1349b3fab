package report

import "time"

// History is what the last cycles came to. It is bounded: who made it has forgotten
// what was before.
type History struct {
	// Cycles are those that have ended, the oldest first.
	Cycles []Cycle `json:"cycles"`
	// NotConverged are the times in which reports said so, the oldest first; those of a
	// stand-by don't count.
	NotConverged []Span `json:"not_converged"`
}

// Cycle is what one cycle came to.
type Cycle struct {
	Cycle           int64     `json:"cycle"`
	Trigger         Trigger   `json:"trigger"`
	Started         time.Time `json:"started"`
	DurationSeconds float64   `json:"duration_seconds"`
	Reads           int64     `json:"reads"`
	Writes          int64     `json:"writes"`
	// Healed counts the objects that were as they should be before, and that somebody
	// else had changed: what was written to them was there already once.
	Healed int `json:"healed"`
}

// Span is a time. Its end is zero, and absent from JSON, while it lasts.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}
