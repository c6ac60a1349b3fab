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
