package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decode reads a value in the file. Nothing is converted: a number isn't a
// text, and a quoted number isn't a number.
func decode(k kind, node *yaml.Node) (any, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case isNull(node):
		return nil, errors.New("has no value: write one, or comment the line out")
	case node.Kind == yaml.SequenceNode && k == names:
		return decodeNames(node)
	case node.Kind != yaml.ScalarNode:
		return nil, errors.New("is a list or a section: write a single value")
	case k == text || k == names:
		return decodeText(k, node)
	default:
		return decodeScalar(k, node)
	}
}

func decodeText(k kind, node *yaml.Node) (any, error) {
	if tag := node.ShortTag(); tag != "!!str" {
		return nil, fmt.Errorf(`%s isn't a text: write it in quotes, "%[1]s"`, node.Value)
	}
	return k.parse(node.Value)
}

// decodeScalar parses first: its error says more than that the type is wrong.
func decodeScalar(k kind, node *yaml.Node) (any, error) {
	value, err := k.parse(node.Value)
	quoted := node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	if err == nil && quoted && k != duration {
		return nil, fmt.Errorf("%q is a text: write it without the quotes", node.Value)
	}
	return value, err
}

// decodeNames is as strict as parseNames: only the empty list is one of no names.
func decodeNames(node *yaml.Node) (any, error) {
	var list []string
	for _, item := range node.Content {
		if item.ShortTag() != "!!str" {
			return nil, fmt.Errorf("its item %q isn't a text: write names, in quotes where YAML takes them for something else", item.Value)
		}
		list = append(list, item.Value)
	}
	named := splitNames(strings.Join(list, ","))
	if len(named) == 0 && len(list) > 0 {
		return nil, fmt.Errorf("%q names nothing: write names, or leave it away", list)
	}
	return named, nil
}
