package source

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

const goldenMessages = "testdata/messages.golden"

// metaWith and specWith are a WebService with lines of its metadata or its spec.
func metaWith(lines string) string {
	return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n" + lines + "spec:\n  image: a\n"
}

func specWith(lines string) string {
	return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\nspec:\n" + lines
}

// typedAs is a WebService with other lines for its type.
func typedAs(lines string) string { return lines + "metadata:\n  name: web\nspec:\n  image: a\n" }

// listOf is a List with a text for its items.
func listOf(items string) string { return "apiVersion: v1\nkind: List\nitems: " + items + "\n" }

// faulty is one file whose content has a problem or a warning.
type faulty struct{ name, text string }

// faultyFiles has a file for every message that the content of one can lead to.
// Names with .json are JSON; the rest is YAML.
func faultyFiles() []faulty {
	const ours, kind = "apiVersion: apps.labhub.io/v1\n", "kind: WebService\n"
	annotation := func(line string) string { return metaWith("  annotations:\n    " + line + "\n") }
	label := func(line string) string { return metaWith("  labels:\n    " + line + "\n") }
	return slices.Concat([]faulty{
		// The file as a whole.
		{"empty", " \n"},
		{"too large", service + strings.Repeat("#\n", 3<<20)},
		{"too many documents", strings.Repeat("---\n", MaxDocuments+1)},
		{"too many documents in json", strings.Repeat("1 ", MaxDocuments+1)},
		{"utf-16 cut off", "\xff\xfea"},
		{"utf-16 with half a surrogate pair", encode16("\uFEFFa: \n", false) + "\x00\xdc"},
		{"latin-1", service + "  tier: caf\xe9\n"},
		{"nul", service + "\x00"},
		{"control character", service + "  tier: a\x1b[31m\n"},
		{"git-lfs pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"},
		{"merge conflict", service + "<<<<<<< HEAD\n  replicas: 1\n=======\n  replicas: 2\n>>>>>>> other\n"},
	}, syntaxFaults(), []faulty{
		// What kind of document it is.
		{"a text", "apiVer"},
		{"a list of objects", "- apiVersion: apps.labhub.io/v1\n  kind: WebService\n"},
		{"neither apiVersion nor kind", typedAs("")},
		{"apiVersion missing", typedAs(kind)},
		{"apiVersion missing, another kind", typedAs("kind: Deployment\n")},
		{"apiVersion without a value", "apiVersion:\n"},
		{"kind missing", typedAs(ours)},
		{"kind missing, another group", typedAs("apiVersion: apps/v1\n")},
		{"kind twice", typedAs(ours + kind + kind)},
		{"another version", typedAs("apiVersion: apps.labhub.io/v1beta1\n" + kind)},
		{"another kind", typedAs(ours + "kind: WebServices\n")},
		{"apiVersion a number", typedAs("apiVersion: 1.0\nkind: Thing\n")},
		{"apiVersion a number, our kind", typedAs("apiVersion: 1.0\n" + kind)},
		{"kind a boolean", typedAs("apiVersion: apps/v1\nkind: off\n")},
		{"items no list", listOf("{a: b}")},
		{"items with a fault", listOf("\n- apiVersion: apps.labhub.io/v1\n  kind: WebService\n  metadata: {name: web}\n  spec: {image: 1}\n")},
		{"items missing", "apiVersion: v1\nkind: List\n"},
		{"items with nothing in one", listOf("\n- {apiVersion: v1, kind: Pod}\n-")},
		{"too many items", "x: &a {apiVersion: apps.labhub.io/v1, kind: WebService, metadata: {name: x}, spec: {image: a}}\n" +
			listOf("["+strings.Repeat("*a,", MaxDocuments+1)+"]")},
		{"a key of the document no string", "1: a\n"},
		{"too many problems", service + strings.Repeat("  x: y\n", 102)},

		// Fields.
		{"a key twice", service + "  image: b\n"},
		{"unknown field, a word close to it", service + "  replica: 1\n"},
		{"unknown field, one level up", service + "replicas: 1\n"},
		{"unknown field, a level too high", service + "namespace: shop\n"},
		{"unknown field, with a no-break space", service + "\u00a0\u00a0replicas: 3\n"},
		{"unknown field", service + "  env: []\n"},
		{"a key no string", label("on: a")},
		{"a key of nothing", label("? \n    : a")},
		{"a key with a tag", label("!!int 1: a")},
		{"a key a mapping", label("{{ .key }}: a")},
		{"a merge key without a mapping", label("<<: a")},
		{"too many aliases", manyAliases()},
		{"metadata no mapping", ours + kind + "metadata: web\nspec:\n  image: a\n"},
		{"spec a list", ours + kind + "metadata:\n  name: web\nspec: [a]\n"},
		{"spec missing", ours + kind + "metadata:\n  name: web\n"},

		// Values.
		{"image a number", specWith("  image: 1.20\n")},
		{"image a boolean", specWith("  image: yes\n")},
		{"image null", specWith("  image: ~\n")},
		{"image empty", specWith("  image: ''\n")},
		{"image a mapping", specWith("  image: {name: a}\n")},
		{"image a list", specWith("  image: [a]\n")},
		{"image a template", specWith("  image: {{ .image }}\n")},
		{"image with a tag", specWith("  image: !!binary aGFsbG8=\n")},
		{"image with the lone tag", specWith("  image: ! a\n")},
		{"tier a merge key", specWith("  image: a\n  tier: <<\n")},
		{"tier with quotes in it", specWith("  image: a\n  tier: !!bool \"no\"\n")},
		{"replicas a string", specWith("  image: a\n  replicas: '3'\n")},
		{"replicas a word", specWith("  image: a\n  replicas: three\n")},
		{"replicas octal", specWith("  image: a\n  replicas: 010\n")},
		{"replicas half", specWith("  image: a\n  replicas: 2.5\n")},
		{"replicas negative", specWith("  image: a\n  replicas: -1\n")},
		{"replicas too large", specWith("  image: a\n  replicas: 2147483648\n")},
		{"replicas far too large", specWith("  image: a\n  replicas: 99999999999999999999\n")},
		{"replicas a list", specWith("  image: a\n  replicas: [3]\n")},

		// Names, labels and annotations.
		{"name missing", ours + kind + "spec:\n  image: a\n"},
		{"name with capitals", ours + kind + "metadata:\n  name: Web\nspec:\n  image: a\n"},
		{"name too long", ours + kind + "metadata:\n  name: " + strings.Repeat("a", 246) + "\nspec:\n  image: a\n"},
		{"generateName", ours + kind + "metadata:\n  generateName: web-\nspec:\n  image: a\n"},
		{"namespace with a dot", metaWith("  namespace: a.b\n")},
		{"namespace too long", metaWith("  namespace: " + strings.Repeat("a", 64) + "\n")},
		{"namespace of others", metaWith("  namespace: kube-system\n")},
		{"label key with a blank", label("a b: c")},
		{"label key with two slashes", label("a/b/c: d")},
		{"label key with an empty part", label("/a: b")},
		{"label key with nothing after the slash", label("a/: b")},
		{"label key too long", label(strings.Repeat("a", 64) + ": b")},
		{"label value with a blank", label("a: b c")},
		{"label value too long", label("a: " + strings.Repeat("b", 64))},
		{"label null", label("a:")},
		{"annotation a number", annotation("x.io/a: 1.10")},
		{"annotations too large", annotation("a: " + strings.Repeat("b", maxAnnotations))},
		{"annotation of ours mistyped", annotation("webservice.labhub.io/prun: disabled")},
		{"annotation of ours unknown", annotation("webservice.labhub.io/colour: red")},
		{"annotation of ours with another value", annotation("webservice.labhub.io/prune: 'off'")},
		{"depends-on without a name", annotation("webservice.labhub.io/depends-on: db,")},
		{"depends-on with something else", annotation("webservice.labhub.io/depends-on: db and cache")},
		{"depends-on with too many names", annotation("webservice.labhub.io/depends-on: db" + strings.Repeat(", db", maxDependencies))},
		{"depends-on others", annotation("webservice.labhub.io/depends-on: kube-system/dns")},
		{"depends-on twice the same", annotation("webservice.labhub.io/depends-on: db, shop/db")},
		{"finalizers no list", metaWith("  finalizers: a\n")},
		{"finalizer null", metaWith("  finalizers: [~]\n")},

		// Warnings.
		{"image with a blank", specWith("  image: nginx :1.27\n")},
		{"image with a template", specWith("  image: \"{{ .image }}\"\n")},
		{"image with a variable", specWith("  image: nginx:${TAG}\n")},
		{"image with quotes of a word processor", specWith("  image: “nginx:1.27”\n")},
		{"an export", metaWith("  uid: 99999999-8888-7777-6666-555555555555\n  resourceVersion: '1'\n") + "status:\n  replicas: 1\n"},
		{"finalizer and label of others", metaWith("  finalizers: [example.com/a]\n  labels: {webservice.labhub.io/source: mine}\n")},
	})
}

// syntaxFaults has a file for every remedy of an error of the YAML and JSON readers.
func syntaxFaults() []faulty {
	return []faulty{
		{"a colon in a value", "a: b: c\n"},
		{"a value that begins with @", "a: @b\n"},
		{"a tab", "a:\n\tb: c\n"},
		{"a template", "a: {{ .b }} c: d\n"},
		{"a name without a value", "a: b\nc\nd: e\n"},
		{"an open quote", "a: \"b\nc: d\n"},
		{"an open quote before a separator", "a: 'b\n--- c\n"},
		{"an open bracket", "a: [b\nc: d\n"},
		{"an open brace", "a: {b: c\nd: e\n"},
		{"a list behind a name", "a: - b\n"},
		{"an anchor that isn't there", "a: *b\n"},
		{"a backslash", "a: \"C:\\Windows\"\n"},
		{"a backslash and an x", "a: \"\\xzz\"\n"},
		{"a directive of another version", "%YAML 2.0\n---\na: b\n"},
		{"an unknown directive", "%FOO\n---\na: b\n"},
		{"a tag of nobody", "a: !x!y b\n"},
		{"nested too deeply", strings.Repeat("[", 20_000)},
		{"indented less", "a:\n    b: c\n  d: e\n"},
		{"a quote and more in one value", "a: \"b\" c\nd: e\n"},
		{"a no-break space", "a:\n  b: c\n\u00a0\u00a0d\n"},
		{"one mark of a merge conflict", service + "=======\n  replicas: 3\n"},
		{"text glued to a separator", "a: b\n---c: d\n"},
		{"text after the end of a document", "{a: b}\n--- {c: d}\n{e: f}\n"},
		{"a separator behind a line end that only some know", "a: b\u2028---\nc: d\n"},
		{"cut off in json", `{"a":`},
		{"YAML by the name of json", "# shop\n---\n" + service},
		{"a comment in json", "// a\n{}"},
		{"half a surrogate pair in json", `{"a": "\ud800"}`},
		{"nested too deeply in json", strings.Repeat("[", maxJSONDepth+2)},
	}
}

func manyAliases() string {
	text := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n  l0: &l0 {x: y}\n"
	for i := range 15 {
		text += fmt.Sprintf("  l%d: &l%d {<<: [%s]}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d,", i), 10))
	}
	return text + "  annotations: *l15\nspec:\n  image: a\n"
}

// contentMessages are the problems and warnings of each file of faultyFiles.
func contentMessages() string {
	var b strings.Builder
	for _, f := range faultyFiles() {
		name := "web.yaml"
		if strings.HasSuffix(f.name, "json") {
			name = "web.json"
		}
		opts := options()
		if strings.HasSuffix(f.name, " others") {
			opts.Namespaces = []string{"shop", "pay"}
		}
		p := Parse(name, []byte(f.text), opts)
		if f.name == "too many problems" {
			p.Problems = p.Problems[len(p.Problems)-1:]
		}
		b.WriteString(golden(f.name, p.Problems, p.Warnings))
	}
	return b.String()
}

// golden words what one input leads to.
func golden(name string, problems, warnings []Problem) string {
	text := "# " + name + "\n"
	for _, p := range problems {
		text += goldenProblem("problem", p)
	}
	for _, w := range warnings {
		text += goldenProblem("warning", w)
	}
	return text + "\n"
}

func goldenProblem(what string, p Problem) string {
	text := p.Path
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	if p.Document > 0 {
		text += fmt.Sprintf(" document %d", p.Document)
	}
	if p.Field != "" {
		text += " field " + p.Field
	}
	return what + " " + text + "\n    " + p.Message + "\n"
}

// cycleMessages are those of objects that depend on themselves.
func cycleMessages() string {
	s := Build([]File{
		file("a.yaml", depending("self", "self")+"---\n"+depending("a", "b")+"---\n"+depending("b", "pay/c")),
		file("c.yaml", "# the third\n"+strings.Replace(depending("c", "shop/a"), "metadata:", "metadata:\n  namespace: pay", 1)),
	}, nil, nil)
	return golden("cycles of dependencies", s.Problems, s.Warnings)
}

// cutMessages are those of a file that held more before.
func cutMessages() string {
	text := "# shop\n" + named("a") + "---\n" + named("b")
	before := Build([]File{file("a.yaml", text)}, nil, nil)
	line := Build([]File{file("a.yaml", strings.TrimSpace("# shop\n"+named("a")))}, nil, before)
	comment := Build([]File{file("a.yaml", "# shop\n")}, nil, before)
	return golden("cut off in a line", line.Problems, nil) + golden("cut off after a line", comment.Problems, nil)
}

// treeMessages are those of files that can't be read, or that are named twice.
func treeMessages(t *testing.T) string {
	t.Helper()
	dir := writeTree(t, map[string]string{
		"a.yaml": named("twice"), "b.yaml": named("twice"), "real/c.yaml": named("c"), "notes": "",
		".git/HEAD": commitA, ".git/index.lock": "",
	})
	for name, target := range map[string]string{
		"link": "real", "gone.yaml": "nowhere.yaml", "circle.yaml": "circle.yaml", "device.yaml": "pipe.yaml",
		"out.yaml": "/nowhere/secret.yaml", "up.yaml": "../x/secret.yaml",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	var text string
	synctest.Test(t, func(t *testing.T) {
		s := scan(t, NewScanner(config(dir)))
		text = golden("a directory", s.Problems, s.Warnings)
	})
	text += replacedMessages(t)
	refused := Build([]File{{Path: "secret.yaml", Err: &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}}}, nil, nil)
	root, _, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	locked := (&walker{top: root, before: new(history)}).brokenLink("link", fs.ErrPermission)
	return text + golden("a file that can't be read", refused.Problems, nil) +
		golden("a link that can't be followed", []Problem{{Path: "a.yaml", Message: locked}}, nil)
}

// replacedMessages are those of what takes the place of files and directories.
func replacedMessages(t *testing.T) string {
	t.Helper()
	dir := writeTree(t, map[string]string{"a.yaml": named("a"), "team/b.yaml": named("b")})
	var text string
	synctest.Test(t, func(t *testing.T) {
		s := NewScanner(config(dir))
		scan(t, s)
		replaced("a.yaml", aDirectory)(t, dir)
		replaced("team", aFile)(t, dir)
		text = golden("replaced", scan(t, s).Problems, nil)
	})
	return text
}

// checkMessages are those that only Check has.
func checkMessages(t *testing.T) string {
	t.Helper()
	s, err := Check(t.Context(), []string{"/dev/null", Stdin}, strings.NewReader(strings.Repeat("#\n", 2<<20)), options())
	if err != nil {
		t.Fatal(err)
	}
	return golden("named by a user", s.Problems, s.Warnings)
}

// TestMessages holds every message to the one that a person has read. With
// UPDATE_GOLDEN=1 it writes them down anew, to be read again.
func TestMessages(t *testing.T) {
	got := contentMessages() + cycleMessages() + cutMessages() + treeMessages(t) + checkMessages(t)
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(goldenMessages, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenMessages)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n\n")
	for i, part := range strings.Split(got, "\n\n") {
		if i >= len(wanted) || part != wanted[i] {
			t.Errorf("got:\n%s\nwant:\n%s", part, slices.Concat(wanted, make([]string, i+1))[i])
		}
	}
	for part := range strings.SplitSeq(got, "\n\n") {
		if strings.HasPrefix(part, "# ") && !strings.Contains(part, "\n") {
			t.Errorf("%s: there is no message", part)
		}
	}
}

// unlisted are texts of the package that no problem or warning has.
func unlisted() map[string]string {
	const status, root, doubt = "a text of Status", "a RootError", "a text of Doubt: TestDoubt"
	return map[string]string{
		"a git command is at work: ":         status,
		"%s still change, such as %s":        status,
		" still changes":                     status,
		"the file system gives no hints: %w": status,
		"%s can't be watched: %w":            status,
		"%d more places":                     "where an object has many: TestManyCopies",
		"limit reached":                      status,
		"the source wasn't read yet":         doubt,
		"the source wasn't read whole":       doubt,
		"a problem in the source: ":          doubt,
		": mend it":                          doubt,
		" still changes: let it rest":        doubt,
		"mend the link":                      doubt,
		"let source.path name a directory":   doubt,
		"make it readable":                   doubt,
		"put it back, or mend source.path":   doubt,
		"the source holds no WebService: mend source.path, or set source.allowEmpty": doubt,
		"changed while it was read": "read again",
		"no more watchers for this user: raise fs.inotify.max_user_instances: %w": status,
		"no more watches for this user: raise fs.inotify.max_user_watches: %w":    status,
		"doesn't exist":                   root,
		"isn't a directory":               root,
		"holds no WebService":             root,
		"can't be read":                   root,
		"source ":                         root,
		" of other kinds":                 root,
		"\"' ":                            "trimmed off",
		", regex used for validation is ": "cut out",
		"unknown anchor '":                "of the YAML reader", "' referenced": "of the YAML reader", "did not find expected '-' indicator": "of the YAML reader",
		"^yaml: (?:line (\\d+): )?(.*)$":                "a pattern",
		"version https://git-lfs.github.com/spec/":      "the head of a pointer file",
		"not valid YAML: %v: write it in a simpler way": "a panic of the YAML reader",
	}
}

// TestNoMessageIsLeftOut looks for every text with a blank in the package's code
// among the golden messages.
func TestNoMessageIsLeftOut(t *testing.T) {
	data, err := os.ReadFile(goldenMessages)
	if err != nil {
		t.Fatal(err)
	}
	passed := unlisted()
	for text, place := range wordsInCode(t) {
		if _, known := passed[text]; known {
			delete(passed, text)
			continue
		}
		if !asPattern(text).Match(data) {
			t.Errorf("%s: no golden message has %q", place, text)
		}
	}
	for text, why := range passed {
		t.Errorf("%q isn't in the code, though it is listed as %s", text, why)
	}
}

var verb = regexp.MustCompile(`%[a-zA-Z]`)

// asPattern finds what a format can become.
func asPattern(format string) *regexp.Regexp {
	var parts []string
	for _, part := range verb.Split(format, -1) {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(strings.Join(parts, ".*"))
}

// wordsInCode are the string literals that hold a blank between letters, with the
// place of each.
func wordsInCode(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	words, set := map[string]string{}, token.NewFileSet()
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(set, path, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err == nil && regexp.MustCompile(`[a-z%'] |[ ][a-z]`).MatchString(text) {
				words[text] = set.Position(literal.Pos()).String()
			}
			return true
		})
	}
	return words
}
