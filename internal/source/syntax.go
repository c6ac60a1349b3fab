package source

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fault is one in a line of the chunk, counted from 1. Its column is that of the
// line's first visible character: the YAML reader tells none.
func (c chunk) fault(line int, message string) *fault {
	last := lineAt(bytes.TrimRight(c.text, " \t\r\n"))
	line = max(min(line, last), 1)
	text := c.lineNumber(line)
	blanks := len(text) - len(bytes.TrimLeft(text, " \t"))
	return &fault{line: c.line + line, column: utf8.RuneCount(text[:blanks]) + 1, message: message}
}

func (c chunk) lineNumber(wanted int) []byte {
	number := 0
	for line := range lines(c.text) {
		if number++; number == wanted {
			return line
		}
	}
	return nil
}

var errorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxFault words an error of the YAML reader, whose only form is a text.
func syntaxFault(err error, c chunk) *fault {
	message, line := err.Error(), 1
	if m := errorLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n - linesAdded
		}
	}
	if strings.HasPrefix(message, "did not find expected") {
		line++ // these count from 0
	}
	switch name, found := strings.CutPrefix(message, "unknown anchor '"); {
	case found:
		return c.unknownAnchor(strings.TrimSuffix(name, "' referenced"))
	case message == "did not find expected key", message == "did not find expected '-' indicator", strings.HasSuffix(message, "<document start>"):
		if number := misindented(c.text, line); number > 0 {
			return c.fault(number, "not valid YAML: no line above begins at this column: mend the indentation")
		}
	}
	return c.fault(line, "not valid YAML: "+message+": "+syntaxAdvice(message, c.text, line))
}

// unknownAnchor has the place of the alias, which the YAML reader doesn't tell.
func (c chunk) unknownAnchor(name string) *fault {
	f := c.fault(1, fmt.Sprintf("not valid YAML: there is no anchor for the alias *%s: define it with & before, in the same document", name))
	if line, column := aliasAt(c.text, name); line > 0 {
		f.line, f.column = c.line+line, column
	}
	return f
}

// syntaxAdvice says what to write instead: the slip that shows near the line, or
// else what usually leads to the message.
func syntaxAdvice(message string, text []byte, near int) string {
	number := 0
	for line := range lines(text) {
		number++
		switch {
		case number < near-1 || number > near+1:
		case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")):
			return "indent with blanks, not with tabs"
		case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\u00A0")):
			return "indent with plain blanks, not with no-break spaces"
		case string(line) == "=======":
			return "resolve the merge conflict, and remove git's marks"
		case bytes.Contains(line, []byte("{{")):
			return "render the template first"
		}
	}
	for _, known := range syntaxAdvices() {
		if strings.Contains(message, known.message) {
			return known.advice
		}
	}
	return "mend the indentation, quotes and brackets in this line or the one before"
}

type advice struct{ message, advice string }

// syntaxAdvices has, for a part of a message of the YAML reader, the usual remedy.
func syntaxAdvices() []advice {
	return []advice{
		{"mapping values are not allowed", "quote a value that holds a colon and a blank, or mend the indentation"},
		{"cannot start any token", "quote a value that begins with @, ` or %"},
		{"could not find expected ':'", "write name: value, with a blank after the colon"},
		{"unexpected end of stream", "close the quotes"},
		{"<document start>", "begin a new document with a line of ---"},
		{"',' or", "close the bracket, and part the items with commas"},
		{"block sequence entries are not allowed", "begin the list on a line of its own"},
		{"unknown escape character", `write \\ for a backslash in double quotes, or use single quotes`},
		{"hexdecimal number", `write \\ for a backslash in double quotes, or use single quotes`},
		{"incompatible YAML document", "write %YAML 1.2, or leave that line out"},
		{"unknown directive name", "leave out the line that begins with %"},
		{"undefined tag handle", "leave the tag out"},
		{"max depth", "nest less deeply"},
	}
}
