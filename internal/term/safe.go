package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text that comes from files or from the cluster safe to print: on
// one line, and without characters that a terminal would obey, or that would
// show the text in another order than it is in. They are written as Go writes
// them in a string.
func Line(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.ContainsAny(text, "\r\n") {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	}
	if strings.IndexFunc(text, unsafe) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// JSON escapes, in encoded JSON, what a terminal would obey and JSON allows as
// it is. Such characters can only be in strings, so the JSON says the same.
func JSON(text string) string {
	inString := func(r rune) bool { return r != '\n' && unsafe(r) }
	if strings.IndexFunc(text, inString) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if inString(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
