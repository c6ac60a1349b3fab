package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"labhub.io/webservice-controller/internal/term"
)

// TestErrorsAreTold: each on a line of its own; on a terminal broken between words,
// and what is to be typed isn't broken at all.
func TestErrorsAreTold(t *testing.T) {
	t.Parallel()
	const command = "webservice-controller approve 4be4 --out /var/lib/out"
	held := failed(fmt.Errorf("interrupted: %w", advised(errors.New("not converged: 2 held deletions: crd-lab/a: 2 of 3 would go ("+command+")"), command)))
	two := usage(errors.Join(errors.New("one"), errors.New("two\x1b[2J")))
	for name, c := range map[string]struct {
		err   error
		width int
		want  string
	}{
		"in a file":     {held, 0, "error: interrupted: not converged: 2 held deletions: crd-lab/a: 2 of 3 would go (" + command + ")\n"},
		"on a terminal": {held, 40, "error: interrupted: not converged: 2\n       held deletions: crd-lab/a: 2 of 3\n       would go:\n       " + command + "\n"},
		"several":       {two, 80, "error: one\nerror: two\\x1b[2J\n"},
		"none to tell":  {&exitError{exitChanges, pending{}}, 80, ""},
	} {
		var out bytes.Buffer
		tell(&out, term.Screen{Terminal: c.width > 0, Width: c.width}, c.err)
		if got := out.String(); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}
