package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alone is a lab without a cluster: a home and nothing else. Not even an address
// of a server is in reach.
func alone(t *testing.T) *lab {
	t.Helper()
	home := t.TempDir()
	return &lab{TB: t, home: home, source: home}
}

// validate runs `validate` with a text on stdin.
func (l *lab) validate(stdin string, args ...string) result {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 20*time.Second)
	defer cancel()
	return l.finish(l.command(ctx, append([]string{"validate"}, args...)...), stdin)
}

// finish runs a command to its end.
func (l *lab) finish(cmd *exec.Cmd, stdin string) result {
	l.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && !isExit(err) {
		l.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// jsonService is a WebService in JSON.
func jsonService(name, image string) string {
	return `{"apiVersion": "apps.labhub.io/v1", "kind": "WebService", "metadata": {"name": "` + name + `"}, "spec": {"image": "` + image + `"}}` + "\n"
}

// The words that validate prints, and its exit codes. No row has a kubeconfig.
func TestValidate(t *testing.T) {
	t.Parallel()
	const broken = "replicas: three\n"
	good, bad := service("checkout", "nginx:1.27"), strings.Replace(service("billing", "1.20"), "replicas: 2\n", broken, 1)
	const problems = "bad.yaml:6:10: spec.image is a number: quote it, as in image: \"1.20\"\n" +
		"bad.yaml:7:13: spec.replicas is a string: write a plain integer, such as 3\n"
	l := alone(t)
	l.write(map[string]string{
		"good/a.yaml": good, "good/list.json": jsonService("x", "a") + jsonService("y", "b"), "good/other.yaml": "apiVersion: v1\nkind: Service\n",
		"bad.yaml": bad, "export.yaml": strings.Replace(good, "metadata:\n", "metadata:\n  uid: abc\n", 1),
		"wrong/config.yaml": "colour: red\n", "desired/web.yaml": good, "empty/.keep": "",
	})
	for name, c := range map[string]struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		"the source by default": {nil, "", 0,
			"ok: 1 WebService in 1 file, 0 warnings, 0 documents of other kinds\n", ""},
		"the source by its flag": {[]string{"--source=good"}, "", 0,
			"ok: 3 WebServices in 3 files, 0 warnings, 1 document of other kinds\n", ""},
		"a file": {[]string{"good/a.yaml"}, "", 0,
			"ok: 1 WebService in 1 file, 0 warnings, 0 documents of other kinds\n", ""},
		"a directory and a file in it": {[]string{"good", "./good/a.yaml"}, "", 0,
			"ok: 3 WebServices in 3 files, 0 warnings, 1 document of other kinds\n", ""},
		"nothing in a directory": {[]string{"empty"}, "", 0,
			"ok: 0 WebServices in 0 files, 0 warnings, 0 documents of other kinds\n", ""},
		"a warning": {[]string{"export.yaml"}, "", 0,
			"export.yaml:4:3: warning: not applied, since the server or another controller sets it; better remove it: metadata.uid\n" +
				"ok: 1 WebService in 1 file, 1 warning, 0 documents of other kinds\n", ""},
		"problems": {[]string{"bad.yaml", "good"}, "", 3, problems, "error: 2 problems in the files\n"},
		"a problem and a warning": {[]string{"export.yaml", "bad.yaml"}, "", 3,
			problems + "export.yaml:4:3: warning: not applied, since the server or another controller sets it; better remove it: metadata.uid\n", "error: 2 problems in the files\n"},
		"an object twice": {[]string{"good", "desired"}, "", 3,
			"desired/web.yaml:1:1: default/checkout is written in good/a.yaml:1 as well: keep one\n" +
				"good/a.yaml:1:1: default/checkout is written in desired/web.yaml:1 as well: keep one\n", "error: 2 problems in the files\n"},
		"a path that isn't there": {[]string{"nowhere", "good"}, "", 3,
			"nowhere: can't be read: no such file or directory\n", "error: 1 problem in the files\n"},
		"stdin": {[]string{"-"}, good + "---\n" + service("billing", "a"), 0,
			"ok: 2 WebServices in 1 file, 0 warnings, 0 documents of other kinds\n", ""},
		"JSON objects on stdin": {[]string{"-"}, jsonService("x", "a") + jsonService("y", "b"), 0,
			"ok: 2 WebServices in 1 file, 0 warnings, 0 documents of other kinds\n", ""},
		"a problem on stdin": {[]string{"-"}, good + "---\n" + bad, 3,
			"<stdin>:14:10: spec.image is a number: quote it, as in image: \"1.20\"\n" +
				"<stdin>:15:13: spec.replicas is a string: write a plain integer, such as 3\n", "error: 2 problems in the files\n"},
		"another namespace by default": {[]string{"--source-namespace=shop", "--namespaces-only=pay", "good/a.yaml"}, "", 3,
			"good/a.yaml:4:3: metadata.namespace is \"shop\", and namespaces.only lets this controller work in pay alone: write one that it names\n", "error: 1 problem in the files\n"},
		"as JSON, problems": {[]string{"-o", "json", "good/a.yaml", "desired/web.yaml", "bad.yaml", "-"}, service("café", "<b>"), 3,
			"testdata/validate.json", "error: 5 problems in the files\n"},
		"as JSON, nothing": {[]string{"-o", "json", "empty"}, "", 0,
			"{\n  \"objects\": [],\n  \"problems\": [],\n  \"warnings\": []\n}\n", ""},
		"as JSON, an object and a warning": {[]string{"-o", "json", "export.yaml"}, "", 0, "testdata/validate-warning.json", ""},
		"an unknown output":                {[]string{"-o", "yaml"}, "", 64, "", "error: --output \"yaml\" isn't known: write text or json\n"},
		"an unknown flag":                  {[]string{"--colour"}, "", 64, "", "error: unknown flag: --colour: webservice-controller validate --help lists the flags\n"},
		"an empty path":                    {[]string{""}, "", 64, "", "error: a PATH is empty: name a file or a directory\n"},
		"a source that is a file": {[]string{"--source=bad.yaml"}, "", 64, "",
			"error: source.path bad.yaml is a file: name the directory that it is in\n"},
		"wrong settings": {[]string{"--config=wrong/config.yaml"}, "", 64, "", "error: colour (wrong/config.yaml:1): isn't a setting: remove it, or look its name up in config.yaml or --help\n"},
		// Nothing of these is looked at.
		"a kubeconfig that isn't there": {[]string{"--kubeconfig=nowhere", "--context=none", "good/a.yaml"}, "", 0,
			"ok: 1 WebService in 1 file, 0 warnings, 0 documents of other kinds\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := l.validate(c.stdin, c.args...)
			if strings.HasPrefix(c.stdout, "testdata/") {
				c.stdout = golden(t, c.stdout, r.stdout)
			}
			if r != (result{c.code, c.stdout, c.stderr}) {
				t.Errorf("exit code %d, stdout:\n%sstderr:\n%swant %d, stdout:\n%sstderr:\n%s", r.code, r.stdout, r.stderr, c.code, c.stdout, c.stderr)
			}
		})
	}
}

// golden is the text of a file. With UPDATE_GOLDEN=1 it becomes what was got.
func golden(t *testing.T, path, got string) string {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}

// What a file holds or is called may reach a terminal, never as something that it
// would obey: an escape, a C1 control, a change of direction, a line of its own.
func TestValidatePrintsNothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	l := alone(t)
	const nasty = "\x1b[31m\u009b31m\u202e\x7f\x9b"
	l.write(map[string]string{
		"d/" + nasty + "\nok.yaml": "a: [\n",
		"d/text.yaml":              strings.Replace(service("a", "b"), "replicas: 2", `"\e[31m\x9b31m\u202e\n`+`": x`, 1),
		"d/kind.yaml":              strings.Replace(service("a", "b"), "kind: WebService", `kind: "\e]0;x\a"`, 1),
		"d/export.yaml":            strings.Replace(service("c", "b"), "metadata:", "metadata:\n  finalizers: [\"a\\e\\nb\"]", 1),
	})
	for _, args := range [][]string{{"d"}, {"-o", "json", "d"}, {nasty}, {"-o", nasty}, {"--" + nasty}, {"--config=\x9b31m"}} {
		r := l.validate("", args...)
		for _, text := range []string{r.stdout, r.stderr} {
			if i := strings.IndexAny(text, "\x1b\u009b\u202e\x7f\a\r"); i >= 0 {
				t.Errorf("%q: %q", args, text[max(0, i-40):])
			}
			if strings.ToValidUTF8(text, "") != text {
				t.Errorf("%q: no UTF-8: %q", args, text)
			}
		}
		if args[0] == "d" && strings.Count(r.stdout, "\n") != 4 {
			t.Errorf("not a line for each: %q", r.stdout)
		}
	}
}

// What is large, or has no end, is refused at once and takes no memory.
func TestValidateIsSoonDone(t *testing.T) {
	t.Parallel()
	l := alone(t)
	l.write(map[string]string{"d/large.yaml": strings.Repeat("#\n", 3<<20), "many.yaml": strings.Repeat(service("a", "b")+"---\n", 30_000)})
	for _, name := range []string{"pipe", "d/pipe.yaml"} {
		l.must(syscall.Mkfifo(filepath.Join(l.home, name), 0o600))
	}
	const notFile = "isn't a file or a directory: pipe its content into standard input, and name - instead\n"
	for name, c := range map[string]struct{ path, stdout string }{
		"large, and a pipe": {"d", "d/large.yaml: the file has 6291456 bytes, more than the limit of 3145728: split it\nd/pipe.yaml: isn't a regular file: replace it by one\n"},
		"large":             {"d/large.yaml", "d/large.yaml: the file has 6291456 bytes, more than the limit of 3145728: split it\n"},
		"a pipe":            {"pipe", "pipe: " + notFile},
		"endless":           {"/dev/zero", "/dev/zero: " + notFile},
	} {
		t.Run(name, func(t *testing.T) {
			if r := l.validate("", c.path); r.code != 3 || r.stdout != c.stdout {
				t.Errorf("exit code %d\n%s", r.code, r.stdout)
			}
		})
	}
	r := l.validate(strings.Repeat("#\n", 3<<20), "-")
	if r.code != 3 || r.stdout != "<stdin>: the text is longer than the limit of 3145728 bytes: split it\n" {
		t.Errorf("exit code %d\n%s", r.code, r.stdout)
	}
}

// TestValidateCanBeInterrupted while it waits for someone to type.
func TestValidateCanBeInterrupted(t *testing.T) {
	t.Parallel()
	l := alone(t)
	cmd := l.command(t.Context(), "validate", "-")
	in, err := cmd.StdinPipe()
	l.must(err)
	defer in.Close()
	l.must(cmd.Start())
	// More than a pipe holds: when all is written, validate is reading.
	_, err = in.Write(bytes.Repeat([]byte("#\n"), 1<<17))
	l.must(err)
	l.must(cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); !isExit(err) || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
}

// The hook that examples/ has, in a real repository: it looks at what is staged,
// and leaves nothing behind.
func TestValidateGuardsCommits(t *testing.T) {
	t.Parallel()
	l := alone(t)
	repository, temporary := filepath.Join(l.home, "repository"), filepath.Join(l.home, "tmp")
	l.must(os.Mkdir(temporary, 0o755))
	bin, err := filepath.Abs(filepath.Dir(l.binary()))
	l.must(err)
	l.environ = append(gitIdentity(), "TMPDIR="+temporary, "WEBSERVICES=files", "PATH="+bin+":"+os.Getenv("PATH"))
	l.git("init", "-q", repository)
	hook, err := os.ReadFile(filepath.Join("..", "..", "examples", "pre-commit", "pre-commit"))
	l.must(err)
	l.must(os.WriteFile(filepath.Join(repository, ".git", "hooks", "pre-commit"), hook, 0o755))
	commit := func(text string) (result, string) {
		l.write(map[string]string{"repository/files/web.yaml": text})
		l.git("-C", repository, "add", "files")
		r := l.gitResult("-C", repository, "commit", "-q", "-m", "edit")
		return r, r.stdout + r.stderr
	}
	if r, said := commit(service("web", "1.20")); r.code == 0 || !strings.Contains(said, `files/web.yaml:6:10: spec.image is a number: quote it, as in image: "1.20"`) {
		t.Errorf("exit code %d\n%s", r.code, said)
	}
	if r, said := commit(service("web", "nginx:1.20")); r.code != 0 {
		t.Errorf("exit code %d\n%s", r.code, said)
	}
	// The hook of a user who checks the files where they are: the lock is held.
	plain := "#!/bin/sh\ntest -f .git/index.lock && exec webservice-controller validate files\n"
	l.must(os.WriteFile(filepath.Join(repository, ".git", "hooks", "pre-commit"), []byte(plain), 0o755))
	l.write(map[string]string{"repository/files/web.yaml": service("web", "nginx:1.21")})
	if r := l.gitResult("-C", repository, "commit", "-q", "-a", "-m", "edit"); r.code != 0 || !strings.Contains(r.stdout+r.stderr, "ok: 1 WebService in 1 file") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// gitIdentity is what git needs to know of whoever commits.
func gitIdentity() []string {
	return []string{
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_NOSYSTEM=1",
	}
}

// git runs a git command, which must succeed, and returns what it printed.
func (l *lab) git(args ...string) string {
	l.Helper()
	r := l.gitResult(args...)
	if r.code != 0 {
		l.Fatalf("git %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return strings.TrimSpace(r.stdout)
}

func (l *lab) gitResult(args ...string) result {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), "git", args...)
	cmd.Dir = l.home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.home}, l.environ...)
	cmd.SysProcAttr = dieWithParent()
	return l.finish(cmd, "")
}
