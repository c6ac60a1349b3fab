package kube

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"labhub.io/webservice-controller/internal/plan"
)

func TestNoteOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":                     "plain",
		"two\nlines\tand\u00a0more": "two lines and more",
		"\x1b[31mred\x07":           "�[31mred�",
		"turned \u202eround":        "turned �round",
		"no \xff text":              "no � text",
		strings.Repeat("x", 1024):   strings.Repeat("x", 1024),
		strings.Repeat("x", 1025):   strings.Repeat("x", 1021) + "…",
		strings.Repeat("é", 513):    strings.Repeat("é", 510) + "…", // 1021 bytes would break one
	} {
		got := noteOf(text)
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if !utf8.ValidString(got) || len(got) > longestNote {
			t.Errorf("%q: %d bytes, valid %t", text, len(got), utf8.ValidString(got))
		}
	}
}

// TestEventNames: what tells the same has one name, whatever else tells it apart
// another; all are names that the API takes.
func TestEventNames(t *testing.T) {
	t.Parallel()
	base := plan.Event{Key: plan.Key{Namespace: "lab", Name: "checkout"}, UID: "u", Reason: "Failed", Note: "quota is 3", Same: "quota"}
	change := func(f func(*plan.Event)) *plan.Event {
		e := base
		f(&e)
		return &e
	}
	if idOf(&base) != idOf(change(func(e *plan.Event) { e.Note = "quota is 4" })) {
		t.Error("what is the same isn't known as that")
	}
	seen := map[eventID]string{idOf(&base): "the first"}
	for name, e := range map[string]*plan.Event{
		"another object":        change(func(e *plan.Event) { e.Key.Name = "billing" }),
		"another namespace":     change(func(e *plan.Event) { e.Key.Namespace = "other" }),
		"a later object":        change(func(e *plan.Event) { e.UID = "v" }),
		"another reason":        change(func(e *plan.Event) { e.Reason = "Updated" }),
		"another fact":          change(func(e *plan.Event) { e.Same = "webhook" }),
		"one by its note alone": change(func(e *plan.Event) { e.Same = "" }),
	} {
		if other, taken := seen[idOf(e)]; taken {
			t.Errorf("%s can't be told from %s", name, other)
		}
		seen[idOf(e)] = name
	}
	for _, object := range []string{"a", strings.Repeat("a", 253), strings.Repeat("a", 235) + ".b." + strings.Repeat("c", 15)} {
		if errs := validation.IsDNS1123Subdomain(idOf(&base).name(object)); len(errs) > 0 {
			t.Errorf("%s: %v", object, errs)
		}
	}
}
