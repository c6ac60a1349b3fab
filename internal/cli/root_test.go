package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandLine: how the program is called is judged before anything is done.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"no command":          {nil, 0, "Usage:", ""},
		"help":                {[]string{"once", "--help"}, 0, "--timeout", ""},
		"version":             {[]string{"version"}, 0, "webservice-controller v9", ""},
		"unknown command":     {[]string{"onec"}, 64, "", `unknown command "onec"`},
		"unknown flag":        {[]string{"once", "--colour"}, 64, "", "unknown flag: --colour"},
		"argument too many":   {[]string{"once", "x"}, 64, "", `once takes no arguments, and "x" is one`},
		"no time to wait":     {[]string{"once", "--timeout=0s"}, 64, "", "--timeout 0s"},
		"unknown output form": {[]string{"validate", "-o", "xml"}, 64, "", `--output "xml"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), Process{Args: c.args, Stdout: &stdout, Stderr: &stderr, Version: "v9"})
			if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("exit code %d, stdout:\n%s\nstderr:\n%s", code, &stdout, &stderr)
			}
			if lines := strings.Count(stderr.String(), "\n"); code != 0 && lines != 1 {
				t.Errorf("%d lines of errors:\n%s", lines, &stderr)
			}
		})
	}
}
