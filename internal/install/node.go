package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// object is a YAML document that is a Kubernetes object.
type object struct{ root *yaml.Node }

// read parses documents. What is shipped is valid; an error means that this build
// isn't.
func read(text []byte) ([]object, error) {
	var objects []object
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		objects = append(objects, object{document.Content[0]})
	}
}

// write is the text of documents, a separator before each.
func write(objects []object) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objects {
		out.WriteString("---\n")
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		if err := errors.Join(encoder.Encode(o.root), encoder.Close()); err != nil {
			return nil, fmt.Errorf("writing a manifest: %w", err)
		}
	}
	return out.Bytes(), nil
}

// copy is another object that says the same.
func (o object) copy() object { return object{clone(o.root)} }

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = clone(child)
	}
	return &c
}

// at is the value under a path of keys; nil where there is none.
func (o object) at(path ...string) *yaml.Node { return at(o.root, path...) }

func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if _, n = entry(n, key); n == nil {
			return nil
		}
	}
	return n
}

// entry is a key of a mapping with its value; nil where there is none.
func entry(n *yaml.Node, key string) (name, value *yaml.Node) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// set makes a text of the value under a path, which must be there.
func (o object) set(value string, path ...string) {
	if n := o.at(path...); n != nil {
		say(n, value)
	}
}

// say makes n a text. What any reader of YAML could take for something else is
// quoted, y and 1:20 for two.
func say(n *yaml.Node, value string) {
	text := scalar(value)
	n.Value, n.Tag, n.Style = text.Value, text.Tag, text.Style
}

// text is the value under a path, "" where there is none.
func (o object) text(path ...string) string {
	if n := o.at(path...); n != nil {
		return n.Value
	}
	return ""
}

func (o object) kind() string { return o.text("kind") }

// named is the item of a list whose name is that; nil where there is none.
func named(list *yaml.Node, name string) *yaml.Node {
	if list == nil {
		return nil
	}
	for _, item := range list.Content {
		if n := at(item, "name"); n != nil && n.Value == name {
			return item
		}
	}
	return nil
}

// without drops from a list what is there for one of these keys alone.
func without(list *yaml.Node, keys []string) {
	condition := regexp.MustCompile(`^# ([a-zA-Z.-]+): `)
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
		found := condition.FindStringSubmatch(item.HeadComment)
		return found != nil && slices.Contains(keys, found[1])
	})
}

// texts is a list of texts on one line.
func texts(values ...string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, value := range values {
		list.Content = append(list.Content, scalar(value))
	}
	return list
}

func scalar(value string) *yaml.Node {
	n := &yaml.Node{}
	if n.Encode(value) != nil { // which a text doesn't come to
		n.SetString(value)
	}
	return n
}

// mapping is one of texts: key, value, key, value.
func mapping(pairs ...string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, text := range pairs {
		m.Content = append(m.Content, scalar(text))
	}
	return m
}
