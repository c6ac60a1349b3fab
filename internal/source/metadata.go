package source

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// serverFields are the fields of metadata that the server or other controllers
// set. A file has them when it was exported from a cluster.
func serverFields() []string {
	return []string{
		"uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
		"managedFields", "ownerReferences",
	}
}

func metadataFields() []string {
	return []string{"name", "namespace", "labels", "annotations", "finalizers"}
}

func (d *document) metadata(n *yaml.Node, o *Object, dropped *drops) {
	m := d.mapping(n, "metadata")
	for _, f := range m.fields {
		switch f.name {
		case "name":
			o.Key.Name = d.name(f)
		case "namespace":
			o.Key.Namespace = d.namespace(f)
		case "labels":
			o.Labels = d.labels(f.value, dropped)
		case "annotations":
			d.annotations(f.value, o, dropped)
		case "finalizers":
			o.Finalizers = d.finalizers(f.value, dropped)
		case "generateName":
			d.generateName(f, m, dropped)
		default:
			if slices.Contains(serverFields(), f.name) {
				dropped.add(join("metadata", f.name), f)
				continue
			}
			d.unknown(f, "metadata", metadataFields()...)
		}
	}
}

// generateName would make a new object on every pass. In an export it stands
// beside the name that came of it.
func (d *document) generateName(f field, m mapping, dropped *drops) {
	const path = "metadata.generateName"
	if name := m.get("name"); isNull(name) || text(name) == "" {
		if !isNull(f.value) {
			d.problem(f.key, path, "metadata.generateName isn't supported: write metadata.name")
		}
		return
	}
	dropped.add(path, f)
}

// finalizers keeps ours; the others belong to whoever added them.
func (d *document) finalizers(n *yaml.Node, dropped *drops) []string {
	const path = "metadata.finalizers"
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.problem(n, path, "%s is %s: write a list", path, describe(n))
		return nil
	}
	var kept []string
	for i, item := range n.Content {
		item = resolve(item)
		full := fmt.Sprintf("%s[%d]", path, i)
		name, ok := d.text(item, full)
		switch {
		case !ok:
		case name == v1.CleanupFinalizer:
			kept = []string{name}
		default:
			dropped.note(full, " "+shorten(name), item)
		}
	}
	return kept
}

// drops are the things of a document that are left out of what is applied.
type drops struct {
	texts []string
	first *yaml.Node
	field string // of the first
}

// add notes a field, unless it holds nothing.
func (d *drops) add(path string, f field) {
	if isNull(f.value) || f.value.Kind != yaml.ScalarNode && len(f.value.Content) == 0 {
		return
	}
	d.note(path, "", f.key)
}

// note adds a field, with more words on it if its path doesn't say enough.
func (d *drops) note(path, more string, at *yaml.Node) {
	if d.first == nil {
		d.first, d.field = at, path
	}
	d.texts = append(d.texts, path+more)
}

func (d *drops) message() string {
	return "not applied, since the server or another controller sets it; better remove it: " + strings.Join(d.texts, ", ")
}
