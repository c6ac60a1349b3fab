package v1

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseDependsOn reads a value of DependsOnAnnotation: "name, namespace/name". A
// name alone has no namespace here: it is that of the object with the annotation.
// An error is a sentence that says what to write.
func ParseDependsOn(value string) ([]types.NamespacedName, error) {
	var names []types.NamespacedName
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		namespace, name, qualified := strings.Cut(entry, "/")
		if !qualified {
			namespace, name = "", entry
		}
		switch {
		case entry == "":
			return nil, errors.New("an entry is empty: write name or namespace/name, separated by commas")
		case len(validation.IsDNS1123Subdomain(name)) > 0, qualified && len(validation.IsDNS1123Label(namespace)) > 0:
			return nil, fmt.Errorf("%q isn't a name: write name or namespace/name, separated by commas", shorten(entry))
		}
		names = append(names, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return names, nil
}

// shorten keeps a long value from filling a message.
func shorten(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
