package near_test

import (
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/near"
)

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"source.path", "source.name", "out", "prune.after"}
	for mistyped, want := range map[string]string{
		"source.paths":           "source.path", // one too many
		"source.pth":             "source.path", // one too few
		"suorce.name":            "source.name", // two swapped
		"PRUNE.AFTER":            "prune.after", // case alone
		"prune.aftre":            "prune.after",
		"oot":                    "out",
		"xyz":                    "", // all of a short name
		"prune.before":           "",
		"":                       "",
		strings.Repeat("a", 101): "",
	} {
		if got := near.Name(mistyped, known); got != want {
			t.Errorf("%q: %q, want %q", mistyped, got, want)
		}
	}
}
