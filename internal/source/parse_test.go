package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// service is a WebService of two lines of spec, for tests that add to it.
const service = "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\nspec:\n  image: nginx:1.27\n"

func options() Options { return Options{DefaultNamespace: "shop"} }

func parse(text string) *Parsed { return Parse("web.yaml", []byte(text), options()) }

// parseCase reads one of the files in testdata.
func parseCase(t *testing.T, name string) *Parsed {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(name, data, options())
}

// texts makes problems into "path:line:column: message".
func texts(problems []Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// names are the keys of the usable objects, in order.
func names(objects []Object) string {
	var keys []string
	for _, o := range objects {
		keys = append(keys, o.Key.String())
	}
	return strings.Join(keys, " ")
}

func TestCases(t *testing.T) {
	for _, test := range []struct {
		file     string
		objects  string
		problems string
	}{
		{"01-empty-and-comment-docs.yaml", "default/t01-front default/t01-back", ""},
		{"02-separator-in-block-scalar.yaml", "default/t02-gateway", ""},
		{
			"04-duplicate-keys.yaml", "",
			`04-duplicate-keys.yaml:8:5: metadata.labels.team is there twice, first on line 7: keep one
04-duplicate-keys.yaml:13:3: spec.replicas is there twice, first on line 11: keep one`,
		},
		{
			"05-wrong-scalar-types.yaml", "default/t05-good-neighbour",
			`05-wrong-scalar-types.yaml:7:10: spec.image is a number: quote it, as in image: "1.20"
05-wrong-scalar-types.yaml:16:13: spec.replicas is a string: write 3 without quotes
05-wrong-scalar-types.yaml:25:13: spec.replicas is not a plain integer: write 8
05-wrong-scalar-types.yaml:34:13: spec.replicas is not a plain integer: write 3
05-wrong-scalar-types.yaml:43:13: spec.replicas is not a plain integer: write 10
05-wrong-scalar-types.yaml:52:13: spec.replicas is too large: write 2147483647 at most
05-wrong-scalar-types.yaml:60:3: spec.image is required: write one`,
		},
		{
			"07-case-and-unknown-fields.yaml", "",
			`07-case-and-unknown-fields.yaml:8:3: unknown field spec.Replicas: did you mean spec.replicas?
07-case-and-unknown-fields.yaml:9:3: unknown field spec.REPLICAS: did you mean spec.replicas?
07-case-and-unknown-fields.yaml:10:3: unknown field spec.teir: did you mean spec.tier?
07-case-and-unknown-fields.yaml:11:3: unknown field spec.env: remove it
07-case-and-unknown-fields.yaml:14:1: unknown field replicas: did you mean spec.replicas?`,
		},
		{"08-kubectl-get-export.yaml", "default/t08-export default/t08-null-timestamp", ""},
		{"12-full.yaml", "default/t12-keep default/t12-do-not-prune", ""},
		{"12-truncated-c.yaml", "", "12-truncated-c.yaml: the file is empty: remove it, or leave a comment in it where it is meant to hold nothing"},
	} {
		t.Run(test.file, func(t *testing.T) {
			p := parseCase(t, test.file)
			if got := names(p.Objects); got != test.objects {
				t.Errorf("objects: %s, want %s", got, test.objects)
			}
			if got := texts(p.Problems); got != test.problems {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.problems)
			}
		})
	}
}

func TestPositionsCountInTheFile(t *testing.T) {
	p := parseCase(t, "01-empty-and-comment-docs.yaml")
	for i, want := range []struct{ document, line int }{{3, 5}, {4, 13}} {
		if o := p.Objects[i]; o.Document != want.document || o.Line != want.line {
			t.Errorf("%s: document %d, line %d, want %+v", o.Key, o.Document, o.Line, want)
		}
	}
}

func TestBlockScalarIsKeptToTheByte(t *testing.T) {
	o := parseCase(t, "02-separator-in-block-scalar.yaml").Objects[0]
	want := "---\nkind: Route\nprefix: /shop\n---\nkind: Route\nprefix: /pay\n...\n"
	if got := o.Annotations["labhub.io/route-config"]; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBrokenDocumentsAreNamed(t *testing.T) {
	p := parseCase(t, "05-wrong-scalar-types.yaml")
	if len(p.Broken) != 7 || p.Anonymous {
		t.Errorf("broken: %v, anonymous: %v", p.Broken, p.Anonymous)
	}
	for i, problem := range p.Problems {
		if problem.Document != i+1 {
			t.Errorf("%v: document %d, want %d", problem, problem.Document, i+1)
		}
	}
}

func TestExportIsCleanedWithOneWarning(t *testing.T) {
	p := parseCase(t, "08-kubectl-get-export.yaml")
	want := "08-kubectl-get-export.yaml:5:5: not applied, since the server or another controller sets it; better remove it: " +
		"metadata.annotations[kubectl.kubernetes.io/last-applied-configuration], metadata.creationTimestamp, " +
		"metadata.generation, metadata.managedFields, metadata.ownerReferences, metadata.resourceVersion, " +
		"metadata.selfLink, metadata.uid, status"
	if got := texts(p.Warnings); got != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
	}
	o := p.Objects[0]
	if o.Labels != nil || o.Annotations != nil || len(o.Finalizers) != 1 || o.Image != "registry.local/export:0.2.0" || *o.Replicas != 2 {
		t.Errorf("object: %+v", o)
	}
}

// TestDocument covers what a single document can be. Lines that begin with + go
// under the spec of service, others replace it.
func TestDocument(t *testing.T) {
	meta := func(lines string) string {
		return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n" + lines + "spec:\n  image: a\n"
	}
	spec := func(lines string) string {
		return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\nspec:\n" + lines
	}
	typed := func(apiVersion, kind string) string {
		return apiVersion + kind + "metadata:\n  name: web\nspec:\n  image: a\n"
	}
	ours, kind := "apiVersion: apps.labhub.io/v1\n", "kind: WebService\n"
	for _, test := range []struct {
		name, text string
		problem    string // "": one object
	}{
		{"plain", service, ""},
		{"tier is a boolean", spec("  image: a\n  tier: off\n"), `7:9: spec.tier is a boolean: quote it, as in tier: "off"`},
		{"tier is quoted", spec("  image: a\n  tier: 'off'\n"), ""},
		{"tier is null", spec("  image: a\n  tier: null\n"), ""},
		{"replicas are null", spec("  image: a\n  replicas: null\n"), ""},
		{"image is a tagged string", spec("  image: !!str 1.20\n"), ""},
		{"image has another tag", spec("  image: !!binary aGFsbG8=\n"), "6:10: spec.image is tagged !!binary: leave the tag out, and quote the value"},
		{"image is a template", spec("  image: {{ .image }}\n"), "6:10: spec.image is a template that isn't rendered: write a string"},
		{"image is a list", spec("  image: [a]\n"), "6:10: spec.image is a list: write a string"},
		{"image is empty", spec("  image: ''\n"), "6:10: spec.image is empty: write one"},
		{"replicas with underscore", spec("  image: a\n  replicas: 1_000\n"), "7:13: spec.replicas is not a plain integer: write 1000"},
		{"replicas are negative", spec("  image: a\n  replicas: -1\n"), "7:13: spec.replicas is negative: write 0 or more"},
		{"replicas are half", spec("  image: a\n  replicas: 2.5\n"), "7:13: spec.replicas is not a whole number that fits: write a plain integer, such as 3"},
		{"replicas are a word", spec("  image: a\n  replicas: three\n"), "7:13: spec.replicas is a string: write a plain integer, such as 3"},
		{"replicas are too many", spec("  image: a\n  replicas: 2147483648\n"), "7:13: spec.replicas is too large: write 2147483647 at most"},
		{"spec is missing", "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n", "1:1: spec.image is required: write one"},
		{"metadata is a string", ours + kind + "metadata: web\nspec:\n  image: a\n", "3:11: metadata is a string: write a mapping"},

		{"label is a boolean", meta("  labels:\n    a: NO\n"), `6:8: metadata.labels.a is a boolean: quote it, as in a: "NO"`},
		{"label is on", meta("  labels:\n    a: on\n"), `6:8: metadata.labels.a is a boolean: quote it, as in a: "on"`},
		{"label is y", meta("  labels:\n    a: y\n"), `6:8: metadata.labels.a is a boolean: quote it, as in a: "y"`},
		{"label is a number", meta("  labels:\n    a: 1.10\n"), `6:8: metadata.labels.a is a number: quote it, as in a: "1.10"`},
		{"label is hexadecimal", meta("  labels:\n    a: 0x1F\n"), `6:8: metadata.labels.a is a number: quote it, as in a: "0x1F"`},
		{"annotation is null", meta("  annotations:\n    x.io/a: ~\n"), `6:13: metadata.annotations[x.io/a] is null: quote it, as in x.io/a: "~"`},
		{"annotation is nothing", meta("  annotations:\n    a:\n"), `6:7: metadata.annotations.a is null: quote it, as in a: ""`},
		{"annotation is a time", meta("  annotations:\n    a: 12:30:00\n"), ""},
		{"label is a date", meta("  labels:\n    a: 2024-01-01\n"), ""},
		{"key is a boolean", meta("  labels:\n    on: a\n"), `6:5: metadata.labels has the key on, which is a boolean: quote it, as in "on"`},
		{"label value has a blank", meta("  labels:\n    a: b c\n"), `6:8: metadata.labels.a "b c" isn't valid: `},
		{"label key has a blank", meta("  labels:\n    a b: c\n"), `6:5: metadata.labels has the key "a b", which isn't valid: `},
		{"merge key with an override", meta("  labels: &base\n    a: one\n    b: two\n  annotations:\n    <<: *base\n    b: three\n"), ""},
		{"merge key without a mapping", meta("  labels:\n    <<: a\n"), "6:9: metadata.labels has a merge key << without a mapping: give it an alias of one"},

		{"name is a number", ours + kind + "metadata:\n  name: 12\nspec:\n  image: a\n", `4:9: metadata.name is a number: quote it, as in name: "12"`},
		{"name has capitals", ours + kind + "metadata:\n  name: Web\nspec:\n  image: a\n", `4:9: metadata.name "Web" isn't valid: `},
		{"name of 245 characters", ours + kind + "metadata:\n  name: " + strings.Repeat("a", 245) + "\nspec:\n  image: a\n", ""},
		{"name of 246 characters", ours + kind + "metadata:\n  name: " + strings.Repeat("a", 246) + "\nspec:\n  image: a\n", "4:9: metadata.name has 246 characters: write 245 at most, since its ConfigMap is named <name>-desired"},
		{"name is missing", ours + kind + "metadata:\n  namespace: a\nspec:\n  image: a\n", "4:3: metadata.name is required: write one"},
		{"generateName", ours + kind + "metadata:\n  generateName: x-\nspec:\n  image: a\n", "4:3: metadata.generateName isn't supported: write metadata.name"},
		{"namespace is empty", meta("  namespace: ''\n"), ""},
		{"namespace has capitals", meta("  namespace: Shop\n"), `5:14: metadata.namespace "Shop" isn't valid: `},
		{"unknown field of metadata", meta("  label: {a: b}\n"), "5:3: unknown field metadata.label: did you mean metadata.labels?"},
		{"finalizers are a string", meta("  finalizers: a\n"), "5:15: metadata.finalizers is a string: write a list"},

		{"suspended", meta("  annotations:\n    webservice.labhub.io/reconcile: disabled\n"), ""},
		{"reconcile with another value", meta("  annotations:\n    webservice.labhub.io/reconcile: 'off'\n"), `6:37: metadata.annotations[webservice.labhub.io/reconcile] is "off": write disabled, or remove it`},
		{"unknown annotation of ours", meta("  annotations:\n    webservice.labhub.io/prun: disabled\n"), "6:5: unknown annotation webservice.labhub.io/prun: did you mean webservice.labhub.io/prune?"},
		{"depends-on", meta("  annotations:\n    webservice.labhub.io/depends-on: db, pay/gateway\n"), ""},
		{"depends-on without a name", meta("  annotations:\n    webservice.labhub.io/depends-on: db,\n"), "6:38: metadata.annotations[webservice.labhub.io/depends-on]: an entry is empty: write name or namespace/name, separated by commas"},

		{"another version", typed("apiVersion: apps.labhub.io/v1beta1\n", kind), `1:13: apiVersion is "apps.labhub.io/v1beta1": write apiVersion: apps.labhub.io/v1`},
		{"another group", typed("apiVersion: apps.labhub.com/v1\n", kind), `1:13: apiVersion is "apps.labhub.com/v1": write apiVersion: apps.labhub.io/v1`},
		{"another kind", typed(ours, "kind: WebServce\n"), `2:7: kind is "WebServce": write kind: WebService`},
		{"kind in small letters", typed("apiVersion: v1\n", "kind: webservice\n"), `1:13: apiVersion is "v1": write apiVersion: apps.labhub.io/v1`},
		{"no kind", typed(ours, ""), "1:1: kind is missing: write kind: WebService"},
		{"no apiVersion", typed("", kind), "1:1: apiVersion is missing: write apiVersion: apps.labhub.io/v1"},
		{"no apiVersion, another kind", typed("", "kind: Deployment\n"), "1:1: apiVersion is missing: write it, also where it names another kind"},
		{"neither", typed("", ""), "1:1: apiVersion and kind are missing: write apiVersion: apps.labhub.io/v1 and kind: WebService"},
		{"kind twice", typed(ours, "kind: Service\n"+kind), "3:1: kind is there twice: keep one"},

		{"tagged document", "--- !!map\n" + service, ""},
		{"YAML directive", "%YAML 1.2\n---\n" + service, ""},
		{"byte order mark", "\uFEFF" + service, ""},
		{"byte order mark before a separator", "# first\n\uFEFF---\n" + service, ""},
		{"CR LF", strings.ReplaceAll(service, "\n", "\r\n"), ""},
		{"text after the end", service + "...\n" + "# only a comment\n", ""},
		{"indented with a tab", "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n\tname: web\n", "4:2: not valid YAML: found character that cannot start any token: indent with blanks, not with tabs"},
		{"truncated in the first word", "apiVer", "1:1: the document is a plain text, not an object: begin it with apiVersion: apps.labhub.io/v1"},
		{"list of objects", "- apiVersion: apps.labhub.io/v1\n  kind: WebService\n", "1:1: the document is a list of objects: write them under items: of a kind: List, or part them with ---"},
		{"blanks", " \n\t\r\n", "the file is empty: remove it, or leave a comment in it where it is meant to hold nothing"},
		{"NUL", service + "\x00", "7:1: the file holds a NUL byte: save it as text in UTF-8"},
		{"control character", service + "  tier: a\x07\n", "7:10: the file holds the control character U+0007: remove it, or write it as an escape in double quotes"},
		{"Latin-1", service + "  tier: caf\xe9\n", "7:12: the file isn't valid UTF-8: save it as UTF-8"},
		{"merge conflict", "<<<<<<< HEAD\n" + service + "=======\n" + service + ">>>>>>> other\n", "1:1: the file has a merge conflict: resolve it, and remove git's marks"},
		{"git-lfs pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "1:1: the file is a git-lfs pointer: fetch its content with git lfs pull"},
	} {
		t.Run(test.name, func(t *testing.T) { checkDocument(t, parse(test.text), test.problem) })
	}
}

// checkDocument wants one object, or one problem that begins with a text.
func checkDocument(t *testing.T, p *Parsed, problem string) {
	t.Helper()
	if problem == "" {
		if len(p.Objects) != 1 || len(p.Problems) != 0 {
			t.Errorf("objects: %s, problems:\n%s", names(p.Objects), texts(p.Problems))
		}
		return
	}
	want := "web.yaml:" + problem
	if problem[0] > '9' {
		want = "web.yaml: " + problem
	}
	if len(p.Objects) != 0 || len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Error(), want) {
		t.Errorf("objects: %s, problems:\n%s\nwant:\n%s", names(p.Objects), texts(p.Problems), want)
	}
	if len(p.Broken) == 0 && !p.Anonymous {
		t.Error("neither a broken name nor anonymous")
	}
}

// TestQuotedValuesStayWhatTheyAre: none of them is anything but a string.
func TestQuotedValuesStayWhatTheyAre(t *testing.T) {
	for _, value := range []string{"NO", "on", "y", "1.10", "0x1F", "~", "12:30:00", "2024-01-01", "010", "1e1", "null", "=", "<<", ""} {
		for _, quote := range []string{"'", `"`} {
			p := parse(metaWith("  annotations:\n    a: "+quote+value+quote+"\n") + "  tier: " + quote + value + quote + "\n")
			if len(p.Objects) != 1 || p.Objects[0].Annotations["a"] != value || *p.Objects[0].Tier != value {
				t.Errorf("%s%s%s: %s", quote, value, quote, texts(p.Problems))
			}
		}
	}
	for _, value := range []string{"12:30:00", "2024-01-01", "1.2.3", "nope", "0xZZ", "v1.10"} {
		p := parse(metaWith("  annotations:\n    a: " + value + "\n"))
		if len(p.Objects) != 1 || p.Objects[0].Annotations["a"] != value {
			t.Errorf("%s: %s", value, texts(p.Problems))
		}
	}
}

func TestOtherKindsAreSkipped(t *testing.T) {
	for name, text := range map[string]string{
		"Deployment":     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {}\n",
		"the CRD":        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: webservices.apps.labhub.io}\n",
		"values":         "image: nginx\nreplicas: 3\n",
		"kustomization":  "resources:\n- a.yaml\n",
		"duplicate keys": "a: 1\na: 2\n",
		"list of words":  "- a\n- b\n",
	} {
		t.Run(name, func(t *testing.T) {
			if p := parse(text); p.Skipped != 1 || len(p.Problems) != 0 || len(p.Objects) != 0 {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestNothingAtAll(t *testing.T) {
	for name, text := range map[string]string{
		"comment": "# a\n", "separators": "---\n---\n", "null": "null\n", "tilde": "--- ~\n...\n", "empty object": "{}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if p := parse(text); p.Skipped+len(p.Problems)+len(p.Objects)+len(p.Broken) != 0 || p.Anonymous {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestMergedFieldsLoseAgainstOwn(t *testing.T) {
	p := parse("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n" +
		"  labels: &base\n    a: one\n    b: two\n  annotations:\n    b: three\n    <<: *base\nspec:\n  image: a\n")
	if got := p.Objects[0].Annotations; got["a"] != "one" || got["b"] != "three" {
		t.Errorf("annotations: %v", got)
	}
}

func TestOneBadDocumentHarmsOnlyItself(t *testing.T) {
	second := strings.Replace(service, "name: web", "name: other", 1)
	p := parse("a: [\nmetadata:\n  name: gone\n---\n" + second)
	if names(p.Objects) != "shop/other" || len(p.Problems) != 1 {
		t.Errorf("objects: %s, problems:\n%s", names(p.Objects), texts(p.Problems))
	}
	if _, named := p.Broken[key("shop/gone")]; !named || !p.Anonymous {
		t.Errorf("broken: %v", p.Broken)
	}
}

func TestSeparatorWithTextBreaksBothDocuments(t *testing.T) {
	p := parse(service + "---" + strings.Replace(service, "name: web", "name: other", 1))
	if len(p.Objects) != 0 || len(p.Problems) != 1 || len(p.Broken) != 2 {
		t.Fatalf("%+v", p)
	}
	if want := "web.yaml:7:1: a line begins with --- and text: put a line end after ---"; texts(p.Problems) != want {
		t.Errorf("%s, want %s", texts(p.Problems), want)
	}
}

func TestFileLinesOfLaterDocuments(t *testing.T) {
	first := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: one\nspec:\n  image: a\n\n---\n"
	p := parse(first + service + "  image: b\n  replicas: x\n")
	want := "web.yaml:15:3: spec.image is there twice, first on line 14: keep one\n" +
		"web.yaml:16:13: spec.replicas is a string: write a plain integer, such as 3"
	if texts(p.Problems) != want || p.Problems[0].Document != 2 {
		t.Errorf("%s\nwant:\n%s", texts(p.Problems), want)
	}
}

func TestNamespaces(t *testing.T) {
	only := Options{DefaultNamespace: "shop", Namespaces: []string{"shop", "pay"}}
	outside := strings.Replace(service, "name: web", "name: web\n  namespace: other", 1)
	p := Parse("a.yaml", []byte(service+"---\n"+outside), only)
	if names(p.Objects) != "shop/web" {
		t.Errorf("objects: %s", names(p.Objects))
	}
	want := `a.yaml:11:3: metadata.namespace is "other", and namespaces.only lets this controller work in shop, pay alone: write one that it names`
	if texts(p.Problems) != want || p.Broken[key("other/web")].Message == "" {
		t.Errorf("problems: %s\nbroken: %v", texts(p.Problems), p.Broken)
	}
}

func TestOursInMetadata(t *testing.T) {
	text := strings.Replace(service, "name: web", `name: web
  labels:
    webservice.labhub.io/source: mine
    team: shop
  finalizers: [webservice.labhub.io/cleanup, example.com/other]
  annotations:
    webservice.labhub.io/reconcile: disabled
    webservice.labhub.io/prune: disabled`, 1)
	p := parse(text)
	o := p.Objects[0]
	if !o.Suspended || len(o.Labels) != 1 || len(o.Annotations) != 1 || o.Annotations["webservice.labhub.io/prune"] != "disabled" || len(o.Finalizers) != 1 {
		t.Errorf("%+v", o)
	}
	want := "web.yaml:6:5: not applied, since the server or another controller sets it; better remove it: " +
		"metadata.labels[webservice.labhub.io/source], metadata.finalizers[1] example.com/other"
	if texts(p.Warnings) != want {
		t.Errorf("%s\nwant:\n%s", texts(p.Warnings), want)
	}
}

func TestLists(t *testing.T) {
	item := func(name, image string) string {
		return "- apiVersion: apps.labhub.io/v1\n  kind: WebService\n  metadata: {name: " + name + "}\n  spec: {image: " + image + "}\n"
	}
	p := parse("apiVersion: v1\nkind: List\nitems:\n" + item("a", "x") + item("b", "1") + "- {apiVersion: v1, kind: Secret}\n")
	if names(p.Objects) != "shop/a" || p.Objects[0].Line != 4 || p.Skipped != 1 {
		t.Errorf("%+v", p)
	}
	want := `web.yaml:11:17: items[1]: spec.image is a number: quote it, as in image: "1"`
	if texts(p.Problems) != want || p.Problems[0].Field != "items[1].spec.image" {
		t.Errorf("%s\nwant:\n%s", texts(p.Problems), want)
	}
}

func TestJSON(t *testing.T) {
	object := func(name, rest string) string {
		return `{"apiVersion":"apps.labhub.io/v1","kind":"WebService","metadata":{"name":"` + name + `"},` + "\n" + rest + "}"
	}
	for _, test := range []struct{ name, text, objects, problems string }{
		{"two objects", object("a", `"spec":{"image":"on"}`) + "\n" + object("b", `"spec":{"image":"b","replicas":2}`), "shop/a shop/b", ""},
		{"duplicate key", object("a", `"spec":{"image":"a", "image":"b"}`), "", "web.json:2:22: spec.image is there twice, first on line 2: keep one"},
		{"number", object("a", `"spec":{"image":1.20}`), "", `web.json:2:17: spec.image is a number: quote it, as in image: "1.20"`},
		{"replicas", object("a", `"spec":{"image":"a","replicas":3.0}`), "", "web.json:2:32: spec.replicas is not a plain integer: write 3"},
		{"cut off", object("a", `"spec":{"image":"a"}`) + `{"kind":`, "shop/a", "web.json:2:30: not valid JSON: unexpected EOF: close quotes and brackets"},
		{"comment", "// a\n{}", "", "web.json:1:1: not valid JSON: invalid character '/' looking for beginning of value: mend the commas, quotes and brackets there, and leave comments out"},
		{"half a surrogate pair", object("a", `"spec":{"image":"\ud800"}`), "", "web.json:2:25: not valid JSON: a string holds half of a surrogate pair: write both halves, or the character itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Parse("web.json", []byte(test.text), options())
			if names(p.Objects) != test.objects || texts(p.Problems) != test.problems {
				t.Errorf("objects: %s\nproblems:\n%s\nwant:\n%s", names(p.Objects), texts(p.Problems), test.problems)
			}
		})
	}
}

func TestUTF16(t *testing.T) {
	for name, big := range map[string]bool{"little endian": false, "big endian": true} {
		t.Run(name, func(t *testing.T) {
			checkDocument(t, parse(encode16("\uFEFF"+service+"  tier: 'é😀'\n", big)), "")
		})
	}
	checkDocument(t, parse("\xff\xfea"), "the file is UTF-16 that breaks off in the middle of a character: save it as UTF-8")
}

func TestSizes(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	p := parse(service + "  tier: " + long + "\n---\n" + strings.Replace(service, "name: web", "name: other", 1))
	if names(p.Objects) != "shop/web shop/other" || *p.Objects[0].Tier != long {
		t.Errorf("a line of 200 KB: %s, %s", names(p.Objects), texts(p.Problems))
	}
	checkDocument(t, parse(service+strings.Repeat("#\n", 3<<20)),
		"the file has 6291551 bytes, more than the limit of 3145728: split it")
}

func TestAliasesAreBounded(t *testing.T) {
	text := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web\n  l0: &l0 {x: y}\n"
	for i := range 15 {
		text += fmt.Sprintf("  l%d: &l%d {<<: [%s]}\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*l%d,", i), 10))
	}
	p := parse(text + "  annotations: *l15\nspec:\n  image: a\n")
	if len(p.Objects) != 0 || !strings.Contains(texts(p.Problems), "metadata.annotations expands too many aliases: write them out") {
		t.Errorf("%s", texts(p.Problems))
	}
}

func TestDigest(t *testing.T) {
	digest := func(text string) string { return parse(text).Objects[0].Digest }
	base := digest(service)
	if moved := digest("# comment\n---\n" + service); moved != base {
		t.Error("the place of an object changes its digest")
	}
	for name, text := range map[string]string{
		"replicas": service + "  replicas: 1\n",
		"no tier":  service + "  tier: ''\n",
		"label":    strings.Replace(service, "name: web", "name: web\n  labels: {a: b}", 1),
		"suspend":  strings.Replace(service, "name: web", "name: web\n  annotations: {webservice.labhub.io/reconcile: disabled}", 1),
	} {
		if digest(text) == base {
			t.Errorf("%s doesn't change the digest", name)
		}
	}
}

// key makes "namespace/name" into a key.
func key(text string) types.NamespacedName {
	namespace, name, _ := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// encode16 makes text into UTF-16.
func encode16(text string, big bool) string {
	var out []byte
	for _, unit := range utf16Units(text) {
		if big {
			out = append(out, byte(unit>>8), byte(unit))
		} else {
			out = append(out, byte(unit), byte(unit>>8))
		}
	}
	return string(out)
}

func TestManyProblemsAreCounted(t *testing.T) {
	p := parse(service + strings.Repeat("  x: y\n", 201))
	if len(p.Problems) != 101 || p.Problems[100].Message != "101 more problems in this document aren't listed: mend these first" {
		t.Errorf("%d problems, the last: %v", len(p.Problems), p.Problems[len(p.Problems)-1])
	}
}

func TestListsAreBounded(t *testing.T) {
	text := "apiVersion: v1\nkind: List\nx: &a {apiVersion: apps.labhub.io/v1, kind: WebService, metadata: {name: x}, spec: {image: a}}\nitems: ["
	p := parse(text + strings.Repeat("*a,", MaxDocuments+1) + "]\n")
	if len(p.Objects) > MaxDocuments || len(p.Problems) != 1 {
		t.Errorf("%d objects, problems: %s", len(p.Objects), texts(p.Problems))
	}
}
