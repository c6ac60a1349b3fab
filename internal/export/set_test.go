package export

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/manifests"
)

// live is an object as an API server gives it, from its manifest.
func live(t testing.TB, manifest string) unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t testing.TB, text []byte) (u unstructured.Unstructured) {
	t.Helper()
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return u
}

// object is a live one with these annotations, and nothing else that is worth a file.
func object(t testing.TB, annotations map[string]string) unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": v1.APIVersion, "kind": v1.Kind,
		"metadata": map[string]any{"namespace": "shop", "name": "web", "annotations": annotations},
		"spec":     map[string]any{"image": "nginx:1.27", "replicas": 1, "tier": "dev"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// TestFiles: each live object beside the file that it becomes, whole.
func TestFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.live.yaml")
	if err != nil || len(paths) < 4 {
		t.Fatal(err, paths)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".live.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join("testdata", name+".file.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			set := New([]unstructured.Unstructured{live(t, string(given))})
			if len(set.Files) != 1 {
				t.Fatalf("got %+v", set)
			}
			if f := set.Files[0]; string(f.Text) != string(want) || len(f.Problems) > 0 {
				t.Errorf("got\n%s\nwith %v, want\n%s", f.Text, f.Problems, want)
			}
		})
	}
}

// TestDefaults: what a file leaves out, the definition fills in.
func TestDefaults(t *testing.T) {
	t.Parallel()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Spec struct {
								Properties map[string]struct{ Default any }
							}
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(manifests.CRD(), &crd); err != nil {
		t.Fatal(err)
	}
	fields := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec.Properties
	if fields["replicas"].Default != any(float64(defaultReplicas)) || fields["tier"].Default != any(defaultTier) {
		t.Errorf("the definition's defaults are %+v", fields)
	}
}

// same wants the file to say to the source what the live object says.
func same(t *testing.T, u *unstructured.Unstructured, f *File) {
	t.Helper()
	p := source.Parse(f.Path, f.Text, source.Options{DefaultNamespace: "elsewhere"})
	if len(p.Problems) > 0 || len(p.Objects) != 1 {
		t.Fatalf("%v in\n%s", p.Problems, f.Text)
	}
	o := p.Objects[0]
	want := u.GetAnnotations()
	delete(want, lastApplied)
	_, suspended := want[v1.ReconcileAnnotation]
	delete(want, v1.ReconcileAnnotation)
	if o.Key != f.Key || !maps.Equal(o.Annotations, want) || o.Suspended != suspended {
		t.Errorf("%s has %q, want %q", o.Key, o.Annotations, want)
	}
	labels := u.GetLabels()
	delete(labels, v1.SourceLabel)
	if !maps.Equal(o.Labels, labels) {
		t.Errorf("labels %q, want %q", o.Labels, labels)
	}
	spec, _, err := unstructured.NestedMap(u.Object, "spec")
	if err != nil || o.Image != spec["image"] {
		t.Errorf("image %q, want %q, %v", o.Image, spec["image"], err)
	}
	if replicas := int64(1); o.Replicas != nil && int64(*o.Replicas) != spec["replicas"] || o.Replicas == nil && spec["replicas"] != replicas {
		t.Errorf("replicas %v, want %v", o.Replicas, spec["replicas"])
	}
	if o.Tier != nil && *o.Tier != spec["tier"] || o.Tier == nil && spec["tier"] != "dev" {
		t.Errorf("tier %v, want %v", o.Tier, spec["tier"])
	}
}

// hostile are texts that YAML readers take for something else, or for nothing.
func hostile() []string {
	return []string{
		"", " ", "\t", "\n", "\n\n", " a", "a ", "a\n", "\na", "a\n\n", "  a\n b\n", "a\n\nb\n", "\ta\n\tb", "a\r\nb\r\n", "a\rb",
		"1", "01", "1.10", "1e3", "1_000", "0x1F", "0o17", "0b11", "+1", "-", "-1", ".5", ".inf", "-.Inf", ".NaN", "12:30:00", "190:20:30.15", "2024-01-01",
		"true", "True", "tRUE", "yes", "yEs", "no", "nO", "on", "Off", "oFF", "y", "Y", "n", "~", "null", "NULL", "=", "<<",
		"{}", "[]", "{a", "*a", "&a", "!a", "!", "%a", "@a", "`a`", "|", ">", "? a", "- a", "a: b", "a #b", "#a", "'", "\"", "'a'", "\"a\"", `\`, `\n`, "a\\\nb",
		"---", "--- a", "...", "a\n---\nb", "a\n...\nb", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b", "---\n<<<<<<< HEAD\n",
		"{{ .Values.a }}", "${a}", "é", "日本語", "한국어\n여러 줄\n", "🙂", "a\u0300", "\u00a0", "\u0085", "a\u2028b", "a\u2029b\n", "\ufeff", "\ufeffa", "\ufffd", "\ufffe", "\uffff",
		"\x00", "\x01", "\x1b[2J", "\x7f", "\u009b31m", "a\u202eb", "\u2066a\u2069\n", "a\vb\f", "kind: WebService\nmetadata:\n  name: other\n",
		`{"apiVersion":"apps.labhub.io/v1","kind":"WebService"}`, strings.Repeat("long ", 2000), strings.Repeat("x", 3000) + "\n" + strings.Repeat(" ", 300) + "y",
	}
}

// TestHostileTexts: any text at all comes back as it is.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for i, text := range hostile() {
		u := object(t, map[string]string{fmt.Sprintf("a.b/c%d", i): text, "z": "last"})
		set := New([]unstructured.Unstructured{u})
		if len(set.Files) != 1 {
			t.Fatalf("%q: %+v", text, set)
		}
		same(t, &u, &set.Files[0])
		if !plain(set.Files[0].Text) {
			t.Errorf("%q isn't harmless in\n%s", text, set.Files[0].Text)
		}
		all[fmt.Sprintf("k%03d", i)] = text
	}
	u := object(t, all)
	same(t, &u, &New([]unstructured.Unstructured{u}).Files[0])
}

// TestHostileFields: keys, labels, image and tier are texts as well, and names may
// look like something else.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1", "0x1F", "1_0", "1e3", "tRUE", "yEs", "no", "NULL", "y", "2024-01-01", "08", "a.b", "1.10"} {
		u := object(t, map[string]string{text: "a", "x.y/" + text: "b", text + ".z/a": text})
		u.SetLabels(map[string]string{text: text, "l": ""})
		u.SetName("n" + strings.Map(func(r rune) rune {
			if r == '_' {
				return '-'
			}
			return r
		}, strings.ToLower(text)))
		u.Object["spec"] = map[string]any{"image": text, "tier": text, "replicas": int64(0)}
		if strings.ToLower(text) == text && !strings.Contains(text, "_") {
			u.SetName(text)
			u.SetNamespace(strings.ReplaceAll(text, ".", "-"))
		}
		// A prefix of a key is a domain, in small letters.
		annotations := u.GetAnnotations()
		if strings.ToLower(text) != text || strings.Contains(text, "_") {
			delete(annotations, text+".z/a")
			u.SetAnnotations(annotations)
		}
		set := New([]unstructured.Unstructured{u})
		if len(set.Files) != 1 {
			t.Fatalf("%q: %+v", text, set)
		}
		same(t, &u, &set.Files[0])
	}
}

// TestOrder: files are sorted as people sort them, and the same objects make the
// same files.
func TestOrder(t *testing.T) {
	t.Parallel()
	var objects []unstructured.Unstructured
	for _, key := range []string{"shop/web", "shop/api.v2", "lab/web", "shop/api"} {
		u := object(t, map[string]string{"b": "1", "a": "2"})
		namespace, name, _ := strings.Cut(key, "/")
		u.SetNamespace(namespace)
		u.SetName(name)
		objects = append(objects, u)
	}
	var paths []string
	first := New(objects)
	for _, f := range first.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"lab/web.yaml", "shop/api.yaml", "shop/api.v2.yaml", "shop/web.yaml"}; !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
	slices.Reverse(objects)
	for i, f := range New(objects).Files {
		if f.Path != first.Files[i].Path || string(f.Text) != string(first.Files[i].Text) {
			t.Errorf("%s differs", f.Path)
		}
	}
}

// TestWhatIsLeftOut: being deleted isn't a state to come back to.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	going := live(t, `{apiVersion: apps.labhub.io/v1, kind: WebService, metadata: {namespace: shop, name: going,
		deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [webservice.labhub.io/cleanup]}, spec: {image: a}}`)
	long := object(t, nil)
	long.SetName(strings.Repeat("x", 251))
	set := New([]unstructured.Unstructured{going, long})
	want := []Left{
		{types.NamespacedName{Namespace: "shop", Name: "going"}, true, "it is being deleted"},
		{types.NamespacedName{Namespace: "shop", Name: long.GetName()}, false, "its name is too long for a file"},
	}
	if len(set.Files) > 0 || !slices.Equal(set.Left, want) {
		t.Errorf("got %+v", set)
	}
}

// TestWhatTheSourceWouldRefuse: the file says what the cluster says, and the export
// says what is wrong with it.
func TestWhatTheSourceWouldRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(u *unstructured.Unstructured)
		line   string // in the file
		says   string
	}{
		"an annotation of ours that we don't know": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"webservice.labhub.io/prun": "disabled"})
		}, "    webservice.labhub.io/prun: disabled\n", "did you mean webservice.labhub.io/prune?"},
		"a value that we don't know": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"webservice.labhub.io/prune": "yEs"})
		}, "    \"webservice.labhub.io/prune\": \"yEs\"\n", "write disabled, or remove it"},
		"a field of a definition made by hand": {func(u *unstructured.Unstructured) {
			u.Object["spec"] = map[string]any{"image": "a", "port": int64(80)}
		}, "  port: 80\n", "unknown field spec.port"},
		"replicas below zero": {func(u *unstructured.Unstructured) {
			u.Object["spec"] = map[string]any{"image": "a", "replicas": int64(-1)}
		}, "  replicas: -1\n", "write 0 or more"},
		"no image": {func(u *unstructured.Unstructured) { delete(u.Object, "spec") }, "spec: {}\n", "spec.image is required"},
		"a name that leaves no room for the ConfigMap's": {func(u *unstructured.Unstructured) { u.SetName(strings.Repeat("x", 246)) },
			"  name: " + strings.Repeat("x", 246) + "\n", "write 245 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := object(t, nil)
			c.change(&u)
			f := New([]unstructured.Unstructured{u}).Files[0]
			if len(f.Problems) == 0 || !strings.Contains(f.Problems[0].Message, c.says) || f.Problems[0].Path != f.Path {
				t.Errorf("problems %+v, want one that says %s", f.Problems, c.says)
			}
			if !strings.Contains(string(f.Text), c.line) {
				t.Errorf("no line %q in\n%s", c.line, f.Text)
			}
		})
	}
}

func TestSuspendedObjectsAreKnown(t *testing.T) {
	t.Parallel()
	u := object(t, map[string]string{v1.ReconcileAnnotation: v1.Disabled})
	if f := New([]unstructured.Unstructured{u}).Files[0]; !f.Suspended || len(f.Problems) > 0 {
		t.Errorf("got %+v", f)
	}
}

// FuzzText puts any text where an API server takes any: it comes back as it was.
func FuzzText(f *testing.F) {
	for _, text := range hostile() {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if !utf8.ValidString(one) || !utf8.ValidString(two) || len(one+two) > 200_000 || one == "" {
			return // JSON has no other
		}
		u := object(t, map[string]string{"a": one, "b": two})
		u.Object["spec"] = map[string]any{"image": one, "tier": two, "replicas": int64(len(one))}
		same(t, &u, &New([]unstructured.Unstructured{u}).Files[0])
	})
}
