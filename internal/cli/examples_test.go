package cli

import (
	"testing"

	"labhub.io/webservice-controller/internal/source"
)

// TestShippedFilesAreUsable: what we show to people has neither problem nor warning.
func TestShippedFilesAreUsable(t *testing.T) {
	t.Parallel()
	for dir, objects := range map[string]int{"../../desired": 3, "../../examples/files": 5, "../../examples/lab": 2} {
		s, err := source.Check(t.Context(), []string{dir}, nil, source.Options{DefaultNamespace: "default"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(s.Problems, s.Warnings...) {
			t.Error(p.Error())
		}
		if len(s.Objects) != objects {
			t.Errorf("%s has %d objects, want %d", dir, len(s.Objects), objects)
		}
	}
}
