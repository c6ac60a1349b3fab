package source

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// namesIn guesses which objects a text that can't be parsed is about, so that none
// of them counts as absent: it looks for name and namespace under metadata. A
// name too many does no harm.
func namesIn(text []byte, defaultNamespace string) []types.NamespacedName {
	g := guesser{fallback: defaultNamespace, block: -1}
	for line := range lines(text) {
		g.line(line)
	}
	g.end()
	return g.names
}

// guesser walks lines; block is the indentation of the metadata that it is in, or
// -1, and child that of its members.
type guesser struct {
	fallback     string
	names        []types.NamespacedName
	block, child int
	key          types.NamespacedName
}

func (g *guesser) line(line []byte) {
	trimmed := bytes.TrimLeft(line, " -\"")
	if len(trimmed) == 0 || bytes.IndexByte([]byte("#<=>"), trimmed[0]) >= 0 {
		return // also the marks of a merge conflict
	}
	indent := len(line) - len(trimmed)
	name, value, _ := strings.Cut(string(trimmed), ":")
	name = strings.Trim(name, "\" ")
	if g.block >= 0 && indent <= g.block {
		g.end()
	}
	switch {
	case name == "metadata":
		g.end()
		g.block, g.child = indent, -1
		return
	case g.block < 0:
		return
	case g.child < 0:
		g.child = indent
	}
	if indent == g.child {
		g.member(name, strings.Trim(value, "\"', \t"))
	}
}

func (g *guesser) member(name, value string) {
	value, _, _ = strings.Cut(value, " #")
	value = strings.Trim(value, "\"' ")
	switch name {
	case "name":
		g.emit()
		g.key.Name = value
	case "namespace":
		g.key.Namespace = value
	}
}

// end closes the metadata block.
func (g *guesser) end() {
	g.emit()
	g.block, g.key = -1, types.NamespacedName{}
}

// emit keeps the name of the block; both sides of a merge conflict have one.
func (g *guesser) emit() {
	if g.block < 0 || g.key.Name == "" {
		return
	}
	key := g.key
	if key.Namespace == "" {
		key.Namespace = g.fallback
	}
	g.names = append(g.names, key)
}
