package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// linesAdded is what parseYAML puts before a document: the reader doesn't say the
// line of an error in the first line.
const linesAdded = 1

// parseYAML reads the one document of a chunk into nodes. Lines of nodes count from
// linesAdded before the chunk, those of a fault in the file. A document without
// content is nil.
func parseYAML(c chunk) (root *yaml.Node, f *fault) {
	defer func() {
		// The reader panics on inconsistencies of its own; a bad file must not
		// take the program with it.
		if r := recover(); r != nil {
			root, f = nil, &fault{line: c.line + 1, message: fmt.Sprintf("not valid YAML: %v", r)}
		}
	}()
	if f := glued(c); f != nil {
		return nil, f
	}
	reader := yaml.NewDecoder(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(withoutVersion(c.text))))
	var document yaml.Node
	switch err := reader.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxFault(err, c)
	}
	var more yaml.Node
	if err := reader.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, trailingFault(err, &more, c)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root = document.Content[0]
	markBareTags(root, c.text)
	return root, nil
}

// glued refuses a separator that text follows without a blank: it separates nothing,
// and two objects look like one.
func glued(c chunk) *fault {
	number := 0
	for line := range lines(c.text) {
		number++
		if bytes.HasPrefix(line, []byte("---")) && !marked(line, "---") {
			return &fault{line: c.line + number, column: 1, message: "a line begins with --- and text: put a line end after ---"}
		}
	}
	return nil
}

// withoutVersion makes the directive %YAML 1.2 at the head of a document into a
// comment: the reader takes 1.2, but it refuses its name.
func withoutVersion(text []byte) []byte {
	at := bytes.Index(text, []byte("%YAML 1."))
	if at < 0 || at > 0 && text[at-1] != '\n' || bytes.HasPrefix(text, []byte("---")) || bytes.Contains(text[:at], []byte("\n---")) {
		return text
	}
	text = bytes.Clone(text)
	text[at] = '#'
	return text
}

// trailingFault: the reader sees more than one document where split saw one.
func trailingFault(err error, more *yaml.Node, c chunk) *fault {
	if err != nil {
		return syntaxFault(err, c)
	}
	return &fault{
		line:    c.line + max(more.Line-1, 1),
		message: "text follows the end of the document: begin a new one with a line of ---",
	}
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
	last := lineAt(bytes.TrimRight(c.text, " \t\r\n"))
	line = max(min(line, last), 1)
	return &fault{line: c.line + line, message: "not valid YAML: " + message + syntaxHint(c.text, line)}
}

// syntaxHint guesses at the slip behind a syntax error near a line.
func syntaxHint(text []byte, near int) string {
	number := 0
	for line := range lines(text) {
		number++
		switch {
		case number < near-1 || number > near+1:
		case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")):
			return " (indent with blanks, not with tabs)"
		case bytes.Contains(line, []byte("{{")):
			return " (a template must be rendered first)"
		}
	}
	return ""
}
