package source

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Aliases and merge keys may make a small text into a large value. Work is counted
// in members of mappings and items of lists, and allowed in proportion to the
// size of the text.
const (
	workPerByte = 4
	workAtLeast = 1000
	// maxMergeDepth is how deep merge keys may refer to one another.
	maxMergeDepth = 20
)

// field is one member of a mapping, merge keys resolved.
type field struct {
	name       string
	key, value *yaml.Node
}

// fieldFault is a fault of a mapping as such: a key that is there twice, or that
// isn't a string.
type fieldFault struct {
	node    *yaml.Node
	name    string // of the field that is there twice
	first   int    // its first line, in the chunk
	message string // otherwise; begins with a verb, since the path goes before it
}

// mapping is a mapping with its members in the order of the text, each once.
type mapping struct {
	fields []field
	faults []fieldFault
	merged map[string]bool // names of fields, once there is something to merge
	// exceeded says that the fault of too many aliases is in faults.
	exceeded bool
}

// get returns the value of a field; nil where it is missing.
func (m mapping) get(name string) *yaml.Node {
	for _, f := range m.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// expander makes nodes into mappings within a budget.
type expander struct{ budget *int }

// mapping reads the members of n, which must be a mapping node.
func (e expander) mapping(n *yaml.Node) mapping {
	var m mapping
	e.collect(n, &m, 0)
	return m
}

// spend takes work from the budget, and says whether there was enough.
func (e expander) spend(work int) bool {
	*e.budget -= work
	return *e.budget >= 0
}

// collect adds the members of n to m: its own first, which win over merged ones.
func (e expander) collect(n *yaml.Node, m *mapping, depth int) {
	if !e.spend(len(n.Content)/2) || depth > maxMergeDepth {
		if !m.exceeded {
			m.faults = append(m.faults, fieldFault{node: n, message: "expands too many aliases: write them out"})
		}
		m.exceeded = true
		return
	}
	lines := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		name, fault := keyName(key)
		if fault != "" {
			m.faults = append(m.faults, fieldFault{node: n.Content[i], message: fault})
			continue
		}
		if first, twice := lines[name]; twice {
			m.faults = append(m.faults, fieldFault{node: n.Content[i], name: name, first: first})
			continue
		}
		lines[name] = n.Content[i].Line
		if isMerge(key) {
			merges = append(merges, value)
			continue
		}
		m.add(field{name, n.Content[i], resolve(value)}, depth)
	}
	if len(merges) > 0 {
		m.index()
	}
	for _, from := range merges {
		e.merge(from, m, depth)
	}
}

// add appends a field, unless it is a merged one that is there already.
func (m *mapping) add(f field, depth int) {
	if depth > 0 {
		if m.merged[f.name] {
			return
		}
		m.merged[f.name] = true
	}
	m.fields = append(m.fields, f)
}

// index notes the fields that win over those still to be merged.
func (m *mapping) index() {
	if m.merged != nil {
		return
	}
	m.merged = make(map[string]bool, len(m.fields))
	for _, f := range m.fields {
		m.merged[f.name] = true
	}
}

// merge adds what a merge key refers to: a mapping, or a list of mappings of which
// the earlier win.
func (e expander) merge(from *yaml.Node, m *mapping, depth int) {
	from = resolve(from)
	switch from.Kind {
	case yaml.MappingNode:
		e.collect(from, m, depth+1)
	case yaml.SequenceNode:
		for _, item := range from.Content {
			if item = resolve(item); item.Kind == yaml.MappingNode {
				e.collect(item, m, depth+1)
				continue
			}
			m.faults = append(m.faults, badMerge(item))
		}
	default:
		m.faults = append(m.faults, badMerge(from))
	}
}

func badMerge(n *yaml.Node) fieldFault {
	return fieldFault{node: n, message: "has a merge key << without a mapping: give it an alias of one"}
}

// isMerge says whether a key is the merge key rather than the text "<<".
func isMerge(key *yaml.Node) bool { return isPlain(key) && key.Value == "<<" }

// keyName is the name that a key stands for, or a fault: YAML readers must agree
// that it is a string.
func keyName(key *yaml.Node) (name, fault string) {
	switch {
	case key.Kind != yaml.ScalarNode:
		return "", "has a key that isn't a string: write a plain name, or render the template first if this is one"
	case key.Style&yaml.TaggedStyle != 0 && key.ShortTag() != tagString:
		return "", fmt.Sprintf("has a key with the tag %s: leave the tag out", key.ShortTag())
	case !isPlain(key), isMerge(key):
		return key.Value, ""
	}
	if kind := typeOf(key.Value); kind != "" {
		return "", fmt.Sprintf("has the key %s, which is %s: quote it, as in %q", orNothing(key.Value), kind, key.Value)
	}
	return key.Value, ""
}

// orNothing makes an empty text visible.
func orNothing(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}

// join appends a name to the path of a field. Names with dots or slashes, as
// labels have them, go in brackets.
func join(path, name string) string {
	switch {
	case path == "":
		return name
	case strings.ContainsAny(name, "./ []"):
		return path + "[" + name + "]"
	default:
		return path + "." + name
	}
}
