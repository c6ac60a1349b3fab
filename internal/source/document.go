package source

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

const (
	// maxListDepth is how deep lists may hold lists.
	maxListDepth = 3
	// maxProblems is how many problems of one document are listed.
	maxProblems = 100
)

// document reads one document of a file, or one item of a list in it.
type document struct {
	*parser
	index  int    // from 1
	offset int    // lines of the file before those that nodes count
	prefix string // path of the document's fields: "" or that of the list's item
	depth  int    // number of lists around it
	budget *int
	// depends is the value of v1.DependsOnAnnotation, once it was read.
	depends *yaml.Node

	problems []Problem
	unlisted int // problems beyond maxProblems
}

// read decides what the document is, and reads it if it is ours.
func (d *document) read(root *yaml.Node) {
	switch root.Kind {
	case yaml.MappingNode:
		d.object(root)
	case yaml.SequenceNode:
		d.sequence(root)
	default:
		d.problem(root, "", "the document is a plain text, not an object: begin it with apiVersion: %s", v1.APIVersion)
		d.close(types.NamespacedName{})
	}
}

// object reads a document of any kind.
func (d *document) object(root *yaml.Node) {
	m := expander{d.budget}.mapping(root)
	switch id := identify(m); id.class() {
	case classOurs:
		d.webService(root, m)
	case classList:
		d.list(root, m)
	case classOther:
		d.other(m)
	case classNearMiss:
		d.problem(id.place(root), id.field(), "%s", id.advice())
		d.close(d.nameOf(m))
	}
}

// other passes over a document of another kind. An empty object is nothing at all;
// one of which no key could be read may be anything.
func (d *document) other(m mapping) {
	switch {
	case len(m.fields) > 0:
		d.out.Skipped++
	case len(m.faults) > 0:
		d.faults(m, "")
		d.close(types.NamespacedName{})
	}
}

// faults reports the faults of a mapping as such.
func (d *document) faults(m mapping, path string) {
	for _, f := range m.faults {
		switch {
		case f.message == "":
			field := join(path, f.name)
			d.problem(f.node, field, "%s is there twice, first on line %d: keep one", field, f.first+d.offset)
		case path == "":
			d.problem(f.node, path, "the document %s", f.message)
		default:
			d.problem(f.node, path, "%s %s", path, f.message)
		}
	}
}

// sequence: a document that is a list of its own isn't an object of any kind,
// unless its items say that they are.
func (d *document) sequence(root *yaml.Node) {
	for _, item := range root.Content {
		item = resolve(item)
		if item.Kind != yaml.MappingNode {
			continue
		}
		if m := (expander{d.budget}).mapping(item); m.get("apiVersion") != nil || m.get("kind") != nil {
			d.problem(root, "", "the document is a list of objects: write them under items: of a kind: List, or part them with ---")
			d.close(types.NamespacedName{})
			return
		}
	}
	d.out.Skipped++
}

// list reads the items of a List, each as if it were a document.
func (d *document) list(root *yaml.Node, m mapping) {
	items := m.get("items")
	if isNull(items) {
		d.problem(orNode(items, first(root)), "items", "items is missing: write the objects there, or items: [] for none")
		d.close(types.NamespacedName{})
		return
	}
	if items.Kind != yaml.SequenceNode || d.depth == maxListDepth {
		d.problem(items, "items", "items isn't a list of objects: write one, or part the objects with ---")
		d.close(types.NamespacedName{})
		return
	}
	for i, item := range items.Content {
		if len(d.out.Objects) >= MaxDocuments || !(expander{d.budget}).spend(1) {
			d.problem(items, "items", "items has too many objects: write them out in several files")
			d.close(types.NamespacedName{})
			return
		}
		item = resolve(item)
		child := *d
		child.prefix, child.depth = fmt.Sprintf("%sitems[%d].", d.prefix, i), d.depth+1
		if isNull(item) {
			child.problem(item, "", "the item is empty: write an object, or take it out")
			child.close(types.NamespacedName{})
			continue
		}
		child.read(item)
	}
}

// close ends a document with problems: they are reported, and its name, if it has
// one, counts as broken.
func (d *document) close(key types.NamespacedName) {
	d.out.Problems = append(d.out.Problems, d.problems...)
	if last := d.problems[len(d.problems)-1]; d.unlisted > 0 {
		last.Field, last.Message = "", fmt.Sprintf("%d more problems in this document aren't listed: mend these first", d.unlisted)
		d.out.Problems = append(d.out.Problems, last)
	}
	if key.Name == "" {
		d.out.Anonymous = true
		return
	}
	d.broken(key, d.problems[0])
}

// nameOf is the name that a document seems to have, whatever its faults.
func (d *document) nameOf(m mapping) types.NamespacedName {
	key := types.NamespacedName{Namespace: d.opts.DefaultNamespace}
	metadata := m.get("metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		return key
	}
	fields := expander{d.budget}.mapping(metadata)
	if n := fields.get("name"); n != nil && n.Kind == yaml.ScalarNode && !isNull(n) {
		key.Name = n.Value
	}
	if n := fields.get("namespace"); n != nil && n.Kind == yaml.ScalarNode && !isNull(n) && n.Value != "" {
		key.Namespace = n.Value
	}
	return key
}

// problem notes a fault at a node. The field's path belongs to the object; the
// message says it again, in words.
func (d *document) problem(at *yaml.Node, field, format string, args ...any) {
	if len(d.problems) == maxProblems {
		d.unlisted++
		return
	}
	message := fmt.Sprintf(format, args...)
	if d.prefix != "" {
		message = strings.TrimSuffix(d.prefix, ".") + ": " + message
	}
	d.problems = append(d.problems, d.place(at, field, message))
}

// warn notes something harmless.
func (d *document) warn(at *yaml.Node, field, message string) {
	d.out.Warnings = append(d.out.Warnings, d.place(at, field, message))
}

func (d *document) place(at *yaml.Node, field, message string) Problem {
	if field != "" {
		field = d.prefix + field
	}
	return Problem{
		Path: d.path, Document: d.index,
		Line: d.line(at), Column: at.Column,
		Field: field, Message: message,
	}
}

// line is a node's line in the file.
func (d *document) line(n *yaml.Node) int { return n.Line + d.offset }
