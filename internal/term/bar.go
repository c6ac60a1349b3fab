package term

import "strings"

// Bar is how much of a whole is done, in that many columns. It is full only when
// all is.
func Bar(done, total, columns int) string {
	filled := 0
	if total > 0 {
		filled = min(done, total) * columns / total
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat("·", columns-filled) + "]"
}
