package source

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// bareTag stands for the tag "!" alone, which makes a string of a scalar to some YAML
// readers and means nothing to others.
const bareTag = "! alone"

// maxProperties is how far the anchor and the tag of a node reach at most; a longer
// one isn't looked through.
const maxProperties = 200

// markBareTags gives scalars with the tag "!" one that shows: the reader drops it,
// so that only the text still has it. Line and column of a node are those of its
// anchor or its tag, if it has one.
func markBareTags(root *yaml.Node, text []byte) {
	if !hasLoneMark(text) {
		return
	}
	var all [][]rune
	for line := range lines(text) {
		all = append(all, []rune(string(line)))
	}
	eachScalar(root, func(n *yaml.Node) {
		line := n.Line - linesAdded - 1
		if n.Style&yaml.TaggedStyle == 0 && line >= 0 && line < len(all) && hasBareTag(all[line], n.Column-1) {
			n.Tag, n.Style = bareTag, n.Style|yaml.TaggedStyle
		}
	})
}

// hasLoneMark spares most documents the search.
func hasLoneMark(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '!')
		if i < 0 {
			return false
		}
		if text = text[i+1:]; len(text) == 0 || bytes.IndexByte([]byte(" \t\r\n,]}"), text[0]) >= 0 {
			return true
		}
	}
}

// hasBareTag looks at what stands before a node's text.
func hasBareTag(line []rune, column int) bool {
	if column >= len(line) {
		return false
	}
	window := line[column:min(len(line), column+maxProperties)]
	for _, word := range strings.Fields(string(window)) {
		if strings.TrimRight(word, ",]}") == "!" {
			return true
		}
		if !strings.HasPrefix(word, "&") {
			return false
		}
	}
	return len(window) == maxProperties
}

// eachScalar visits every scalar of a document once; aliases aren't followed.
func eachScalar(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.ScalarNode {
		visit(n)
	}
	for _, child := range n.Content {
		eachScalar(child, visit)
	}
}
