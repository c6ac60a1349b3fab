package source

import (
	"strings"
	"testing"
)

// TestIndentation: the line to mend is named, and not the one at which the mapping
// around it begins.
func TestIndentation(t *testing.T) {
	const advice = ": not valid YAML: no line above begins at this column: mend the indentation"
	for _, test := range []struct{ name, text, want string }{
		{"one blank too few", "a:\n  b: c\n d: e\n", "web.yaml:3:2" + advice},
		{"two of four", "a:\n    b: c\n  d: e\n", "web.yaml:3:3" + advice},
		{"an item too far to the left", "a:\n  b:\n  - c\n - d\n", "web.yaml:4:2" + advice},
		{"below an item", "a:\n- b: c\n  d: e\n f: g\n", "web.yaml:4:2" + advice},
		{"the first line too far to the right", " a: b\nc: d\n", "web.yaml:2:1" + advice},
		{"behind a text that has columns of its own", "a:\n  b: |\n      c\n        d\n      e\n  f:\n      g: h\n    i: j\n", "web.yaml:8:5" + advice},
		{"behind comments and blank lines", "a:\n  b: c\n# d\n\n e: f\n", "web.yaml:5:2" + advice},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := texts(parse(test.text).Problems); got != test.want {
				t.Errorf("%s\nwant: %s", got, test.want)
			}
		})
	}
}

// TestAliasesWithoutAnAnchor are found where they stand.
func TestAliasesWithoutAnAnchor(t *testing.T) {
	for text, want := range map[string]string{
		"a: *b\n":                        "1:4",
		"a: &bc x\nd: *bc\ne: [x, *b]\n": "3:8",
		"a: x*b\n<<: *b\n":               "2:5",
		"---\n# c\na:\n  <<: [*b]\n":     "4:8",
	} {
		want = "web.yaml:" + want + ": not valid YAML: there is no anchor for the alias *b: "
		if got := texts(parse(text).Problems); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
