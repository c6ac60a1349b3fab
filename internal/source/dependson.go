package source

import (
	"fmt"
	"slices"
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// maxDependencies is how many objects one object may wait for. What needs more is
// a mistake, and their number bounds the work of looking for cycles.
const maxDependencies = 100

// dependsOn reads the list of objects that must be ready first. A name alone has
// no namespace yet: that of the object may come later in the file.
func (d *document) dependsOn(f field, value string, o *Object) bool {
	full := join("metadata.annotations", f.name)
	names, err := v1.ParseDependsOn(value)
	switch {
	case err != nil:
		d.problem(f.value, full, "%s: %s", full, err)
	case len(names) > maxDependencies:
		d.problem(f.value, full, "%s has %d names: write %d at most", full, len(names), maxDependencies)
	default:
		o.DependsOn, d.depends = names, f.value
		return true
	}
	return false
}

// dependencies gives names without a namespace that of the object, which is known
// by now, and keeps each once.
func (d *document) dependencies(o *Object) {
	if d.depends == nil {
		return
	}
	full := join("metadata.annotations", v1.DependsOnAnnotation)
	place := d.place(d.depends, full, "")
	o.dependsAt = &place
	written := o.DependsOn
	o.DependsOn = nil
	for _, key := range written {
		if key.Namespace == "" {
			key.Namespace = o.Key.Namespace
		}
		switch {
		case slices.Contains(o.DependsOn, key):
			d.warn(d.depends, full, fmt.Sprintf("%s names %s twice: keep one", full, key))
		case !d.opts.worksIn(key.Namespace):
			d.problem(d.depends, full, "%s names %s, and this controller works in %s only: take it out", full, key, strings.Join(d.opts.Namespaces, ", "))
		default:
			o.DependsOn = append(o.DependsOn, key)
		}
	}
}

// worksIn says whether objects of a namespace are looked after.
func (o *Options) worksIn(namespace string) bool {
	return len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace)
}
