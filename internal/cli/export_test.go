package cli

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ended is how a command ended.
type ended struct {
	code           int
	stdout, stderr string
}

func command(t *testing.T, args ...string) ended {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), Process{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Version: "v9", Commit: "c0ffee"})
	return ended{code, stdout.String(), stderr.String()}
}

// tree is every file below dir with its text.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fileOf is the whole file of a WebService without anything special.
func fileOf(namespace, name string) string {
	return "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: " + name + "\n  namespace: " + namespace +
		"\nspec:\n  image: nginx:1.27\n"
}

// TestExport: a file for each WebService of the namespace that the kubeconfig works
// in, of another one, or of all.
func TestExport(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("shop", "web", nil)
	c.add("lab", "search", nil)
	c.add("lab", "api.v2", nil)
	lab := map[string]string{"lab/search.yaml": fileOf("lab", "search"), "lab/api.v2.yaml": fileOf("lab", "api.v2")}
	all := maps.Clone(lab)
	all["shop/web.yaml"] = fileOf("shop", "web")
	for name, test := range map[string]struct {
		args []string
		want map[string]string
	}{
		"of the context":                {nil, lab},
		"of a context without":          {[]string{"--context=other"}, map[string]string{}},
		"of another namespace":          {[]string{"-n", "shop"}, map[string]string{"shop/web.yaml": fileOf("shop", "web")}},
		"of all":                        {[]string{"-A"}, all},
		"of all in which we may work":   {[]string{"-A", "--namespaces-only=lab,none"}, lab},
		"of an empty one":               {[]string{"-n", "none"}, map[string]string{}},
		"of one that isn't in settings": {[]string{"-n", "shop", "--namespaces-only=lab"}, map[string]string{"shop/web.yaml": fileOf("shop", "web")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new")
			e := command(t, append([]string{"export", "--to", dir, "--kubeconfig", c.kubeconfig("lab")}, test.args...)...)
			if e.code != 0 {
				t.Fatalf("%+v", e)
			}
			if len(test.want) == 0 {
				if _, err := os.Stat(dir); err == nil || !strings.HasPrefix(e.stderr, "note: no WebServices in ") {
					t.Errorf("%+v, the directory: %v", e, err)
				}
				return
			}
			if got := tree(t, dir); !maps.Equal(got, test.want) || e.stderr != "" {
				t.Errorf("got %q, want %q\n%s", got, test.want, e.stderr)
			}
		})
	}
}

func TestExportSaysWhatItWrote(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	for _, name := range []string{"same", "other", "new"} {
		c.add("lab", name, nil)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"lab/same.yaml": fileOf("lab", "same"), "lab/other.yaml": "# mine\n", "README.md": "read me\n"})
	e := command(t, "export", "--to", dir, "--force", "--kubeconfig", c.kubeconfig("lab"))
	want := "created  " + dir + "/lab/new.yaml\nreplaced " + dir + "/lab/other.yaml\nexported: 3 WebServices; 1 created, 1 replaced, 1 unchanged\n"
	if e.code != 0 || e.stdout != want || e.stderr != "" {
		t.Errorf("%+v, want\n%s", e, want)
	}
	again := command(t, "export", "--to", dir, "--kubeconfig", c.kubeconfig("lab"))
	if again.code != 0 || again.stdout != "exported: 3 WebServices; 0 created, 0 replaced, 3 unchanged\n" {
		t.Errorf("again: %+v", again)
	}
	if text := tree(t, dir)["README.md"]; text != "read me\n" {
		t.Errorf("another file says %q", text)
	}
}

// TestExportSpoilsNothing: where anything is in the way, nothing at all is written.
func TestExportSpoilsNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files   map[string]string
		args    []string
		says    []string
		prepare func(dir string) error
	}{
		"a file that says something else": {files: map[string]string{"lab/b.yaml": "# mine\n"},
			says: []string{"DIR/lab/b.yaml is there already", "--force"}},
		"many such": {files: map[string]string{"lab/a.yaml": "#\n", "lab/b.yaml": "#\n", "lab/c.yaml": "#\n", "lab/d.yaml": "#\n"},
			says: []string{"DIR/lab/a.yaml, DIR/lab/b.yaml, DIR/lab/c.yaml and 1 more are there already"}},
		"another file with the same object": {files: map[string]string{"all.yaml": "# ours\n" + fileOf("lab", "b")}, args: []string{"--force"},
			says: []string{"DIR/all.yaml:2 says what a WebService of this export is as well", "take it out there"}},
		"another file in which it is broken": {files: map[string]string{"all.yaml": strings.Replace(fileOf("lab", "b"), "image", "imag", 1)}, args: []string{"--force"},
			says: []string{"DIR/all.yaml:7"}},
		"another file in the default namespace": {files: map[string]string{"all.yaml": strings.Replace(fileOf("lab", "b"), "  namespace: lab\n", "", 1)},
			args: []string{"--force", "--source-namespace=lab"}, says: []string{"DIR/all.yaml:1"}},
		"a directory in the place of a file": {files: map[string]string{"lab/b.yaml/x": ""}, args: []string{"--force"},
			says: []string{"DIR/lab/b.yaml isn't a plain file"}},
		"a file in the place of a directory": {files: map[string]string{"lab": ""}, args: []string{"--force"},
			says: []string{"DIR/lab isn't a directory"}},
		"a link in the place of a file": {prepare: func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "lab"), 0o755); err != nil {
				return err
			}
			return os.Symlink("nowhere", filepath.Join(dir, "lab", "b.yaml"))
		}, args: []string{"--force"}, says: []string{"DIR/lab/b.yaml isn't a plain file"}},
		"a link in the place of a directory": {prepare: func(dir string) error { return os.Symlink(os.TempDir(), filepath.Join(dir, "lab")) },
			args: []string{"--force"}, says: []string{"DIR/lab isn't a directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFakeCluster(t)
			for _, name := range []string{"a", "b", "c", "d"} {
				c.add("lab", name, nil)
			}
			dir := t.TempDir()
			put(t, dir, test.files)
			before := test.files
			if test.prepare != nil {
				if err := test.prepare(dir); err != nil {
					t.Fatal(err)
				}
			} else if got := tree(t, dir); !maps.Equal(got, before) {
				t.Fatal(got)
			}
			e := command(t, append([]string{"export", "--to", dir, "--kubeconfig", c.kubeconfig("lab")}, test.args...)...)
			if e.code != 1 || e.stdout != "" || strings.Count(e.stderr, "\n") != 1 {
				t.Errorf("%+v", e)
			}
			for _, says := range test.says {
				if says = strings.ReplaceAll(says, "DIR", dir); !strings.Contains(e.stderr, says) {
					t.Errorf("it doesn't say %q:\n%s", says, e.stderr)
				}
			}
			if test.prepare == nil {
				if got := tree(t, dir); !maps.Equal(got, before) {
					t.Errorf("the directory has %q", got)
				}
			}
		})
	}
}

// TestExportTells: what is left out, what a file doesn't bring about, and what stays.
func TestExportTells(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("lab", "going", func(meta, _ map[string]any) { meta["deletionTimestamp"] = "2026-01-01T00:00:00Z" })
	c.add("lab", "resting", func(meta, _ map[string]any) {
		meta["annotations"] = map[string]any{"webservice.labhub.io/reconcile": "disabled"}
	})
	dir := t.TempDir()
	put(t, dir, map[string]string{"old.yaml": "#\n" + fileOf("lab", "old"), "elsewhere.yaml": fileOf("shop", "old"), "lab/going.yaml": fileOf("lab", "going")})
	e := command(t, "export", "--to", dir, "--kubeconfig", c.kubeconfig("lab"))
	want := "note: lab/going is left out: it is being deleted\n" +
		"note: lab/resting is suspended, and so is its file: where the object isn't there, it isn't made before the annotation is taken out\n" +
		"note: " + dir + "/old.yaml:2 stays, though lab/old isn't in the cluster\n"
	if e.code != 0 || e.stderr != want || !strings.Contains(e.stdout, "exported: 1 WebService; 1 created") {
		t.Errorf("%+v, want\n%s", e, want)
	}
}

// TestExportOfWhatTheSourceRefuses: it is written as it is, and the exit code tells.
func TestExportOfWhatTheSourceRefuses(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("lab", "good", nil)
	c.add("lab", "odd", func(_, spec map[string]any) { spec["port"] = 80 })
	c.add("lab", strings.Repeat("x", 252), nil)
	dir := t.TempDir()
	e := command(t, "export", "--to", dir, "--kubeconfig", c.kubeconfig("lab"))
	for _, says := range []string{
		"warning: lab/" + strings.Repeat("x", 252) + " is left out: its name is too long for a file\n",
		"warning: " + dir + "/lab/odd.yaml:8:3: unknown field spec.port: ",
		"error: the rest is exported, but the source would refuse 2 WebServices as the cluster has them",
	} {
		if !strings.Contains(e.stderr, says) {
			t.Errorf("it doesn't say %q:\n%s", says, e.stderr)
		}
	}
	if files := tree(t, dir); e.code != 3 || len(files) != 2 || !strings.Contains(files["lab/odd.yaml"], "port: 80") {
		t.Errorf("%+v, %q", e, files)
	}
	if v := command(t, "validate", dir); v.code != 3 {
		t.Errorf("validate: %+v", v)
	}
	e = command(t, "export", "--to", "-", "--kubeconfig", c.kubeconfig("lab"))
	if e.code != 3 || !strings.Contains(e.stderr, "warning: lab/odd: unknown field spec.port") {
		t.Errorf("to stdout: %+v", e)
	}
}

func TestExportToStandardOutput(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("shop", "web", func(meta, _ map[string]any) { meta["annotations"] = map[string]any{"a": "\x1b[2J\u202e\n---\n"} })
	c.add("lab", "web", nil)
	e := command(t, "export", "--to", "-", "-A", "--kubeconfig", c.kubeconfig(""))
	want := fileOf("lab", "web") + "---\napiVersion: \"apps.labhub.io/v1\"\nkind: \"WebService\"\nmetadata:\n  annotations:\n    \"a\": \"\\u001b[2J\\u202e\\n---\\n\"\n" +
		"  name: \"web\"\n  namespace: \"shop\"\nspec:\n  image: \"nginx:1.27\"\n"
	if e.code != 0 || e.stdout != want || e.stderr != "" {
		t.Errorf("%+v, want\n%s", e, want)
	}
}

// TestExportAsksForNoMore: one list, and nothing that needs a right beside it.
func TestExportAsksForNoMore(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("lab", "web", nil)
	command(t, "export", "--to", t.TempDir(), "--kubeconfig", c.kubeconfig("lab"))
	if got := c.requests(); len(got) != 1 || got[0] != "GET /apis/apps.labhub.io/v1/namespaces/lab/webservices" {
		t.Errorf("asked %q", got)
	}
}

func TestExportThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.add("lab", "web", nil)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	kubeconfig := "--kubeconfig=" + c.kubeconfig("lab")
	dir := filepath.Join(t.TempDir(), "new")
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no directory":            {[]string{kubeconfig}, 64, "--to is missing"},
		"an empty one":            {[]string{kubeconfig, "--to="}, 64, "--to is missing"},
		"a file":                  {[]string{kubeconfig, "--to", file}, 64, file + " isn't a directory"},
		"below a file":            {[]string{kubeconfig, "--to", file + "/x"}, 64, "isn't a directory"},
		"-n and -A":               {[]string{kubeconfig, "--to", dir, "-A", "-n", "lab"}, 64, "-n and -A contradict each other"},
		"an empty namespace":      {[]string{kubeconfig, "--to", dir, "-n", ""}, 64, "-n is empty"},
		"an argument":             {[]string{kubeconfig, "--to", dir, "web"}, 64, "web"},
		"a kubeconfig that isn't": {[]string{"--kubeconfig=nowhere", "--to", dir}, 64, "the kubeconfig can't be used"},
		"a wrong context":         {[]string{kubeconfig, "--context=nope", "--to", dir}, 64, `context "nope" does not exist`},
		"a bad setting":           {[]string{kubeconfig, "--to", dir, "--log-level=loud"}, 64, "log.level"},
		"a place without rights":  {[]string{kubeconfig, "--to", "/proc/export"}, 1, "can't make /proc/export: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := command(t, append([]string{"export"}, test.args...)...)
			if e.code != test.code || !strings.Contains(e.stderr, test.says) || strings.Count(e.stderr, "\n") != 1 || e.stdout != "" {
				t.Errorf("%+v, want exit code %d and %q", e, test.code, test.says)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the directory was made")
			}
		})
	}
}

func TestExportIsToldNo(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{
		403: "not allowed: the fake says no; grant the rights",
		401: "check the credentials",
		404: "the CRD webservices.apps.labhub.io, isn't installed",
	} {
		c := newFakeCluster(t)
		c.fail = status
		e := command(t, "export", "--to", "-", "--kubeconfig", c.kubeconfig("lab"))
		if e.code != 1 || !strings.Contains(e.stderr, says) || strings.Count(e.stderr, "\n") != 1 {
			t.Errorf("%d: %+v, want %q", status, e, says)
		}
	}
}
