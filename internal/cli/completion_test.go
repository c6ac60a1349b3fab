package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// completed is what the shell is offered, and how it is to go on from there.
func completed(t *testing.T, args ...string) (offers []string, directive string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), Process{Args: append([]string{"__complete"}, args...), Stdout: &stdout, Stderr: &stderr})
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if last := "Completion ended with directive: "; code != 0 || strings.Count(stderr.String(), "\n") != 1 || !strings.HasPrefix(stderr.String(), last) {
		t.Errorf("exit code %d, stderr:\n%s", code, &stderr)
	}
	for _, line := range lines[:len(lines)-1] {
		offer, _, _ := strings.Cut(line, "\t")
		offers = append(offers, offer)
	}
	return offers, lines[len(lines)-1]
}

// What a directive tells the shell.
const (
	files, noFiles, byExtension, directories = ":0", ":4", ":8", ":16"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.namespaces = []string{"shop", "lab", "default"}
	c.add("lab", "web", nil)
	c.add("lab", "checkout", nil)
	c.add("default", "first", nil)
	c.add("files", "there", nil)
	kubeconfig := "--kubeconfig=" + c.kubeconfig("lab")
	for line, want := range map[string]struct{ offers, directive string }{
		"ex":                                    {"export", noFiles},
		"v":                                     {"validate verify version", noFiles},
		"once --time":                           {"--timeout", noFiles},
		"once --prune-after-":                   {"--prune-after-takeover", noFiles},
		"once --timeout _":                      {"", noFiles},
		"once _":                                {"", noFiles},
		"plan -o _":                             {"text json", noFiles},
		"validate --output _":                   {"text json", noFiles},
		"version -o _":                          {"text json", noFiles},
		"run --log-level _":                     {"debug info warn error", noFiles},
		"run --log-format _":                    {"text json", noFiles},
		"run --evidence=":                       {"true false", noFiles},
		"run --source _":                        {"", directories},
		"run --out _":                           {"", directories},
		"export --to _":                         {"", directories},
		"run --config _":                        {"yaml yml", byExtension},
		"run --kubeconfig _":                    {"", files},
		"validate _":                            {"", files},
		"completion _":                          {"bash zsh fish powershell", noFiles},
		"manifests --crd-install=":              {"true false", noFiles},
		"manifests --git-repo _":                {"", noFiles},
		"manifests --host-path _":               {"", noFiles},
		"help _":                                {"approve completion export manifests once plan run validate verify version", noFiles},
		kubeconfig + " export -n _":             {"default lab shop", noFiles},
		kubeconfig + " export -n la":            {"lab", noFiles},
		kubeconfig + " manifests -n _":          {"default lab shop", noFiles},
		kubeconfig + " run --namespaces-only _": {"default lab shop", noFiles},
		kubeconfig + " run --namespaces-only lab,s":       {"lab,shop", noFiles},
		kubeconfig + " run --context _":                   {"lab other", noFiles},
		kubeconfig + " run --context o":                   {"other", noFiles},
		kubeconfig + " verify _":                          {"first", noFiles},
		kubeconfig + " verify -n lab _":                   {"checkout web", noFiles},
		kubeconfig + " verify -n lab we":                  {"web", noFiles},
		kubeconfig + " verify -n lab web _":               {"", noFiles},
		kubeconfig + " --source-namespace files verify _": {"there", noFiles},
		"--kubeconfig=nowhere verify _":                   {"", noFiles},
		"--kubeconfig=nowhere export -n _":                {"", noFiles},
		"--kubeconfig=nowhere run --context _":            {"", noFiles},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(line)
			if last := len(args) - 1; args[last] == "_" {
				args[last] = ""
			}
			offers, directive := completed(t, args...)
			if strings.Join(offers, " ") != want.offers || directive != want.directive {
				t.Errorf("%q, %s; want %q, %s", offers, directive, want.offers, want.directive)
			}
		})
	}
}

// TestCompletionWaitsForNobody: whoever presses Tab isn't kept, and sees no error.
func TestCompletionWaitsForNobody(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(c *fakeCluster){
		"no rights":   func(c *fakeCluster) { c.fail = 403 },
		"no answer":   func(c *fakeCluster) { c.mu.Lock(); c.Cleanup(c.mu.Unlock) },
		"server away": func(c *fakeCluster) { c.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFakeCluster(t)
			c.add("default", "web", nil)
			kubeconfig := "--kubeconfig=" + c.kubeconfig("")
			break_(c)
			began := time.Now()
			if offers, directive := completed(t, kubeconfig, "verify", ""); len(offers) > 0 || directive != noFiles {
				t.Errorf("%q, %s", offers, directive)
			}
			if took := time.Since(began); took > 2*completionPatience {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestCompletionScripts: every shell that is here reads its script.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			e := command(t, "completion", shell)
			if e.code != 0 || e.stderr != "" || !strings.Contains(e.stdout, "__complete") || !strings.Contains(e.stdout, programName) {
				t.Fatalf("%+v", e)
			}
			path, err := exec.LookPath(shell)
			if err != nil || shell == "powershell" {
				return // what the script says is cobra's; only that it is a script is ours to see
			}
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(e.stdout)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "zsh"}} {
		if e := command(t, args...); e.code != 64 || !strings.Contains(e.stderr, "write one of bash, zsh, fish, powershell") {
			t.Errorf("%q: %+v", args, e)
		}
	}
}
