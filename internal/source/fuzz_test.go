package source

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzParse holds every accepted document against the YAML reader that kubectl
// uses, on any input: what that reader sees must be what was accepted.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		p := Parse("web.yaml", data, options())
		if limit := workPerByte*len(data) + workAtLeast; len(p.Objects)+len(p.Problems)+len(p.Warnings)+p.Skipped > limit {
			t.Fatalf("more than %d results", limit)
		}
		if len(p.Problems) == 0 && (len(p.Broken) > 0 || p.Anonymous) {
			t.Fatalf("broken without a problem: %+v", p)
		}
		text, fault := readText(data)
		placed(t, append(p.Problems, p.Warnings...), text)
		if fault != nil {
			return
		}
		keepsNeighbour(t, text)
		chunks := split(text)
		for _, o := range p.Objects {
			compare(t, o, chunks[o.Document-1].text)
		}
	})
}

// placed wants every problem to be in the file, and to have a column with its line.
func placed(t *testing.T, problems []Problem, text []byte) {
	t.Helper()
	last := lineAt(text)
	for _, p := range problems {
		if p.Message == "" || p.Line < 0 || p.Line > last || (p.Line > 0) != (p.Column > 0) {
			t.Fatalf("in a file of %d lines: %+v", last, p)
		}
	}
}

// keepsNeighbour wants a good document that follows to be found, whatever text is.
func keepsNeighbour(t *testing.T, text []byte) {
	t.Helper()
	both := append(bytes.Clone(text), "\n...\n---\n"+named("neighbour")...)
	if _, fault := readText(both); fault != nil {
		return // the file as a whole is refused
	}
	for _, o := range Parse("web.yaml", both, options()).Objects {
		if o.Key == key("shop/neighbour") {
			return
		}
	}
	t.Fatalf("a good document is lost behind %q", text)
}

// FuzzScalar puts any text in the places of scalars.
func FuzzScalar(f *testing.F) {
	for _, text := range []string{
		"a", "1.10", "0x1F", "0o17", "010", "1_0", "+.inf", "-.5e3", "~", "Null", "yes", "12:30:00", "2024-01-01", "'a'", "\"\\u0041\"",
		"!!str 1", "! 1", "&a b", "|\n    a", ">-\n    a\n\n    b", "a # b", "a: b", "[1]", "=", "<<", "-", "?", "0b11", "-0b1", "1e3", ".5", "0x1p4", "08", "1__0",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, scalar string) {
		for _, place := range []string{
			"metadata:\n  name: web\nspec:\n  image: a\n  tier: %s\n",
			"metadata:\n  name: web\nspec:\n  image: a\n  replicas: %s\n",
			"metadata:\n  name: web\n  annotations:\n    a: %s\nspec:\n  image: a\n",
			"metadata:\n  name: web\n  labels:\n    %s : a\nspec:\n  image: a\n",
			"metadata:\n  name: web\n  annotations: {a: %s}\nspec:\n  image: a\n",
		} {
			text := []byte("apiVersion: apps.labhub.io/v1\nkind: WebService\n" + fmt.Sprintf(place, scalar))
			p := Parse("web.yaml", text, options())
			if clean, fault := readText(text); fault == nil {
				for _, o := range p.Objects {
					compare(t, o, split(clean)[o.Document-1].text)
				}
			}
		}
	})
}

// seed adds the cases, whole and in pieces.
func seed(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		f.Fatal(err, paths)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	head := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: web, labels: {a: b}, annotations: "
	for _, value := range []string{
		"{a: 'x'}", "{a: 0o17x}", "{a: 1:30}", "{a: 2001-12-14t21:59:43.10-05:00}", "{a: \"\\x41\\u00e9\"}", "{a: =}", "{a: !!str on}",
		"{a: |-\n  x\n }", "{\"a\": 'it''s'}", "{? a : b}", "{a: &x b, c: *x}", "{a: 0x}", "{a: 1_}", "{a: .}", "{a: +}", "{a: 1e}", "{a: 08}",
	} {
		f.Add([]byte(head + value + "}\nspec: {image: a, replicas: 3, tier: dev}\n"))
	}
	f.Add([]byte("%YAML 1.2\n--- !!map\n" + service + "...\n---\n" + named("other")))
}

// compare reads a document with the other reader.
func compare(t *testing.T, o Object, text []byte) {
	t.Helper()
	if bytes.Contains(text, []byte("<<")) || bytes.Contains(text, []byte("items")) || bytes.Contains(text, []byte("%")) {
		return // merge keys of its own making, several objects, and directives
	}
	var got struct {
		Metadata struct {
			Name, Namespace     any
			Labels, Annotations map[string]any
		}
		Spec map[string]any
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatalf("accepted, but: %v\n%s", err, text)
	}
	same(t, "name", o.Key.Name, got.Metadata.Name)
	if got.Metadata.Namespace != nil && got.Metadata.Namespace != "" {
		same(t, "namespace", o.Key.Namespace, got.Metadata.Namespace)
	}
	if len(o.Labels) != len(got.Metadata.Labels) && !bytes.Contains(text, []byte("webservice.labhub.io/")) {
		t.Fatalf("labels: %v, the other reader has %v", o.Labels, got.Metadata.Labels)
	}
	for key := range maps.Keys(o.Labels) {
		same(t, "label "+key, o.Labels[key], got.Metadata.Labels[key])
	}
	for key := range maps.Keys(o.Annotations) {
		same(t, "annotation "+key, o.Annotations[key], got.Metadata.Annotations[key])
	}
	same(t, "image", o.Image, got.Spec["image"])
	if o.Tier != nil {
		same(t, "tier", *o.Tier, got.Spec["tier"])
	} else if got.Spec["tier"] != nil {
		t.Fatalf("tier: none, the other reader has %#v", got.Spec["tier"])
	}
	if o.Replicas != nil {
		same(t, "replicas", fmt.Sprint(*o.Replicas), fmt.Sprintf("%.0f", got.Spec["replicas"]))
	} else if got.Spec["replicas"] != nil {
		t.Fatalf("replicas: none, the other reader has %#v", got.Spec["replicas"])
	}
}

func same(t *testing.T, what, accepted string, other any) {
	t.Helper()
	if other != any(accepted) {
		t.Fatalf("%s: %q, the other reader has %#v", what, accepted, other)
	}
}
