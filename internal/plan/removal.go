package plan

import "time"

// Removal is what the guard says of a live object of ours that no file names.
type Removal struct {
	State RemovalState
	// Reason says why, in words; "" where the state is RemovalNone.
	Reason string
	// After is when to ask again, unless something happens before; 0 where
	// nothing is awaited.
	After time.Duration
}

// RemovalState is how far the removal of an object has come.
type RemovalState int

// The states of a removal. The zero value is RemovalNone.
const (
	// RemovalNone: a file names the object, or it isn't ours to delete.
	RemovalNone RemovalState = iota
	// RemovalKept: it stays, and that is as it should be.
	RemovalKept
	// RemovalDue: it will be deleted when some time is over or something is done.
	RemovalDue
	// RemovalHeld: it isn't deleted until a person approves or mends something.
	RemovalHeld
	// RemovalAllowed: delete it now.
	RemovalAllowed
)

// Dependency is another WebService that has to be done first.
type Dependency struct {
	Key Key
	// Ready: its live spec is what its file says, and its status speaks of that
	// spec and says Ready.
	Ready bool
	// Reason says in words why it isn't; "" where it is.
	Reason string
}
