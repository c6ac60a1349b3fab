package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// quote writes content as YAML in which every text is in double quotes, and whatever
// isn't simply a character is an escape.
func quote(content map[string]any) ([]byte, error) {
	var q quoter
	q.mapping(content, 0)
	return q.out.Bytes(), q.err
}

type quoter struct {
	out bytes.Buffer
	err error
}

// mapping writes the members of a mapping in the order of their names.
func (q *quoter) mapping(m map[string]any, depth int) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		q.out.WriteString(strings.Repeat("  ", depth) + q.name(name) + ":")
		if inner, ok := m[name].(map[string]any); ok && len(inner) > 0 {
			q.out.WriteByte('\n')
			q.mapping(inner, depth+1)
			continue
		}
		q.out.WriteString(" " + q.scalar(m[name]) + "\n")
	}
}

// name leaves the fields of our own without quotes.
func (q *quoter) name(name string) string {
	if slices.Contains(strings.Fields("apiVersion kind metadata annotations finalizers labels name namespace spec image replicas tier"), name) {
		return name
	}
	return q.scalar(name)
}

// scalar writes a value as JSON, which is YAML but for some characters.
func (q *quoter) scalar(value any) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		q.err = err
	}
	var escaped []byte
	for _, r := range strings.TrimSuffix(text.String(), "\n") {
		if misleading(r) || notInYAML(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return string(escaped)
}

// notInYAML: the byte order mark, and two that are no characters at all.
func notInYAML(r rune) bool { return r == 0xfeff || r == 0xfffe || r == 0xffff }
