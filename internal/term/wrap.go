package term

import "strings"

// Wrap breaks text into lines of at most that many columns, between words where
// it can. There is at least one line, and nothing but blanks is left out. 0 columns or less
// are no limit.
func Wrap(text string, limit int) []string {
	if limit <= 0 || Columns(text) <= limit {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= limit:
			line += " " + word
			continue
		default:
			lines = append(lines, line)
			line = word
		}
		for Columns(line) > limit {
			head, tail := split(line, limit)
			if head == "" {
				break // a character that is wider than all the room there is
			}
			lines, line = append(lines, head), tail
		}
	}
	return append(lines, line)
}

// Around is Wrap, but the part of the text that is kept stands on a line of its own,
// however long, so that it can be copied. What only joined it to the rest falls away:
// a colon or a parenthesis. Without a limit, or where kept isn't in the text, nothing
// is kept apart.
func Around(text, kept string, limit int) []string {
	before, after, found := strings.Cut(text, kept)
	if limit <= 0 || kept == "" || !found {
		return Wrap(text, limit)
	}
	lines := Wrap(strings.TrimRight(before, " :("), limit)
	lines[len(lines)-1] += ":"
	lines = append(lines, kept)
	if after = strings.Trim(after, " ;,)"); after != "" {
		lines = append(lines, Wrap(after, limit)...)
	}
	return lines
}
