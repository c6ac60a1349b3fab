package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
			root, f = nil, c.fault(1, fmt.Sprintf("not valid YAML: %v: write it in a simpler way", r))
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
			return c.fault(number, "a line begins with --- and text: put a line end after ---")
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
	return c.fault(more.Line-linesAdded, "text follows the end of the document: begin a new one with a line of ---")
}
