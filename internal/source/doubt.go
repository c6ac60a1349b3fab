package source

import (
	"errors"
	"fmt"
	"strings"
)

// Doubt says why it means nothing that an object isn't in this snapshot, and what
// to do about it, in one phrase for people; "" where it does mean something. It
// depends on nothing but the state of the files, so that it stays the same while
// they do. s may be nil: nothing was read yet.
//
// Whether an empty source is meant is for the caller to say, who tells it by
// errors.Is(s.Err, ErrEmpty): it is the last of the doubts, so that there is no
// other one then.
func (s *Snapshot) Doubt() string {
	switch {
	case s == nil:
		return "the source wasn't read yet"
	case s.Err != nil && !errors.Is(s.Err, ErrEmpty):
		return valid(s.Err.Error() + ": " + rootAdvice(s.Err))
	case !s.Complete:
		return "the source wasn't read whole"
	case len(s.Problems) > 0:
		return valid("a problem in the source: " + s.Problems[0].place() + ": mend it")
	case len(s.Unsettled) > 0:
		return valid(s.Unsettled[0] + " still changes: let it rest")
	case s.Err != nil:
		return "the source holds no WebService: mend source.path, or set source.allowEmpty"
	default:
		return ""
	}
}

// rootAdvice says what to do about an error of the source as a whole.
func rootAdvice(err error) string {
	switch {
	case errors.Is(err, ErrDangling):
		return "mend the link"
	case errors.Is(err, ErrNotDirectory):
		return "let source.path name a directory"
	case errors.Is(err, ErrUnreadable):
		return "make it readable"
	default:
		return "put it back, or mend source.path"
	}
}

// place is "path:line", or as much of it as there is.
func (p Problem) place() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.Line == 0:
		return p.Path
	default:
		return fmt.Sprintf("%s:%d", p.Path, p.Line)
	}
}

// valid makes a text with a file's name fit for an object's status: names may hold
// any byte.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
