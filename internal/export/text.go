package export

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"

	"labhub.io/webservice-controller/internal/source"
)

// errUnwritable: no way to write the object reads back as the same.
var errUnwritable = errors.New("can't be written as YAML")

// write makes content into a document that reads back as the same, with what the
// source finds wrong with it. path is for the places in that.
//
// It is written as everybody writes YAML, and with every text in quotes where that
// can't be, would be misread by somebody, or would show in another order than it is in.
func write(path string, content map[string]any) (text []byte, problems []source.Problem, err error) {
	usual, err := yaml.Marshal(content)
	good := err == nil && plain(usual) && says(usual, content)
	problems = refused(path, usual)
	if good && len(problems) == 0 {
		return usual, nil, nil
	}
	quoted, err := quote(content)
	if err != nil {
		return nil, nil, err
	}
	left := refused(path, quoted)
	switch {
	case good && slices.EqualFunc(problems, left, alike):
		return usual, problems, nil // quotes don't help
	case says(quoted, content):
		return quoted, left, nil
	}
	return nil, nil, errUnwritable
}

func alike(a, b source.Problem) bool { return a.Message == b.Message }

// refused is what the source finds wrong with a document.
func refused(path string, text []byte) []source.Problem {
	return source.Parse(path, text, source.Options{}).Problems
}

// says holds a document against its content, as kubectl reads it.
func says(text []byte, content map[string]any) bool {
	var got, want any
	written, err := yaml.YAMLToJSON(text)
	if err != nil || json.Unmarshal(written, &got) != nil {
		return false
	}
	meant, err := json.Marshal(content)
	if err != nil || json.Unmarshal(meant, &want) != nil {
		return false
	}
	return reflect.DeepEqual(got, want)
}

// plain says whether a text shows as it is: it has no character that a terminal
// would obey, or that turns the order of others around.
func plain(text []byte) bool { return strings.IndexFunc(string(text), misleading) < 0 }

func misleading(r rune) bool {
	return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r)
}
