package plan

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestAbsencesDigest(t *testing.T) {
	t.Parallel()
	x, y := Absence{Key: Key{Namespace: "a", Name: "x"}, UID: "1"}, Absence{Key: Key{Namespace: "a", Name: "y"}, UID: "2"}
	// printf 'main\0a/x\0001\0a/y\0002\0' | sha256sum
	const want = "f0df94e56dc06afc5a2b9cae1cfeee1da4772175d97cd1d6b7fd99e58973700e"
	if got := AbsencesDigest("main", []Absence{x, y}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	later := x
	later.Since, later.Scans = startNow, 7
	for name, same := range map[string][]Absence{
		"in another order":  {y, x},
		"absent for longer": {later, y},
	} {
		before := append([]Absence(nil), same...)
		if got := AbsencesDigest("main", same); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if !reflect.DeepEqual(same, before) {
			t.Errorf("%s: the list was changed", name)
		}
	}
}

// TestAbsencesDigestTells apart whatever isn't the same set of the same source.
func TestAbsencesDigestTells(t *testing.T) {
	t.Parallel()
	one := func(namespace, name, uid string) Absence {
		return Absence{Key: Key{Namespace: namespace, Name: name}, UID: types.UID(uid)}
	}
	digests := map[string]string{}
	for name, c := range map[string]struct {
		source string
		set    []Absence
	}{
		"none":                     {"main", nil},
		"one":                      {"main", []Absence{one("a", "x", "1")}},
		"another source":           {"other", []Absence{one("a", "x", "1")}},
		"another namespace":        {"main", []Absence{one("b", "x", "1")}},
		"another name":             {"main", []Absence{one("a", "y", "1")}},
		"made anew":                {"main", []Absence{one("a", "x", "2")}},
		"one more":                 {"main", []Absence{one("a", "x", "1"), one("a", "y", "2")}},
		"uids the other way round": {"main", []Absence{one("a", "x", "2"), one("a", "y", "1")}},
	} {
		digest := AbsencesDigest(c.source, c.set)
		if len(digest) != 64 || digests[digest] != "" {
			t.Errorf("%s has the digest %s, as %q has", name, digest, digests[digest])
		}
		digests[digest] = name
	}
}
