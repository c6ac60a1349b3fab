package term

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns is how many columns the text takes on a terminal. East Asian characters
// take two, and marks that go onto the character before them none.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch {
	case r < unicode.MaxASCII:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), joinsSyllable(r):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// joinsSyllable says whether r is a vowel or a final of a Korean syllable that is
// written in parts, as file names on macOS are: only its first part takes room.
func joinsSyllable(r rune) bool { return r >= 0x1160 && r <= 0x11ff }

// Cut is the text where it fits into that many columns, else as much of it as
// does, with "…" at the end. 0 columns or less are no limit.
func Cut(text string, limit int) string {
	if limit <= 0 || Columns(text) <= limit {
		return text
	}
	head, _ := split(text, limit-1)
	return strings.TrimRight(head, " ") + "…"
}

// split cuts text after the last character that ends within the limit.
func split(text string, limit int) (head, tail string) {
	n := 0
	for i, r := range text {
		if n += columns(r); n > limit {
			return text[:i], text[i:]
		}
	}
	return text, ""
}
