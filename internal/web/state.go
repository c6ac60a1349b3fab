package web

import "labhub.io/webservice-controller/internal/report"

// state is what a person sees at once of an object. The page has a word, a sign and a
// filter for each.
type state string

// The states, of which the first that applies counts.
const (
	stateHeld      state = "held"
	stateFailing   state = "failing"
	stateWaiting   state = "waiting"
	stateChanged   state = "changed"
	stateUnusable  state = "unusable"
	stateSuspended state = "suspended"
	stateGood      state = "good"
)

// stateOf is worked out here and not on the page: that an object is kept because its
// file can't be used is told by its reason alone there, and reasons are for people.
func stateOf(i *report.Item, held map[key]bool) state {
	switch {
	case held[key{i.Namespace, i.Name}]:
		return stateHeld
	case i.Failed():
		return stateFailing
	case i.Action == report.ActionRequeue:
		return stateWaiting
	case i.Action != report.ActionNoop:
		return stateChanged
	case i.Unusable:
		return stateUnusable
	case i.Suspended:
		return stateSuspended
	}
	return stateGood
}

// heldKeys are the objects whose deletion is held.
func heldKeys(held []report.Held) map[key]bool {
	keys := make(map[key]bool, len(held))
	for _, h := range held {
		keys[key{h.Namespace, h.Name}] = true
	}
	return keys
}
