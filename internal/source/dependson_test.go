package source

import (
	"fmt"
	"strings"
	"testing"
)

// depending is a WebService that depends on others.
func depending(name, on string) string {
	return strings.Replace(named(name), "spec:", "  annotations: {webservice.labhub.io/depends-on: '"+on+"'}\nspec:", 1)
}

// ring is a file of n objects that each depend on the next, and the last on the first.
func ring(n int) string {
	var documents []string
	for i := range n {
		documents = append(documents, depending(fmt.Sprint("w", i), fmt.Sprint("w", (i+1)%n)))
	}
	return strings.Join(documents, "---\n")
}

// keys makes keys into one text.
func keys(list []namespacedName) string {
	var texts []string
	for _, k := range list {
		texts = append(texts, k.String())
	}
	return strings.Join(texts, " ")
}

func TestDependsOn(t *testing.T) {
	only := Options{DefaultNamespace: "shop", Namespaces: []string{"shop", "pay"}}
	for _, test := range []struct {
		name, text        string
		depends           string
		problem, warnings string
	}{
		{name: "a name is of the object's namespace", text: depending("a", "db, pay/gateway"), depends: "shop/db pay/gateway"},
		{
			name: "also where that comes later in the file", depends: "pay/db",
			text: strings.Replace(depending("a", "db"), "\nspec:", "\n  namespace: pay\nspec:", 1),
		},
		{
			name: "the same twice counts once", text: depending("a", "db, pay/db, shop/db"), depends: "shop/db pay/db",
			warnings: "web.yaml:5:50: metadata.annotations[webservice.labhub.io/depends-on] names shop/db twice: keep one",
		},
		{
			name: "a hundred are allowed", text: depending("a", "db"+strings.Repeat(",db", 99)), depends: "shop/db",
			warnings: strings.TrimSuffix(strings.Repeat("web.yaml:5:50: metadata.annotations[webservice.labhub.io/depends-on] names shop/db twice: keep one\n", 99), "\n"),
		},
		{
			name: "more aren't", text: depending("a", "db"+strings.Repeat(",db", 100)),
			problem: "web.yaml:5:50: metadata.annotations[webservice.labhub.io/depends-on] has 101 names: write 100 at most",
		},
		{
			name: "nobody would see the object become ready", text: depending("a", "other/db"),
			problem: "web.yaml:5:50: metadata.annotations[webservice.labhub.io/depends-on] names other/db, and this controller works in shop, pay only: take it out",
		},
		{
			name: "in an item of a list", text: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(depending("a", "db, db")), "\n", "\n  ") + "\n", depends: "shop/db",
			warnings: "web.yaml:8:52: metadata.annotations[webservice.labhub.io/depends-on] names shop/db twice: keep one",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Parse("web.yaml", []byte(test.text), only)
			if texts(p.Problems) != test.problem || texts(p.Warnings) != test.warnings {
				t.Fatalf("problems: %s\nwarnings: %s", texts(p.Problems), texts(p.Warnings))
			}
			if test.problem == "" && keys(p.Objects[0].DependsOn) != test.depends {
				t.Errorf("%s, want %s", keys(p.Objects[0].DependsOn), test.depends)
			}
			if test.problem != "" && keysOf(p.Broken) != "shop/a" {
				t.Errorf("broken: %s", keysOf(p.Broken))
			}
		})
	}
}

// cycles writes down who is on which cycle: "place: names".
func cycles(s *Snapshot) string {
	var lines []string
	for _, p := range s.Problems {
		_, cycle, found := strings.Cut(p.Message, "makes a cycle: ")
		if !found {
			cycle = p.Message
		}
		cycle, _, _ = strings.Cut(cycle, ": take")
		lines = append(lines, fmt.Sprintf("%s:%d: %s", p.Path, p.Line, cycle))
	}
	return strings.Join(lines, "\n")
}

func TestCycles(t *testing.T) {
	const itself = "metadata.annotations[webservice.labhub.io/depends-on] names the object itself"
	pay := func(text string) string {
		return strings.Replace(text, "\nspec:", "\n  namespace: pay\nspec:", 1)
	}
	for _, test := range []struct {
		name            string
		files           []string // a.yaml, b.yaml, …
		objects, broken string
		cycles          string
	}{
		{name: "a chain isn't one", files: []string{depending("a", "b"), depending("b", "c"), named("c")}, objects: "shop/a shop/b shop/c"},
		{name: "nor are two ways to one object", files: []string{depending("a", "b, c"), depending("b", "d"), depending("c", "d"), named("d")}, objects: "shop/a shop/b shop/c shop/d"},
		{name: "nor is what no file has", files: []string{depending("a", "elsewhere")}, objects: "shop/a"},
		{name: "an object that names itself", files: []string{depending("a", "a"), named("b")}, objects: "shop/b", broken: "shop/a", cycles: "a.yaml:5: " + itself},
		{name: "by its whole name", files: []string{depending("a", "shop/a")}, broken: "shop/a", cycles: "a.yaml:5: " + itself},
		{name: "a name of another namespace is another object", files: []string{depending("a", "pay/a"), pay(named("a"))}, objects: "pay/a shop/a"},
		{
			name: "two, and one that waits for them", files: []string{depending("a", "b"), "# second\n" + depending("b", "a"), depending("c", "a")},
			objects: "shop/c", broken: "shop/a shop/b", cycles: "a.yaml:5: a → b → a\nb.yaml:6: b → a → b",
		},
		{
			name: "through another namespace", files: []string{depending("a", "pay/b"), pay(depending("b", "c")), pay(depending("c", "shop/a"))},
			broken: "pay/b pay/c shop/a", cycles: "a.yaml:5: a → pay/b → pay/c → a\nb.yaml:5: b → c → shop/a → b\nc.yaml:5: c → shop/a → b → c",
		},
		{
			name: "two cycles, and one between that is on none", files: []string{depending("a", "b"), depending("b", "a, x"), depending("c", "d"), depending("d", "c"), depending("x", "c")},
			objects: "shop/x", broken: "shop/a shop/b shop/c shop/d",
			cycles: "a.yaml:5: a → b → a\nb.yaml:5: b → a → b\nc.yaml:5: c → d → c\nd.yaml:5: d → c → d",
		},
		{
			name: "the shortest of several is named", files: []string{depending("a", "b"), depending("b", "c, a"), depending("c", "a")},
			broken: "shop/a shop/b shop/c", cycles: "a.yaml:5: a → b → a\nb.yaml:5: b → a → b\nc.yaml:5: c → a → b → c",
		},
		{
			name: "a duplicate is on none, since nobody knows what it depends on", files: []string{depending("a", "b"), depending("b", "a"), named("b")},
			objects: "shop/a", broken: "shop/b", cycles: "b.yaml:1: shop/b is written in c.yaml:1 as well: keep one\nc.yaml:1: shop/b is written in b.yaml:1 as well: keep one",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var files []File
			for i, text := range test.files {
				files = append(files, file(string(rune('a'+i))+".yaml", text))
			}
			s := Build(files, nil, nil)
			if keysOf(s.Objects) != test.objects || keysOf(s.Broken) != test.broken || cycles(s) != test.cycles {
				t.Errorf("objects: %s, broken: %s, cycles:\n%s\nwant: %s, %s\n%s", keysOf(s.Objects), keysOf(s.Broken), cycles(s), test.objects, test.broken, test.cycles)
			}
			if test.cycles != "" && !strings.Contains(s.Problems[0].Field, "metadata.") {
				t.Errorf("field: %q", s.Problems[0].Field)
			}
		})
	}
}

// TestACycleThatIsMended leaves nothing behind, and one that arises takes nothing away.
func TestACycleThatIsMended(t *testing.T) {
	good := []File{file("a.yaml", depending("a", "b")), file("b.yaml", named("b"))}
	before := Build(good, nil, nil)
	bad := Build([]File{good[0], file("b.yaml", depending("b", "a"))}, nil, before)
	if keysOf(bad.Broken) != "shop/a shop/b" || bad.Doubt() != "a problem in the source: a.yaml:5: mend it" {
		t.Errorf("broken: %s, doubt: %s", keysOf(bad.Broken), bad.Doubt())
	}
	if after := Build(good, nil, bad); !after.Same(before) {
		t.Errorf("%+v", after)
	}
}

// TestLongCycles: one is found without a deep stack, and in time that grows as the
// number of objects does; its problems name the beginning.
func TestLongCycles(t *testing.T) {
	const n = 100_000
	objects := make([]Object, n)
	for i := range objects {
		objects[i] = Object{
			Key: key(fmt.Sprint("shop/w", i)), DependsOn: []namespacedName{key(fmt.Sprint("shop/w", i+1))},
			File: "a.yaml", Line: i + 1, Document: i + 1, dependsAt: &Problem{Path: "a.yaml", Line: i + 1},
		}
	}
	chain := []File{{Path: "a.yaml", Parsed: &Parsed{Objects: objects}}}
	if s := Build(chain, nil, nil); len(s.Objects) != n || len(s.Problems) > 0 {
		t.Errorf("a chain: %d objects, %d problems", len(s.Objects), len(s.Problems))
	}
	objects[n-1].DependsOn = []namespacedName{objects[0].Key}
	s := Build(chain, nil, nil)
	if len(s.Broken) != n || len(s.Objects) > 0 || !strings.Contains(s.Problems[0].Message, "w0 → w1 → w2 → w3 → w4 → … → w0:") {
		t.Errorf("a ring: %d broken, the first: %v", len(s.Broken), s.Problems[0])
	}
}

// TestTheLengthOfACycle: ten names are written out, eleven aren't.
func TestTheLengthOfACycle(t *testing.T) {
	for n, want := range map[int]string{
		10: "w0 → w1 → w2 → w3 → w4 → w5 → w6 → w7 → w8 → w9 → w0",
		11: "w0 → w1 → w2 → w3 → w4 → … → w0",
	} {
		s := Build([]File{file("a.yaml", ring(n))}, nil, nil)
		if got := strings.Split(cycles(s), "\n")[0]; got != "a.yaml:5: "+want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
