package plan

import "time"

// FailureClass says what a step's failure means for what comes next.
type FailureClass int

// The classes of failures. The zero value is Unavailable.
const (
	// Unavailable: no answer, or one that says to come again. Trying again later
	// may well help.
	Unavailable FailureClass = iota
	// Refused: the server has judged the write and won't have it. The same write
	// has the same answer until something changes.
	Refused
	// Outdated: the object isn't what the decision was made on any more. The
	// watch will tell, and then the decision is made anew.
	Outdated
	// NotReady: something must come about first, such as the namespace.
	NotReady
	// NotWriter: this process isn't the one that may write.
	NotWriter
)

// Failure is the error of a step.
type Failure struct {
	Class FailureClass
	// Phrase is the same for every failure of the kind: it may go onto an object.
	Phrase string
	// Err has the details, which may differ from one time to the next.
	Err error
	// RetryAfter is the least time to wait that the server asks for; 0 if it doesn't.
	RetryAfter time.Duration
}

// Error is the server's own text, or whatever stood in the way.
func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Phrase
	}
	return f.Err.Error()
}

// Unwrap gives the error beneath.
func (f *Failure) Unwrap() error { return f.Err }
