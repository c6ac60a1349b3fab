package source

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// lines yields the lines of text without their ends. A line ends with LF, CR LF
// or, as YAML has it, a CR alone.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			line, rest := cutLine(text)
			if !yield(bytes.TrimRight(line, "\r\n")) {
				return
			}
			text = rest
		}
	}
}

// cutLine parts the first line, with its end, from the rest.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexAny(text, "\r\n")
	switch {
	case i < 0:
		return text, nil
	case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
		return text[:i+2], text[i+2:]
	default:
		return text[:i+1], text[i+1:]
	}
}

// lineAt is the number of the line that the end of text is in.
func lineAt(text []byte) int {
	line, _ := position(text)
	return line
}

// position is the line and column of the character that follows text.
func position(text []byte) (line, column int) {
	line = 1
	for {
		head, rest := cutLine(text)
		if len(rest) == 0 && !bytes.HasSuffix(head, []byte("\n")) && !bytes.HasSuffix(head, []byte("\r")) {
			return line, utf8.RuneCount(head) + 1
		}
		line++
		text = rest
	}
}
