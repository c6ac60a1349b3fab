package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/term"
)

// TestHelp: every command says what it is for, shows it by an example, and fits.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := rootCommand(&Process{})
	root.InitDefaultHelpCmd()
	root.InitDefaultVersionFlag()
	for _, cmd := range append(root.Commands(), root) {
		cmd.InitDefaultHelpFlag()
		for _, width := range []int{0, 60, 80, 200} {
			text := helpOf(cmd, term.Screen{Width: width})
			most := map[int]int{0: 80, 60: 60, 80: 80, 200: 110}[width]
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if term.Columns(line) > most && !strings.HasPrefix(line, "  ") || strings.TrimRight(line, " ") != line {
					t.Errorf("%s at %d: %q", cmd.Name(), width, line)
				}
			}
			for _, part := range []string{"\nUsage:\n  webservice-controller", "\nExamples:\n  ", "\nFlags:\n", "--help"} {
				if !strings.Contains(text, part) {
					t.Errorf("%s has no %q:\n%s", cmd.Name(), part, text)
				}
			}
			if strings.Contains(text, "\n\n\n") || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s has more blank lines than it needs:\n%s", cmd.Name(), text)
			}
		}
	}
}

// TestExamplesAreRight: each example names a command that there is, with flags that
// it has.
func TestExamplesAreRight(t *testing.T) {
	t.Parallel()
	root := rootCommand(&Process{})
	root.InitDefaultHelpCmd()
	for _, cmd := range append(root.Commands(), root) {
		for line := range strings.Lines(cmd.Example) {
			_, call, _ := strings.Cut(line, programName+" ")
			call, _, _ = strings.Cut(call, "|")
			call, _, _ = strings.Cut(call, ">")
			words := strings.Fields(strings.TrimRight(strings.TrimSpace(call), "')"))
			called, _, err := root.Find(words)
			if err != nil || called == root {
				t.Errorf("%s: %s: %v", cmd.Name(), line, err)
				continue
			}
			if err := parsed(called, words[1:]); err != nil {
				t.Errorf("%s: %s: %v", cmd.Name(), line, err)
			}
		}
	}
}

func parsed(cmd *cobra.Command, args []string) error {
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestHelpNamesWhatMatters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args      []string
		has, lack []string
	}{
		"the program": {[]string{"--help"}, []string{"export      Write", "--reconcile-backoff-initial duration\n", `(default "desired")`,
			"WEBSERVICE_CONTROLLER_SOURCE_MAX_WAIT"}, []string{"Exit codes"}},
		"no command":     {nil, []string{"\nCommands:\n"}, nil},
		"help":           {[]string{"help", "once"}, []string{"--timeout duration", "--source string", "\n  5   still waiting", "lists all settings"}, []string{"--prune-after"}},
		"export":         {[]string{"export", "--help"}, []string{"-A, --all-namespaces", "--to directory", "\n  64  called wrongly"}, []string{"--out", "lists all settings"}},
		"version":        {[]string{"version", "--help"}, []string{"--client ", "--context"}, []string{"--source", "Exit codes"}},
		"completion":     {[]string{"completion", "-h"}, []string{"source <("}, []string{"Settings"}},
		"help about all": {[]string{"help"}, []string{"\nCommands:\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := command(t, c.args...)
			if e.code != 0 || e.stderr != "" {
				t.Fatalf("%+v", e)
			}
			for _, want := range c.has {
				if !strings.Contains(e.stdout, want) {
					t.Errorf("no %q in\n%s", want, e.stdout)
				}
			}
			for _, not := range c.lack {
				if strings.Contains(e.stdout, not) {
					t.Errorf("%q in\n%s", not, e.stdout)
				}
			}
		})
	}
}

// TestSlips: who has mistyped something is told what to do.
func TestSlips(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"onec":                `unknown command "onec": did you mean once?`,
		"exprot":              `unknown command "exprot": did you mean export?`,
		"deploy":              `unknown command "deploy": webservice-controller --help lists all`,
		"help onec":           `unknown command "onec": did you mean once?`,
		"help once plan":      "help explains one command at a time, and 2 are named",
		"once --tiemout":      "unknown flag: --tiemout: did you mean --timeout?",
		"run --prune-afer 3s": "unknown flag: --prune-afer: did you mean --prune-after?",
		"once --colour":       "unknown flag: --colour: webservice-controller once --help lists the flags",
		"once -z":             "unknown shorthand flag: 'z' in -z: webservice-controller once --help lists the flags",
		"export --to":         "flag needs an argument: --to: webservice-controller export --help lists the flags",
	} {
		e := command(t, strings.Fields(line)...)
		if e.code != 64 || e.stderr != "error: "+says+"\n" || e.stdout != "" {
			t.Errorf("%s: %+v, want %s", line, e, says)
		}
	}
}

// TestHelpThatCannotBeWritten: nobody is there to read it, and that is no panic.
func TestHelpThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	if code := Run(t.Context(), Process{Args: []string{"--help"}, Stdout: closed{}, Stderr: &stderr}); code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// closed takes nothing.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }
