package source

import "bytes"

// chunk is the text of one YAML document with its separator and directives.
type chunk struct {
	text []byte
	// line is the number of lines in the file before text.
	line int
	// empty says that there are only blanks and comments.
	empty bool
}

// split cuts a YAML stream into documents, which are counted as users count them:
// whatever stands before the first separator is one if it has as much as a
// comment, and so is what stands between two separators.
//
// A separator counts at the start of a line alone. There it counts even inside a
// block scalar, whose own lines are always indented.
func split(text []byte) []chunk {
	s := splitter{rest: text}
	for len(s.rest) > 0 {
		s.step()
	}
	s.end()
	return s.chunks
}

// splitter holds the document that is being collected: rest[:size] at its end.
type splitter struct {
	chunks []chunk
	text   []byte // the document so far
	rest   []byte // what follows it
	start  int    // lines before the document
	line   int    // lines before rest

	explicit, content, comment, directive bool
}

// step takes one line.
func (s *splitter) step() {
	line, rest := cutLine(s.rest)
	if marked(line, "---") {
		s.separator()
	}
	s.note(line)
	s.text = extend(s.text, line, s.rest)
	s.rest = rest
	s.line++
	if marked(line, "...") {
		s.end()
	}
}

// extend grows text by line, which follows it in the same file, without a copy.
func extend(text, line, from []byte) []byte {
	if text == nil {
		return from[:len(line)]
	}
	return text[:len(text)+len(line)]
}

// separator ends the document before it, unless that is only the head, such as a
// %YAML line, of the one that begins.
func (s *splitter) separator() {
	if s.explicit || s.content || s.comment && !s.directive {
		s.end()
	}
	s.explicit = true
}

// note keeps in mind what a line adds to the document.
func (s *splitter) note(line []byte) {
	if marked(line, "---") {
		line = line[3:]
	} else if marked(line, "...") {
		return
	}
	visible := bytes.TrimLeft(bytes.TrimRight(line, " \t\r\n"), " \t")
	switch {
	case len(visible) == 0:
	case visible[0] == '#':
		s.comment = true
	case line[0] == '%' && !s.explicit && !s.content:
		s.directive = true
	default:
		s.content = true
	}
}

// end closes the document, if there is one.
func (s *splitter) end() {
	if s.explicit || s.content || s.comment || s.directive {
		s.chunks = append(s.chunks, chunk{
			text:  s.text,
			line:  s.start,
			empty: !s.content && !s.directive,
		})
	}
	*s = splitter{chunks: s.chunks, rest: s.rest, start: s.line, line: s.line}
}

// marked says whether line begins with marker as a word of its own.
func marked(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}
