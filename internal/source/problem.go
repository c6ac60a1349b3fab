package source

import (
	"cmp"
	"fmt"
)

// Problem is one fault, or one warning, with the place to look at.
type Problem struct {
	// Path is the file in the source, with slashes.
	Path string
	// Document is the place of the document in the file, from 1, empty ones
	// included; 0 where the whole file is meant.
	Document int
	// Line and Column count from 1 in the file; 0 where there is no place.
	Line, Column int
	// Field is the path of the field, such as spec.image; "" where none is meant.
	Field string
	// Message is one sentence that says what to write instead.
	Message string
}

// Error is "path:line:column: message", as compilers write it.
func (p Problem) Error() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.Path, p.Message)
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
	default:
		return fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Message)
	}
}

// compareProblems orders problems as a reader meets them.
func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Document, b.Document),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Field, b.Field),
		cmp.Compare(a.Message, b.Message),
	)
}
