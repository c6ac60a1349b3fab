package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxJSONDepth is how deep JSON may nest. No object that is read goes deeper than
// a dozen levels.
const maxJSONDepth = 1000

// jsonReader reads the JSON values of a text into the nodes that the YAML reader
// would give, with the same positions.
type jsonReader struct {
	text    []byte
	decoder *json.Decoder

	// line and column belong to the offset at.
	at, line, column int
}

func newJSONReader(text []byte) *jsonReader {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return &jsonReader{text: text, decoder: decoder, line: 1, column: 1}
}

// rest is the text that isn't read yet.
func (r *jsonReader) rest() []byte { return r.text[min(r.at, len(r.text)):] }

// next reads one value; nil at the end of the text.
func (r *jsonReader) next() (*yaml.Node, *fault) {
	start := *r
	node, err := r.value(0)
	switch {
	case err == nil:
		return node, nil
	case errors.Is(err, io.EOF):
		return nil, nil
	}
	r.seek(int(r.decoder.InputOffset()))
	f := &fault{line: r.line, column: r.column, message: "not valid JSON: " + err.Error() + ": " + jsonAdvice(err)}
	r.at = start.at
	return nil, f
}

var (
	errDeep      = fmt.Errorf("nested more than %d deep", maxJSONDepth)
	errSurrogate = errors.New("a string holds half of a surrogate pair")
)

// jsonAdvice says what to write instead.
func jsonAdvice(err error) string {
	switch {
	case errors.Is(err, errDeep):
		return "nest less deeply"
	case errors.Is(err, errSurrogate):
		return "write both halves, or the character itself"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "close quotes and brackets"
	default:
		return "mend the commas, quotes and brackets there, and leave comments out"
	}
}

// value reads one value of any type.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxJSONDepth {
		return nil, errDeep
	}
	node, token, err := r.token()
	if err != nil {
		return nil, err
	}
	if delimiter, ok := token.(json.Delim); ok {
		node.Kind, node.Tag, node.Style = yaml.SequenceNode, tagSequence, yaml.FlowStyle
		if delimiter == '{' {
			node.Kind, node.Tag = yaml.MappingNode, tagMapping
		}
		return node, r.members(node, depth)
	}
	return node, nil
}

// members reads what stands between brackets: the keys and values of an object,
// or the items of an array.
func (r *jsonReader) members(node *yaml.Node, depth int) error {
	for r.decoder.More() {
		member, err := r.value(depth + 1)
		if err != nil {
			return cutOff(err)
		}
		node.Content = append(node.Content, member)
	}
	_, err := r.decoder.Token()
	return cutOff(err)
}

// cutOff: an end inside a value isn't the end of the text.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// token reads one token, and makes the scalars into nodes.
func (r *jsonReader) token() (*yaml.Node, json.Token, error) {
	before := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil {
		return nil, nil, err
	}
	after := int(r.decoder.InputOffset())
	raw := bytes.TrimLeft(r.text[before:after], " \t\r\n:,")
	r.seek(after - len(raw))
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
	switch token := token.(type) {
	case string:
		node.Tag, node.Style, node.Value = tagString, yaml.DoubleQuotedStyle, token
		if lostSurrogate(token, raw) {
			return nil, nil, errSurrogate
		}
	case json.Number:
		node.Tag, node.Value = "!!float", token.String()
	case bool:
		node.Tag, node.Value = "!!bool", string(raw)
	case nil:
		node.Tag, node.Value = tagNull, "null"
	}
	return node, token, nil
}

// lostSurrogate says whether decoding put a replacement character where the text
// has none.
func lostSurrogate(decoded string, raw []byte) bool {
	written := bytes.Count(raw, []byte("\uFFFD")) + bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
	found := 0
	for _, c := range decoded {
		if c == utf8.RuneError {
			found++
		}
	}
	return found > written
}

// seek moves the position on to offset.
func (r *jsonReader) seek(offset int) {
	if offset <= r.at {
		return
	}
	skipped := r.text[r.at:offset]
	r.at = offset
	if newlines := bytes.Count(skipped, []byte("\n")); newlines > 0 {
		r.line += newlines
		r.column = 1
		skipped = skipped[bytes.LastIndexByte(skipped, '\n')+1:]
	}
	r.column += utf8.RuneCount(skipped)
}
