package e2e

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dockerfile is the one of the repository, with its continued lines joined.
func dockerfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\\\n", " ")
}

// instructions are the arguments of a Dockerfile's instructions of that name.
func instructions(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for _, found := range regexp.MustCompile(`(?m)^`+name+` +(.+)$`).FindAllStringSubmatch(dockerfile(t), -1) {
		all = append(all, found[1])
	}
	return all
}

// buildAsTheImageDoes copies what the Dockerfile copies into a directory, and runs
// there what it runs to build.
func buildAsTheImageDoes(t *testing.T, dir string) []byte {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, paths := range instructions(t, "COPY") {
		if strings.HasPrefix(paths, "--") {
			continue // from the other stage
		}
		words := strings.Fields(paths)
		from, to := words[:len(words)-1], filepath.Join(dir, words[len(words)-1])
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, each := range from {
			run(t, "../..", nil, "cp", "-r", each, to)
		}
	}
	built := 0
	for _, command := range instructions(t, "RUN") {
		if strings.HasPrefix(command, "make ") {
			run(t, dir, []string{"VERSION=v1.2.3", "COMMIT=c0ffee"}, "sh", "-ec", command)
			built++
		}
	}
	if built != 1 {
		t.Fatalf("it builds %d times", built)
	}
	binary, err := os.ReadFile(filepath.Join(dir, "bin", account))
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// run runs a command that must go well.
func run(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// The image's binary is the same wherever it is built, says what it was told to be
// built from, and needs nothing beside it: there is no git, no shell and no library.
func TestTheImagesBinaryIsReproducibleAndStatic(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "deeper", "down")
	binary := buildAsTheImageDoes(t, first)
	if again := buildAsTheImageDoes(t, second); !bytes.Equal(binary, again) {
		t.Errorf("%d and %d bytes that differ", len(binary), len(again))
	}
	if bytes.Contains(binary, []byte(first)) {
		t.Error("where it was built is in it")
	}
	if said := run(t, first, nil, filepath.Join(first, "bin", account), "version", "--client"); !strings.Contains(said, " v1.2.3\ncommit:     c0ffee\n") {
		t.Errorf("it says %s", said)
	}
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it isn't static: %s", p.Type)
		}
	}
}

// The image's Go is the one of go.mod, and the user is the one of the Deployment.
func TestTheImageFitsTheRest(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if from := instructions(t, "FROM"); len(from) != 2 || from[0] != "golang:"+string(release[1])+" AS build" || from[1] != "scratch" {
		t.Errorf("built from %q", from)
	}
	if user := instructions(t, "USER"); len(user) != 1 || user[0] != "65532:65532" {
		t.Errorf("user %q", user)
	}
}
