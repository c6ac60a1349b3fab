package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manifestsIn runs manifests in a directory of its own, with that config.yaml and
// those variables.
func manifestsIn(t *testing.T, config string, environ []string, args ...string) ended {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	code := Run(t.Context(), Process{
		Args:    append([]string{"manifests", "--config", path}, args...),
		Environ: environ, Stdout: &stdout, Stderr: &stderr, Version: "v1.2-3-gabc/dirty",
	})
	return ended{code, stdout.String(), stderr.String()}
}

// variable is one as the Deployment has it.
func variable(name, value string) string {
	return "            - name: WEBSERVICE_CONTROLLER_" + name + "\n              value: " + value + "\n"
}

func TestManifests(t *testing.T) {
	t.Parallel()
	const placeholder = "/webservice-controller:v1.2-3-gabc-dirty\n"
	for name, c := range map[string]struct {
		config    string
		environ   []string
		args      string
		has, lack []string
		warns     string
	}{
		"defaults": {"", nil, "",
			[]string{"kind: CustomResourceDefinition\n", placeholder, variable("SOURCE_PATH", "/files/current"), "verbs: [create, patch]\n"},
			[]string{"_NAMESPACES_CREATE", "_LEASE_NAMESPACE", "_SOURCE_NAME"},
			"warning: what is printed has examples in it: name the image by --image and the repository by --git-repo\n"},
		"an image and a repository": {"", nil, "--image example/controller --git-repo https://git.example.org/x --git-ref v1",
			[]string{"image: example/controller:v1.2-3-gabc-dirty\n", "--repo=https://git.example.org/x\n", "--ref=v1\n"}, nil, ""},
		"a branch of no repository": {"", nil, "--image x --git-ref v1", []string{"--ref=v1\n"}, nil,
			"warning: what is printed has examples in it: name the repository by --git-repo\n"},
		"a repository with a password": {"", nil, "--image x --git-repo https://me:secret@git.example.org/x.git",
			[]string{"--repo=https://me:secret@git.example.org/x.git\n"}, nil,
			"warning: --git-repo has credentials in it, and now the Deployment has them for all who may read it: " +
				"leave them out, and give git-sync a Secret with them, as its manual says\n"},
		"an image with a tag, and a claim": {"", nil, "--image example:5000/controller:v9 --claim mine",
			[]string{"image: example:5000/controller:v9\n", "claimName: mine\n", variable("SOURCE_PATH", "/files")}, []string{"--repo="}, ""},
		"a host with a port": {"", nil, "--image example:5000/controller --host-path /srv",
			[]string{"image: example:5000/controller:v1.2-3-gabc-dirty\n", "path: /srv\n"}, nil, ""},
		"what isn't ASCII": {"", nil, "--image x --host-path /srv/저장소 --source=dépôt",
			[]string{"path: /srv/저장소\n", variable("SOURCE_PATH", "/files/dépôt")}, nil, ""},
		"what the kubelet would expand": {"", nil, "--image x --git-repo https://git.example.org/$$x --git-ref $(POD_NAMESPACE) --source=$(OUT)",
			[]string{"--repo=https://git.example.org/$$$$x\n", "--ref=$$(POD_NAMESPACE)\n", variable("SOURCE_PATH", "/files/current/$$(OUT)")}, nil, ""},
		"a digest": {"", nil, "--image example/controller@sha256:01 --claim mine",
			[]string{"image: example/controller@sha256:01\n"}, nil, ""},
		"settings of all places": {"log: {format: json}\nsource: {path: ./desired/}\n", []string{"WEBSERVICE_CONTROLLER_PRUNE_AFTER=1m"}, "--source-name=team --image x --claim y",
			[]string{
				variable("LOG_FORMAT", "json"), variable("PRUNE_AFTER", "1m"), variable("SOURCE_NAME", "team"), variable("SOURCE_PATH", "/files/desired"),
				"resourceNames: [webservice-source-team]\n",
			}, nil, ""},
		"what is the pod's own": {"out: /home/me/out\nhttp: {addr: 127.0.0.1:9999}\n", []string{"POD_NAMESPACE=mine"}, "--image x --claim y",
			[]string{variable("OUT", "/out"), variable("HTTP_ADDR", `":8080"`)}, []string{"9999", "/home/me", "_LEASE_NAMESPACE", "mine"}, ""},
		"a lease elsewhere": {"", []string{"POD_NAMESPACE=mine"}, "--lease-namespace=default --image x --claim y",
			[]string{variable("LEASE_NAMESPACE", "default"), "  name: webservice-controller-lease\n  namespace: default\n"}, nil, ""},
		"less rights": {"", nil, "--crd-install=false --namespaces-create=false --prune-enabled=false --image x --claim y",
			[]string{variable("CRD_INSTALL", `"false"`), variable("PRUNE_ENABLED", `"false"`), variable("NAMESPACES_CREATE", `"false"`), "kind: CustomResourceDefinition\n"},
			[]string{"# crd.install: ", "# namespaces.create: ", "# prune.enabled: "}, ""},
		"confined": {"", nil, "--namespaces-only=shop,lab -n team --image x --claim y",
			[]string{
				variable("NAMESPACES_CREATE", `"false"`), variable("NAMESPACES_ONLY", "shop,lab"), "  name: team\n",
				"kind: Role\nmetadata:\n  name: webservice-controller-team\n  namespace: shop\n", "resourceNames: [shop, lab]\n",
			}, []string{"kind: ClusterRole\nmetadata:\n  name: webservice-controller-team\n", "# namespaces.create: "}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := manifestsIn(t, c.config, c.environ, strings.Fields(c.args)...)
			if e.code != 0 || e.stderr != c.warns {
				t.Fatalf("exit code %d, stderr:\n%s", e.code, e.stderr)
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

// TestManifestsThatCantBe: nothing is printed of what could not be applied, or is
// not what was asked for.
func TestManifestsThatCantBe(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"here":                       `manifests takes no arguments, and "here" is one`,
		"--image=":                   `--image "" can't be used`,
		"--image=images.example/x:":  `--image "images.example/x:" can't be an image: write a tag after the ':', or leave the ':' out`,
		"--git-repo=":                `--git-repo "" can't be used`,
		"--git-repo=a --claim=b":     "the files can't come from git and from a claim: name one place",
		"--git-ref=a --host-path=/b": "the files can't come from git and from the node: name one place",
		"--claim=a --host-path=/b":   "the files can't come from a claim and from the node",
		"--claim=Mine":               `--claim "Mine" can't be the name of a claim`,
		"--host-path=srv":            `--host-path "srv" isn't absolute`,
		"--namespace=Team":           `--namespace "Team" can't be a namespace`,
		"--namespace=":               `--namespace "" can't be a namespace`,
		"--out=/x":                   "out is the pod's own here: leave the flag --out out",
		"--http-addr=:9090":          "http.addr is the pod's own here: leave the flag --http-addr out",
		"--source=/etc":              "source.path /etc doesn't lie in the repository or volume",
		"--source=../x":              "source.path ../x doesn't lie in the repository or volume",
		"--source-name=A":            "source.name",
		"--namespaces-create --namespaces-only=a": "namespaces.create is true by flag --namespaces-create",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			e := manifestsIn(t, "", nil, strings.Fields(args)...)
			if e.code != 64 || e.stdout != "" || !strings.Contains(e.stderr, says) || strings.Count(e.stderr, "\n") != 1 {
				t.Errorf("%+v, want %s", e, says)
			}
		})
	}
	var stderr strings.Builder
	if code := Run(t.Context(), Process{Args: []string{"manifests"}, Stdout: closed{}, Stderr: &stderr}); code != 1 {
		t.Errorf("nobody to print to: exit code %d: %s", code, &stderr)
	}
}

// TestBlanksInAFlag: arguments that a shell has kept together.
func TestBlanksInAFlag(t *testing.T) {
	t.Parallel()
	for _, image := range []string{"a b", "a\tb", "a\n", "a\r", " "} {
		e := manifestsIn(t, "", nil, "--image="+image)
		if e.code != 64 || e.stdout != "" || !strings.Contains(e.stderr, "write it without blanks") {
			t.Errorf("%q: %+v", image, e)
		}
	}
}

// TestNotPrintable: what can't be seen is refused, and shown in the message so that it can.
func TestNotPrintable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, shown string }{
		"carriage return":   {"/a\rb", `"/a\rb"`},
		"vertical tab":      {"/a\vb", `"/a\vb"`},
		"form feed":         {"/a\fb", `"/a\fb"`},
		"escape":            {"/a\x1b[31mb", `"/a\x1b[31mb"`},
		"delete":            {"/a\x7fb", `"/a\x7fb"`},
		"next line":         {"/a\u0085b", `"/a\u0085b"`},
		"line separator":    {"/a\u2028b", `"/a\u2028b"`},
		"right to left":     {"/a\u202eb", `"/a\u202eb"`},
		"not seen":          {"/a\u200bb", `"/a\u200bb"`},
		"byte order mark":   {"/a\ufeffb", `"/a\ufeffb"`},
		"not UTF-8":         {"/a\xffb", `"/a\xffb"`},
		"half a surrogate":  {"/a\xed\xa0\x80b", `"/a\xed\xa0\x80b"`},
		"cut off in a rune": {"/a\xe2\x80", `"/a\xe2\x80"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, flag := range []string{"--image=", "--git-repo=", "--git-ref=", "--claim=", "--host-path="} {
				refusedText(t, manifestsIn(t, "", nil, flag+c.text), strings.TrimSuffix(flag, "=")+" "+c.shown+" can't be used: write it ")
			}
			path, shown := strings.TrimPrefix(c.text, "/"), strings.Replace(c.shown, "/", "", 1)
			says := "source.path " + shown + " can't be used: write it in UTF-8"
			refusedText(t, manifestsIn(t, "", nil, "--source="+path), says)
			refusedText(t, manifestsIn(t, "", []string{"WEBSERVICE_CONTROLLER_SOURCE_PATH=" + path}), says)
		})
	}
}

func refusedText(t *testing.T, e ended, says string) {
	t.Helper()
	if e.code != 64 || e.stdout != "" || !strings.Contains(e.stderr, says) || strings.Count(e.stderr, "\n") != 1 {
		t.Errorf("%+v, want %s", e, says)
	}
}

func TestImageFlaws(t *testing.T) {
	t.Parallel()
	const tag, port, name, digest = "write a tag after", "write a port after", "a name is missing", "write a digest after"
	for image, want := range map[string]string{
		"": "", "x": "", "x:v1": "", "images.example/team/x": "", "images.example:5000/x": "", "images.example:5000/x:v1": "",
		"x@sha256:01": "", "images.example:5000/x:v1@sha256:01": "",
		"images.example/x:": tag, "x:": tag, "images.example:5000/x:": tag, "x:@sha256:01": tag,
		"images.example:/x": port,
		":v1":               name, "images.example/:v1": name, "images.example/": name, "/x": name, "images.example//x": name, "@sha256:01": name, ":5000/x": name,
		"x@": digest, "x:v1@": digest, "x@sha256": digest, "x@sha256:": digest, "x@:01": digest,
	} {
		if got := imageFlaw(image); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", image, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]bool{
		"https://me:secret@git.example.org/x.git": true,
		"HTTP://me:secret@git.example.org:80/x":   true,
		"https://token@git.example.org/x.git":     true,
		"https://me:se@cret#%zz?@git.example.org": true,
		"ssh://git:secret@git.example.org/x":      true,
		"https://git.example.org/x.git":           false,
		"https://git.example.org:8443/x@v1":       false,
		"ssh://git@git.example.org:22/x":          false,
		"git@git.example.org:team/x.git":          false,
		"file:///srv/x@y":                         false,
		"":                                        false,
	} {
		if got := credentials(repository); got != want {
			t.Errorf("%q: %v, want %v", repository, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "abc1234-dirty": "abc1234-dirty", "": "latest", "release/1.0+x": "release-1.0-x", "-.x": "x", "..": "latest",
		strings.Repeat("a", 200): strings.Repeat("a", 128),
	} {
		if got := tag(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
