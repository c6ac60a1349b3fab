package source

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// class is what a document is to the controller.
type class int

const (
	// classOther: another kind, which is someone else's.
	classOther class = iota
	// classOurs: a WebService.
	classOurs
	// classList: holds objects under items.
	classList
	// classNearMiss: probably meant as a WebService. Passing over it would make
	// a slip of the pen look like a deletion.
	classNearMiss
)

// identity is what a document says about its type.
type identity struct {
	apiVersion, kind *yaml.Node // nil where missing or null
	twice            *fieldFault
	object           bool // has metadata.name and spec
	begun            bool // has one of the keys, though nothing in it
}

func identify(m mapping) identity {
	id := identity{apiVersion: m.get("apiVersion"), kind: m.get("kind")}
	id.begun = id.apiVersion != nil || id.kind != nil
	if isNull(id.apiVersion) {
		id.apiVersion = nil
	}
	if isNull(id.kind) {
		id.kind = nil
	}
	for i, f := range m.faults {
		if f.name == "apiVersion" || f.name == "kind" {
			id.twice = &m.faults[i]
		}
	}
	if metadata := m.get("metadata"); metadata != nil && metadata.Kind == yaml.MappingNode {
		id.object = m.get("spec") != nil && hasKey(metadata, "name")
	}
	return id
}

// hasKey looks for a key as it is written, without merge keys.
func hasKey(n *yaml.Node, name string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := resolve(n.Content[i]); key.Kind == yaml.ScalarNode && key.Value == name {
			return true
		}
	}
	return false
}

func (id identity) class() class {
	apiVersion, kind := text(id.apiVersion), text(id.kind)
	switch {
	case id.twice != nil:
		return classNearMiss
	case id.apiVersion == nil && id.kind == nil:
		if id.object || id.begun {
			return classNearMiss
		}
		return classOther
	case id.apiVersion == nil || id.kind == nil:
		return classNearMiss
	case apiVersion == v1.APIVersion && kind == v1.Kind:
		return classOurs
	case apiVersion == "v1" && kind == "List", apiVersion == v1.APIVersion && kind == v1.Kind+"List":
		return classList
	case !id.stranger(), !isText(id.apiVersion), !isText(id.kind):
		return classNearMiss
	default:
		return classOther
	}
}

// stranger says that nothing in a complete type sounds like ours.
func (id identity) stranger() bool {
	return id.apiVersion != nil && id.kind != nil &&
		!ourGroup(text(id.apiVersion)) && !strings.EqualFold(strings.TrimSpace(text(id.kind)), v1.Kind)
}

// ourGroup is generous: a version may be missing, and letters may be large.
func ourGroup(apiVersion string) bool {
	group, _, _ := strings.Cut(strings.TrimSpace(apiVersion), "/")
	return strings.EqualFold(group, v1.Group)
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (!isPlain(n) || typeOf(n.Value) == "")
}

// place is the node that a near miss is reported at.
func (id identity) place(root *yaml.Node) *yaml.Node {
	switch {
	case id.twice != nil:
		return id.twice.node
	case id.field() == "apiVersion" && id.apiVersion != nil:
		return id.apiVersion
	case id.field() == "kind" && id.kind != nil:
		return id.kind
	default:
		return root
	}
}

// field is the field to mend.
func (id identity) field() string {
	switch {
	case id.twice != nil:
		return id.twice.name
	case id.stranger() && !isText(id.kind):
		return "kind"
	case id.apiVersion == nil, id.kind != nil && text(id.apiVersion) != v1.APIVersion:
		return "apiVersion"
	default:
		return "kind"
	}
}

// advice says what to write instead.
func (id identity) advice() string {
	field, want := id.field(), v1.Kind
	if field == "apiVersion" {
		want = v1.APIVersion
	}
	switch {
	case id.twice != nil:
		return field + " is there twice: keep one"
	case id.apiVersion == nil && id.kind == nil:
		return fmt.Sprintf("apiVersion and kind are missing: write apiVersion: %s and kind: %s", v1.APIVersion, v1.Kind)
	case id.apiVersion == nil && text(id.kind) != v1.Kind, id.kind == nil && !ourGroup(text(id.apiVersion)):
		return field + " is missing: write it, also where it names another kind"
	case id.apiVersion == nil || id.kind == nil:
		return fmt.Sprintf("%s is missing: write %s: %s", field, field, want)
	case id.stranger():
		return field + " isn't a string: quote it"
	case field == "apiVersion" && !isText(id.apiVersion), field == "kind" && !isText(id.kind):
		return fmt.Sprintf("%s isn't a string: write %s: %s", field, field, want)
	default:
		written := id.kind
		if field == "apiVersion" {
			written = id.apiVersion
		}
		return fmt.Sprintf("%s is %q: write %s: %s", field, text(written), field, want)
	}
}
