package source

import (
	"bytes"
	"hash/crc32"
)

// outline is what is remembered of a YAML file's text, to recognise that another
// text is only its beginning: a checksum a line.
type outline struct {
	// sums has for each line the checksum of the text up to its end, whether or not
	// the last has one. The lowest bit is documentEnd instead.
	sums []uint32
	// ended: the last line has an end, as the others do.
	ended bool
}

// documentEnd marks a line after which the text could end without a document being
// cut: what follows belongs to the next.
const documentEnd = 1

// lineKind is what a line is to the documents of a text.
type lineKind int

const (
	lineOfDocument lineKind = iota
	lineIdle                // nothing, or a comment, which belongs to what follows
	lineSeparator
	lineOfStart // the first of an object, which in a list no separator precedes
)

// outlineOf makes the outline of a text, in which objects begin.
func outlineOf(text []byte, objects []Object) *outline {
	starts := make(map[int]bool, len(objects))
	for i := range objects {
		starts[objects[i].Line] = true
	}
	o := &outline{ended: bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\r"))}
	var kinds []lineKind
	table, sum := crc32.MakeTable(crc32.Castagnoli), uint32(0)
	for line := range lines(text) {
		sum = crc32.Update(crc32.Update(sum, table, line), table, []byte{'\n'})
		o.sums = append(o.sums, sum&^documentEnd)
		kinds = append(kinds, kindOf(line, starts[len(o.sums)]))
	}
	next := lineSeparator
	for i := len(kinds) - 1; i >= 0; i-- {
		if next >= lineSeparator || kinds[i] == lineSeparator {
			o.sums[i] |= documentEnd
		}
		if kinds[i] != lineIdle {
			next = kinds[i]
		}
	}
	return o
}

func kindOf(line []byte, start bool) lineKind {
	switch {
	case start:
		return lineOfStart
	case marked(line, "---"), marked(line, "..."):
		return lineSeparator
	case len(bytes.TrimSpace(line)) == 0, line[0] == '#':
		return lineIdle
	default:
		return lineOfDocument
	}
}

// cut is how a text breaks off.
type cut int

const (
	notCut cut = iota
	// cutInLine: in the middle of a line.
	cutInLine
	// cutInDocument: where a document went on before.
	cutInDocument
)

// cutOf says whether the text of o is the beginning of an earlier one and no more.
// content says that it holds any document; where there is none, also the end of a
// document is no place to end at. Either outline may be nil: JSON, in which brackets
// tell.
func (o *outline) cutOf(earlier *outline, content bool) cut {
	if o == nil || earlier == nil {
		return notCut
	}
	n := len(o.sums)
	switch {
	case earlier.ended && !o.ended:
		return cutInLine
	case o.beginsAs(earlier, n):
		if n < len(earlier.sums) && (!content || earlier.sums[n-1]&documentEnd == 0) {
			return cutInDocument
		}
	case !o.ended && o.beginsAs(earlier, n-1):
		return cutInLine
	}
	return notCut
}

// beginsAs says whether the first n lines are those of an earlier text.
func (o *outline) beginsAs(earlier *outline, n int) bool {
	return n > 0 && n <= len(earlier.sums) && (o.sums[n-1]^earlier.sums[n-1])&^documentEnd == 0
}
