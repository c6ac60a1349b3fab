package source

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/near"
)

const (
	// lastApplied is where client-side apply keeps a copy of the object.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// maxAnnotations is the size of all annotations of an object together that the
	// API server allows.
	maxAnnotations = 256 << 10
)

// labels reads metadata.labels without the one that the controller sets itself.
func (d *document) labels(n *yaml.Node, dropped *drops) map[string]string {
	const path = "metadata.labels"
	var labels map[string]string
	for _, f := range d.mapping(n, path).fields {
		full := join(path, f.name)
		if f.name == v1.SourceLabel {
			dropped.note(full, "", f.key)
			continue
		}
		value, ok := d.text(f.value, full)
		if !ok {
			continue
		}
		d.checkKey(f, path, validation.IsQualifiedName(f.name))
		d.check(f.value, full, value, validation.IsValidLabelValue(value))
		labels = with(labels, f.name, value)
	}
	return labels
}

// with sets a value in a map that may be nil.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = make(map[string]string)
	}
	m[key] = value
	return m
}

// annotations reads metadata.annotations, and acts on ours.
func (d *document) annotations(n *yaml.Node, o *Object, dropped *drops) {
	const path = "metadata.annotations"
	size := 0
	for _, f := range d.mapping(n, path).fields {
		full := join(path, f.name)
		if f.name == lastApplied {
			dropped.note(full, "", f.key)
			continue
		}
		value, ok := d.text(f.value, full)
		if !ok {
			continue
		}
		size += len(f.name) + len(value)
		d.checkKey(f, path, validation.IsQualifiedName(strings.ToLower(f.name)))
		if d.ours(f, value, o) {
			o.Annotations = with(o.Annotations, f.name, value)
		}
	}
	if size > maxAnnotations {
		d.problem(n, path, "%s has more than %d bytes: shorten them, or move them to a ConfigMap", path, maxAnnotations)
	}
}

// ours acts on the annotations that mean something to the controller, and says
// whether an annotation is to be applied.
func (d *document) ours(f field, value string, o *Object) bool {
	full := join("metadata.annotations", f.name)
	switch {
	case f.name == v1.ReconcileAnnotation:
		o.Suspended = d.disabled(f.value, full, value)
		return false
	case f.name == v1.PruneAnnotation:
		return d.disabled(f.value, full, value)
	case f.name == v1.DependsOnAnnotation:
		return d.dependsOn(f, value, o)
	case len(f.name) >= len(v1.Prefix) && strings.EqualFold(f.name[:len(v1.Prefix)], v1.Prefix):
		d.problem(f.key, full, "unknown annotation %s: %s", f.name, annotationAdvice(f.name))
		return false
	default:
		return true
	}
}

func annotationAdvice(name string) string {
	known := []string{v1.PruneAnnotation, v1.ReconcileAnnotation, v1.DependsOnAnnotation}
	if meant := near.Name(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "write one of " + strings.Join(known, ", ") + ", or remove it"
}

// disabled checks the only value that some annotations have.
func (d *document) disabled(at *yaml.Node, full, value string) bool {
	if value == v1.Disabled {
		return true
	}
	d.problem(at, full, "%s is %q: write %s, or remove it", full, shorten(value), v1.Disabled)
	return false
}
