package source

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// dependsOnSupported refuses v1.DependsOnAnnotation while it is false.
const dependsOnSupported = false

// dependsOn reads the list of objects that must be ready first.
func (d *document) dependsOn(f field, value string, o *Object) bool {
	full := join("metadata.annotations", f.name)
	if !dependsOnSupported {
		d.problem(f.key, full, "%s isn't supported yet: remove it", f.name)
		return false
	}
	names, err := parseDependsOn(value)
	if err != nil {
		d.problem(f.value, full, "%s: %s", full, err)
		return false
	}
	o.DependsOn = names
	return true
}

// parseDependsOn reads "name, namespace/name". A name alone has no namespace here:
// it is that of the object, which may come later in the file.
func parseDependsOn(value string) ([]types.NamespacedName, error) {
	var names []types.NamespacedName
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		namespace, name, qualified := strings.Cut(entry, "/")
		if !qualified {
			namespace, name = "", entry
		}
		switch {
		case entry == "":
			return nil, fmt.Errorf("an entry is empty: write name or namespace/name, separated by commas")
		case len(validation.IsDNS1123Subdomain(name)) > 0, qualified && len(validation.IsDNS1123Label(namespace)) > 0:
			return nil, fmt.Errorf("%q isn't a name: write name or namespace/name, separated by commas", shorten(entry))
		}
		names = append(names, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return names, nil
}

// resolveDependencies gives names without a namespace that of the object, and
// keeps each once.
func (d *document) resolveDependencies(o *Object) {
	var resolved []types.NamespacedName
	for _, key := range o.DependsOn {
		if key.Namespace == "" {
			key.Namespace = o.Key.Namespace
		}
		if key.Namespace == "" {
			key.Namespace = d.opts.DefaultNamespace
		}
		if !slices.Contains(resolved, key) {
			resolved = append(resolved, key)
		}
	}
	o.DependsOn = resolved
}
