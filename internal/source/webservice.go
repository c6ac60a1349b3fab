package source

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/near"
)

// webService reads a document of our kind. Either all of it is right, or its name
// counts as broken.
func (d *document) webService(root *yaml.Node, m mapping) {
	o := Object{File: d.path, Document: d.index, Line: d.line(first(root)), Column: first(root).Column}
	var dropped drops
	d.faults(m, "")
	for _, f := range m.fields {
		switch f.name {
		case "apiVersion", "kind":
		case "metadata":
			d.metadata(f.value, &o, &dropped)
		case "spec":
			d.spec(f.value, &o)
		case "status":
			dropped.add("status", f)
		default:
			d.unknown(f, "", "apiVersion", "kind", "metadata", "spec")
		}
	}
	d.require(root, m, &o)
	d.dependencies(&o)
	if len(d.problems) > 0 {
		d.close(d.nameOf(m))
		return
	}
	if dropped.first != nil {
		d.warn(dropped.first, dropped.field, dropped.message())
	}
	o.Digest = o.digest()
	d.out.Objects = append(d.out.Objects, o)
}

// first is the node at which a mapping begins for the reader's eye.
func first(root *yaml.Node) *yaml.Node {
	if len(root.Content) > 0 && root.Style&yaml.FlowStyle == 0 {
		return root.Content[0]
	}
	return root
}

// require reports what is missing, and checks the namespace, which may be missing.
func (d *document) require(root *yaml.Node, m mapping, o *Object) {
	at := orNode(m.get("metadata"), first(root))
	if o.Key.Name == "" && !d.named("metadata.name", "metadata.generateName", "metadata") {
		d.problem(at, "metadata.name", "metadata.name is required: write one")
	}
	if o.Image == "" && !d.named("spec.image", "spec") {
		d.problem(orNode(m.get("spec"), first(root)), "spec.image", "spec.image is required: write one")
	}
	if d.named("metadata.namespace") {
		return
	}
	if o.Key.Namespace == "" {
		o.Key.Namespace = d.opts.DefaultNamespace
	}
	if !d.opts.worksIn(o.Key.Namespace) {
		d.problem(at, "metadata.namespace", "metadata.namespace is %q, and namespaces.only lets this controller work in %s alone: write one that it names", o.Key.Namespace, strings.Join(d.opts.Namespaces, ", "))
	}
}

// named says whether there is a problem at one of the fields already.
func (d *document) named(fields ...string) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool {
		return slices.Contains(fields, strings.TrimPrefix(p.Field, d.prefix))
	})
}

func orNode(n, otherwise *yaml.Node) *yaml.Node {
	if n == nil || n.Line == 0 {
		return otherwise
	}
	return n
}

// mapping opens a field that must be a mapping. A null is an empty one.
func (d *document) mapping(n *yaml.Node, path string) mapping {
	if isNull(n) {
		return mapping{}
	}
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "%s is %s: write a mapping", path, describe(n))
		return mapping{}
	}
	m := expander{d.budget}.mapping(n)
	d.faults(m, path)
	return m
}

func (d *document) spec(n *yaml.Node, o *Object) {
	for _, f := range d.mapping(n, "spec").fields {
		switch f.name {
		case "image":
			o.Image = d.image(f)
		case "replicas":
			o.Replicas = d.replicas(f)
		case "tier":
			o.Tier = d.tier(f)
		default:
			d.unknown(f, "spec", specFields()...)
		}
	}
}

func specFields() []string { return []string{"image", "replicas", "tier"} }

func (d *document) image(f field) string {
	const path = "spec.image"
	if isNull(f.value) {
		d.problem(f.key, path, "spec.image is required: write one")
		return ""
	}
	image, ok := d.text(f.value, path)
	if ok && image == "" {
		d.problem(f.value, path, "spec.image is empty: write one")
	}
	if flaw := imageFlaw(image); flaw != "" {
		d.warn(f.value, path, "spec.image "+flaw)
	}
	return image
}

func (d *document) tier(f field) *string {
	if isNull(f.value) {
		return nil
	}
	tier, ok := d.text(f.value, "spec.tier")
	if !ok {
		return nil
	}
	return &tier
}

// replicas takes a plain decimal integer and nothing else: other notations mean
// different numbers to different readers.
func (d *document) replicas(f field) *int32 {
	const path = "spec.replicas"
	n := f.value
	if isNull(n) {
		return nil
	}
	if message := integerFault(n); message != "" {
		d.problem(n, path, "%s %s", path, message)
		return nil
	}
	value, ok := meantInteger(n.Value)
	if !ok || value > math.MaxInt32 {
		d.problem(n, path, "%s is too large: write %d at most", path, math.MaxInt32)
		return nil
	}
	count := int32(value)
	return &count
}

// integerFault says why a node isn't a plain integer, and what to write.
func integerFault(n *yaml.Node) string {
	if isPlain(n) && plainInteger.MatchString(n.Value) {
		return ""
	}
	what := describe(n)
	if n.Kind != yaml.ScalarNode {
		return fmt.Sprintf("is %s: write a plain integer, such as 3", what)
	}
	value, whole := meantInteger(n.Value)
	switch {
	case whole && value < 0:
		return "is negative: write 0 or more"
	case whole && value > math.MaxInt32:
		return fmt.Sprintf("is too large: write %d at most", math.MaxInt32)
	case whole && what == "a string":
		return fmt.Sprintf("is a string: write %d without quotes", value)
	case whole:
		return fmt.Sprintf("is not a plain integer: write %d", value)
	case what == "a number":
		return "is not a whole number that fits: write a plain integer, such as 3"
	default:
		return fmt.Sprintf("is %s: write a plain integer, such as 3", what)
	}
}

// text reads a value that must be a string to every YAML reader.
func (d *document) text(n *yaml.Node, path string) (string, bool) {
	switch kind := describe(n); {
	case kind == "a string":
		return n.Value, true
	case n.Kind == yaml.ScalarNode && isPlain(n):
		d.problem(n, path, "%s is %s: quote it, as in %s%s", path, kind, before(path), quoted(n.Value))
	case n.Kind == yaml.ScalarNode:
		d.problem(n, path, "%s is %s: leave the tag out, and quote the value", path, kind)
	default:
		d.problem(n, path, "%s is %s: write a string", path, kind)
	}
	return "", false
}

// describe says in words what a node is.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && resolve(n.Content[0]).Kind == yaml.MappingNode:
		return "a template that isn't rendered"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != tagString:
		return "tagged " + n.ShortTag()
	case isPlain(n) && typeOf(n.Value) != "":
		return typeOf(n.Value)
	default:
		return "a string"
	}
}

// before is what the file has before the value of a field: its name, or the mark of
// an item of a list.
func before(path string) string {
	name, found := strings.CutSuffix(path, "]")
	if !found {
		return path[strings.LastIndex(path, ".")+1:] + ": "
	}
	name = name[strings.LastIndex(name, "[")+1:]
	if _, err := strconv.Atoi(name); err == nil {
		return "- "
	}
	return name + ": "
}

func quoted(value string) string { return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"` }

// unknown reports a field that the API doesn't have, with the one that was
// probably meant.
func (d *document) unknown(f field, path string, known ...string) {
	full := join(path, f.name)
	d.problem(f.key, full, "unknown field %s: %s", full, fieldAdvice(f.name, path, known))
}

func fieldAdvice(name, path string, known []string) string {
	if strings.TrimLeftFunc(name, unicode.IsSpace) != name {
		return "it begins with a character that only looks like a blank: indent with blanks"
	}
	meant := near.Name(name, known)
	switch {
	case meant != "":
		return "did you mean " + join(path, meant) + "?"
	case path == "" && slices.Contains(specFields(), name):
		return "did you mean " + join("spec", name) + "?"
	case path == "" && slices.Contains(metadataFields(), name):
		return "put it under metadata"
	default:
		return "remove it"
	}
}

// name reads metadata.name: it must leave room for what the ConfigMap's name adds.
func (d *document) name(f field) string {
	const path = "metadata.name"
	if isNull(f.value) {
		return ""
	}
	name, ok := d.text(f.value, path)
	if !ok {
		return ""
	}
	if most := v1.MaxChildName - len(v1.ChildSuffix); len(name) > most {
		d.problem(f.value, path, "metadata.name has %d characters: write %d at most, since its ConfigMap is named <name>%s", len(name), most, v1.ChildSuffix)
		return name
	}
	if name != "" {
		d.check(f.value, path, name, validation.IsDNS1123Subdomain(name))
	}
	return name
}

func (d *document) namespace(f field) string {
	const path = "metadata.namespace"
	if isNull(f.value) {
		return ""
	}
	namespace, ok := d.text(f.value, path)
	if ok && namespace != "" {
		d.check(f.value, path, namespace, validation.IsDNS1123Label(namespace))
	}
	return namespace
}

// checkKey reports what apimachinery finds wrong with a key.
func (d *document) checkKey(f field, path string, wrong []string) {
	for _, message := range wrong {
		d.problem(f.key, join(path, f.name), "%s has the key %q, which isn't valid: %s", path, shorten(f.name), plain(message))
	}
}

// check reports what apimachinery finds wrong with a name or a value.
func (d *document) check(at *yaml.Node, path, value string, wrong []string) {
	for _, message := range wrong {
		d.problem(at, path, "%s %q isn't valid: %s", path, shorten(value), plain(message))
	}
}

// plain leaves the regular expression away that says the same once more.
func plain(message string) string {
	before, rest, found := strings.Cut(message, ", regex used for validation is ")
	if !found {
		return message
	}
	_, after, _ := strings.Cut(rest, "')")
	return before + ")" + after
}

// shorten keeps messages readable.
func shorten(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
