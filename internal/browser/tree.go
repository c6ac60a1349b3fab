package browser

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// Node is what a screen reader gets of one element.
type Node struct {
	Role, Name string
	// Properties are its states, such as "pressed" and "sort", as text.
	Properties map[string]string
}

// Tree is what screen readers get of the page, in its order. What they pass over
// isn't there.
func (p *Page) Tree() []Node {
	p.Helper()
	tree, err := run(p, func(ctx context.Context) (accessibility.GetFullAXTreeResult, error) {
		return chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	p.must(err)
	var nodes []Node
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		node := Node{Role: text(n.Role), Name: text(n.Name), Properties: map[string]string{}}
		for _, property := range n.Properties {
			node.Properties[string(property.Name)] = text(property.Value)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// text is a value as text: "" where there is none.
func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return string(v.Value)
}
