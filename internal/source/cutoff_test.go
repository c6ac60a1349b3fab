package source

import (
	"fmt"
	"strings"
	"testing"
)

// listItem is a WebService as an item of a list.
func listItem(name string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(named(name)), "\n", "\n  ") + "\n"
}

// silent are the places at which a text can be cut so that an object of it is absent
// and there is no doubt about that: line and column of what would have come next.
func silent(t *testing.T, path, text string, prev *Snapshot) string {
	t.Helper()
	var places []string
	for i := range len(text) {
		s := Build([]File{file(path, text[:i])}, nil, prev)
		if s.Doubt() == "" && (!holds(s, "shop/one") || !holds(s, "shop/two")) {
			line, column := position([]byte(text[:i]))
			places = append(places, fmt.Sprint(line, ":", column))
		}
	}
	return strings.Join(places, " ")
}

// holds says whether a name is known, usable or not.
func holds(s *Snapshot, name string) bool {
	_, usable := s.Objects[key(name)]
	_, broken := s.Broken[key(name)]
	return usable || broken
}

// TestEveryBeginningOfAFile cuts files of two objects at every byte. What was read
// before stays known, or there is a problem, unless the cut is exactly between two
// documents: then the file is one that somebody could have meant, with one object
// less. A comment and a separator between them belong to the second.
//
// Without anything read before, as at a start in the middle of somebody's writing,
// the same goes for what lacks only things that need not be there: a comment, the end
// of a value, fields that have a default, the rest of the name of another kind, and
// what comes before apiVersion and kind.
func TestEveryBeginningOfAFile(t *testing.T) {
	one, two := named("one"), named("two")
	block := strings.Replace(one, "spec:", "  annotations:\n    a: |\n      # x\n\n      y\nspec:", 1)
	const head = "apiVersion: apps.labhub.io/v1\nkind: WebService\n"
	for _, test := range []struct {
		name, path, text string
		silent           string // after the whole was read
		atStart          string // after nothing was
	}{
		{
			name: "two documents", text: one + "---\n" + two,
			silent: "7:1 8:1", atStart: "6:12 6:13 6:14 6:15 6:17 6:18 6:19 6:20 7:1 7:4 8:1",
		},
		{
			name: "with CR LF", text: strings.ReplaceAll(one+"---\n"+two, "\n", "\r\n"),
			silent: "7:1 7:1 8:1 8:1", atStart: "6:12 6:13 6:14 6:15 6:17 6:18 6:19 6:20 7:1 7:1 7:4 8:1 8:1",
		},
		{
			name: "without a line end at the end", text: strings.TrimSpace(one + "---\n" + two),
			silent: "6:20 7:1 7:4 8:1", atStart: "6:12 6:13 6:14 6:15 6:17 6:18 6:19 6:20 7:1 7:4 8:1",
		},
		{
			name: "with comments", text: "# a\n---\n# b\n" + one + "\n---\n# c\n" + two,
			silent:  "10:1 11:1 12:1 13:1",
			atStart: "1:2 1:3 1:4 2:1 2:2 2:4 3:1 3:2 3:3 3:4 4:1 9:12 9:13 9:14 9:15 9:17 9:18 9:19 9:20 10:1 11:1 11:4 12:1 12:2 12:3 12:4 13:1",
		},
		{
			name: "with fields that may be missing", text: head + "metadata:\n  name: one\nspec:\n  image: a\n  replicas: 3\n  tier: 'b'\n---\n" + two,
			silent: "9:1 10:1", atStart: "6:11 7:1 7:2 7:3 7:12 7:13 7:14 8:1 8:2 8:3 8:8 8:9 8:12 9:1 9:4 10:1",
		},
		{
			name: "with the type at the end", text: "metadata:\n  name: one\nspec:\n  image: a\n" + head + "---\n" + two,
			silent: "7:1 8:1", atStart: "1:10 2:1 2:2 2:3 2:4 2:5 2:6 2:7 2:8 2:9 2:10 2:11 2:12 3:1 6:17 7:1 7:4 8:1",
		},
		{
			name: "with a text of several lines", text: block + "---\n" + two,
			silent: "12:1 13:1", atStart: "11:12 11:13 11:14 11:15 11:17 11:18 11:19 11:20 12:1 12:4 13:1",
		},
		{
			name: "with a directive and ends", text: "%YAML 1.2\n---\n" + one + "...\n---\n" + two,
			silent: "9:1 10:1 11:1", atStart: "1:9 1:10 2:1 2:2 2:4 3:1 8:12 8:13 8:14 8:15 8:17 8:18 8:19 8:20 9:1 9:4 10:1 10:2 10:4 11:1",
		},
		{
			name: "with another kind between", text: head + "metadata: {name: one}\nspec: {image: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {}\n---\n" + two,
			silent: "5:1 6:1 9:1 10:1", atStart: "4:17 5:1 5:4 6:1 7:8 7:9 7:10 8:1 8:10 8:11 8:13 9:1 9:4 10:1",
		},
		{
			name: "in braces", text: "{apiVersion: apps.labhub.io/v1, kind: WebService, metadata: {name: one}, spec: {image: a}}\n---\n" + two,
			silent: "2:1 3:1", atStart: "1:91 2:1 2:4 3:1",
		},
		{
			name: "in a list", text: "apiVersion: v1\nkind: List\nitems:\n" + listItem("one") + listItem("two"),
			silent: "10:1", atStart: "2:8 2:9 2:10 9:14 9:15 9:16 9:17 9:19 9:20 9:21 9:22 10:1",
		},
		{
			name: "in a list whose kind comes last", text: "apiVersion: v1\nitems:\n" + listItem("one") + listItem("two") + "kind: List\n",
			silent: "", atStart: "15:8 15:9 15:10",
		},
		{name: "JSON", path: "web.json", text: jsonService("one") + jsonService("two"), silent: "1:111 2:1", atStart: "1:111 2:1"},
		{
			name: "a list in JSON", path: "web.json",
			text: `{"apiVersion": "v1", "kind": "List", "items": [` + jsonService("one") + "," + jsonService("two") + "]}\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.path == "" {
				test.path = "web.yaml"
			}
			whole := Build([]File{file(test.path, test.text)}, nil, nil)
			if whole.Doubt() != "" || keysOf(whole.Objects) != "shop/one shop/two" {
				t.Fatalf("the whole: %s, %s", keysOf(whole.Objects), texts(whole.Problems))
			}
			if got := silent(t, test.path, test.text, whole); got != test.silent {
				t.Errorf("after the whole was read: %q, want %q", got, test.silent)
			}
			if got := silent(t, test.path, test.text, nil); got != test.atStart {
				t.Errorf("at a start: %q, want %q", got, test.atStart)
			}
		})
	}
}

// TestFilesWithoutTheirFirstHalf are what a crash of the system leaves.
func TestFilesWithoutTheirFirstHalf(t *testing.T) {
	text := named("one") + "---\n" + named("two")
	whole := Build([]File{file("web.yaml", text)}, nil, nil)
	for i := 1; i <= len(text); i++ {
		for name, left := range map[string]string{
			"zeros": strings.Repeat("\x00", i) + text[i:], "blanks": strings.Repeat(" ", len(text)), "nothing": "",
		} {
			for _, prev := range []*Snapshot{whole, nil} {
				if s := Build([]File{file("web.yaml", left)}, nil, prev); s.Doubt() == "" || prev != nil && keysOf(s.Broken) != "shop/one shop/two" {
					t.Errorf("%s in place of %d bytes: broken: %s, doubt: %q", name, i, keysOf(s.Broken), s.Doubt())
				}
			}
		}
	}
}

// TestCutOffOrRemoved tells what somebody removed from what isn't written yet, step by
// step: each text of the file replaces the one before.
func TestCutOffOrRemoved(t *testing.T) {
	one, two := named("one"), named("two")
	three := one + "---\n" + two + "---\n" + named("three")
	other := strings.Replace(one, "nginx:1.27", "nginx:2", 1)
	const (
		inLine = "the file ends in the middle of a line, and doesn't hold "
		list   = "apiVersion: v1\nkind: List\nitems:\n"
		inText = "the file is cut off where it went on before, and doesn't hold "
	)
	for _, test := range []struct {
		name    string
		steps   []string
		known   string // of one, two and three
		problem string
	}{
		{"the last is removed", []string{three, one + "---\n" + two}, "one two", ""},
		{"with the separator left", []string{three, one + "---\n" + two + "---\n"}, "one two", ""},
		{"the first is removed", []string{three, two + "---\n" + named("three")}, "two three", ""},
		{"the middle is removed", []string{three, one + "---\n" + named("three")}, "one three", ""},
		{"all are, and a word says so", []string{three, "# nothing any more\n"}, "", ""},
		{"the last is, in files that never end their last line", []string{strings.TrimSpace(three), strings.TrimSpace(one + "---\n" + two)}, "one two", ""},
		{"the last is, and another changes", []string{three, other + "---\n" + two}, "one two", ""},
		{"a field at the end is", []string{three + "  replicas: 1\n", three}, "one two three", ""},
		{"a name changes", []string{one, two}, "two", ""},
		{"the last item of a list is", []string{list + listItem("one") + listItem("two"), list + listItem("one")}, "one", ""},

		{"a line breaks off", []string{three, one[:len(one)-3]}, "one two three", inLine + "shop/two and 1 more any longer: write the rest, or end that line if this is all"},
		{"also where the text is a new one", []string{three, other + "---\n" + two[:len(two)-1]}, "one two three", inLine + "shop/three any longer: "},
		{"the last field and what follows are missing", []string{three[:len(one)] + "  tier: a\n---\n" + two, one}, "one two", inText + "shop/two any longer: write the rest, or end it with a comment if this is all"},
		{"only the head is there", []string{"# team shop\n---\n" + three, "# team shop\n"}, "one two three", inText + "shop/one and 2 more any longer: "},
		{"it goes on, and rests again", []string{"# a\n" + three, "# a\n", "# a\n" + one[:len(one)-3], "# a\n" + one[:len(one)-1]}, "one two three", inLine + "shop/two and 1 more any longer: "},
		{"after a step with a problem", []string{three, one[:len(one)-10], one[:len(one)-3]}, "one two three", inLine + "shop/two and 1 more any longer: "},
		{"the rest comes", []string{three, one[:len(one)-3], three}, "one two three", ""},
		{"a comment says that this is all", []string{"# a\n" + three, "# a\n", "# a\n# empty\n"}, "", ""},
		{"the line is ended", []string{three, other[:len(other)-1], other}, "one", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *Snapshot
			for _, text := range test.steps {
				s = Build([]File{file("web.yaml", text)}, nil, s)
				s = Build([]File{file("web.yaml", text)}, nil, s) // the same again changes nothing
			}
			var known []string
			for _, name := range []string{"one", "two", "three"} {
				if holds(s, "shop/"+name) {
					known = append(known, name)
				}
			}
			if got := strings.Join(known, " "); got != test.known {
				t.Errorf("known: %s, want %s", got, test.known)
			}
			if (test.problem == "") != (len(s.Problems) == 0) || test.problem != "" && !strings.HasPrefix(s.Problems[0].Message, test.problem) {
				t.Errorf("problems: %s\nwant: %s", texts(s.Problems), test.problem)
			}
		})
	}
}

// TestWhatMovesIsntCutOff: an object that another file has isn't lost.
func TestWhatMovesIsntCutOff(t *testing.T) {
	before := Build([]File{file("a.yaml", named("one")+"---\n"+named("two"))}, nil, nil)
	after := Build([]File{file("a.yaml", strings.TrimSpace(named("one"))), file("b.yaml", named("two"))}, nil, before)
	if keysOf(after.Objects) != "shop/one shop/two" || after.Doubt() != "" {
		t.Errorf("%s, %s", keysOf(after.Objects), after.Doubt())
	}
}

// TestADocumentThatBreaksOffIsntApplied: its last value may be half of one.
func TestADocumentThatBreaksOffIsntApplied(t *testing.T) {
	text := named("one") + "---\n" + named("two") + "---\n" + named("three")
	before := Build([]File{file("a.yaml", text)}, nil, nil)
	s := Build([]File{file("a.yaml", text[:strings.Index(text, "name: two")+len("name: two\nspec:\n  image: ngi")])}, nil, before)
	if keysOf(s.Objects) != "shop/one" {
		t.Errorf("objects: %s, problems: %s", keysOf(s.Objects), texts(s.Problems))
	}
	if keysOf(s.Broken) != "shop/three shop/two" || s.Doubt() != "a problem in the source: a.yaml:13: mend it" {
		t.Errorf("broken: %s, doubt: %s", keysOf(s.Broken), s.Doubt())
	}
}
