package source

import (
	"bytes"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"
)

// Limits of one file. They bound the work and the memory that any input can cost.
const (
	// MaxFileSize is the size in bytes from which a file is refused unread: twice
	// what the API server takes in one request, so no usable object is lost.
	MaxFileSize = 3 << 20
	// MaxDocuments is the number of documents in a file from which it is refused.
	// A WebService takes at least 90 bytes, so the size limit is met first.
	MaxDocuments = 50_000
)

// Parse reads one file. The name's extension decides between JSON and YAML; opts
// decide what a file means that leaves something open. Parse is pure: equal
// arguments give equal results, and data isn't kept.
func Parse(name string, data []byte, opts Options) *Parsed {
	p := &parser{path: name, opts: opts, out: new(Parsed)}
	text, fault := readText(data)
	switch {
	case fault != nil:
		p.spoiled(*fault, text)
	case extension(name) == ".json":
		p.json(text)
	default:
		p.yaml(text)
	}
	return p.out
}

// parser collects what the documents of one file say.
type parser struct {
	path string
	opts Options
	out  *Parsed
}

// yaml reads a YAML stream document by document, so that a syntax error in one
// leaves the others alone.
func (p *parser) yaml(text []byte) {
	chunks := split(text)
	if len(chunks) > MaxDocuments {
		p.spoiled(tooManyDocuments(), text)
		return
	}
	for i, c := range chunks {
		if c.empty {
			continue
		}
		root, fault := parseYAML(c)
		if fault != nil {
			p.unparsable(i+1, *fault, c.text)
			continue
		}
		p.document(i+1, c.line-linesAdded, len(c.text), root)
	}
	if len(p.out.Problems) == 0 {
		p.out.outline = outlineOf(text, p.out.Objects)
	}
}

// json reads the JSON values of a file one after the other.
func (p *parser) json(text []byte) {
	values := newJSONReader(text)
	for index := 1; ; index++ {
		if index > MaxDocuments {
			p.spoiled(tooManyDocuments(), text)
			return
		}
		root, fault := values.next()
		if fault != nil && index == 1 && looksLikeYAML(text) {
			fault.message = "the file is named as JSON, and holds YAML: let its name end in .yaml"
		}
		if fault != nil {
			p.unparsable(index, *fault, values.rest())
			return
		}
		if root == nil {
			return
		}
		p.document(index, 0, len(text), root)
	}
}

// looksLikeYAML says whether a text begins as a YAML object does.
func looksLikeYAML(text []byte) bool {
	for line := range lines(text) {
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' || marked(line, "---") {
			continue
		}
		return bytes.HasPrefix(line, []byte("apiVersion:")) || bytes.HasPrefix(line, []byte("kind:")) || bytes.HasPrefix(line, []byte("metadata:"))
	}
	return false
}

// document reads one parsed document, whose nodes count lines from offset. Null is
// nothing at all.
func (p *parser) document(index, offset, size int, root *yaml.Node) {
	if isNull(root) {
		return
	}
	budget := workPerByte*size + workAtLeast
	d := &document{parser: p, index: index, offset: offset, budget: &budget}
	d.read(root)
}

// spoiled gives up on a whole file: one problem, and every name that its text
// seems to hold counts as broken.
func (p *parser) spoiled(f fault, text []byte) {
	*p.out = Parsed{}
	p.unparsable(0, f, text)
}

// unparsable records a piece of text that can't be parsed.
func (p *parser) unparsable(index int, f fault, text []byte) {
	problem := Problem{Path: p.path, Document: index, Line: f.line, Column: f.column, Message: f.message}
	p.out.Problems = append(p.out.Problems, problem)
	p.out.Anonymous = true
	for _, key := range namesIn(text, p.opts.DefaultNamespace) {
		p.broken(key, problem)
	}
}

// broken records that a document which can't be used names key.
func (p *parser) broken(key types.NamespacedName, problem Problem) {
	if p.out.Broken == nil {
		p.out.Broken = make(map[types.NamespacedName]Problem)
	}
	if _, known := p.out.Broken[key]; !known {
		p.out.Broken[key] = problem
	}
}

// fault is a problem that doesn't know its file yet. Lines count in the file.
type fault struct {
	line, column int
	message      string
}
