package source

import (
	"bytes"
	"regexp"
)

// beginsText matches a line after which a text of several lines follows.
var beginsText = regexp.MustCompile(`[:-] +[|>][-+0-9]*\s*(#.*)?$`)

// misindented finds the first line, from one on, that begins at a column where nothing
// above it does, though it is further to the left than the line before; 0 where there
// is none. The YAML reader tells only where the mapping begins that is spoilt by it.
func misindented(text []byte, from int) int {
	var columns []int // at which something open begins, from the left
	number, block := 0, -1
	for line := range lines(text) {
		number++
		rest := bytes.TrimLeft(line, " ")
		if len(rest) == 0 || rest[0] == '#' || marked(line, "---") {
			continue
		}
		column := len(line) - len(rest)
		if block >= 0 && column > block {
			continue // a text of several lines has its own columns
		}
		if block = -1; beginsText.Match(rest) {
			block = column
		}
		for len(columns) > 0 && columns[len(columns)-1] > column {
			columns = columns[:len(columns)-1]
			if number >= from && (len(columns) == 0 || columns[len(columns)-1] < column) {
				return number
			}
		}
		columns = open(columns, column, rest)
	}
	return 0
}

// open adds the column of a line, and those of what follows the marks of list items.
func open(columns []int, column int, rest []byte) []int {
	for {
		if len(columns) == 0 || columns[len(columns)-1] < column {
			columns = append(columns, column)
		}
		if !marked(rest, "-") {
			return columns
		}
		item := bytes.TrimLeft(rest[1:], " ")
		if len(item) == 0 {
			return columns
		}
		column += len(rest) - len(item)
		rest = item
	}
}

// aliasAt finds the line of an alias, and its column.
func aliasAt(text []byte, name string) (line, column int) {
	alias := []byte("*" + name)
	for i := 0; ; {
		at := bytes.Index(text[i:], alias)
		if at < 0 {
			return 0, 0
		}
		i += at
		after := text[i+len(alias):]
		begins := i == 0 || bytes.IndexByte([]byte(" \t\r\n,[{"), text[i-1]) >= 0
		if begins && (len(after) == 0 || bytes.IndexByte([]byte(" \t\r\n,]}"), after[0]) >= 0) {
			return position(text[:i])
		}
		i += len(alias)
	}
}
