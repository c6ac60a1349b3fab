package install

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"labhub.io/webservice-controller/manifests"
)

func render(t *testing.T, o *Options) string {
	t.Helper()
	text, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func defaults() *Options { return &Options{Namespace: Name, SourceName: "default"} }

// confined is about as far from the defaults as it goes.
func confined() *Options {
	return &Options{
		Namespace: "team-a", Image: "images.example/controller:v1.2", SourceName: "team-a",
		Files: Files{HostPath: "/srv/webservices", Path: "desired"}, Only: []string{"shop", "lab"}, LeaseNamespace: "leases",
		Off:       []string{"crd.install", "namespaces.create", "prune.enabled"},
		Variables: []Variable{{"WEBSERVICE_CONTROLLER_NAMESPACES_ONLY", "shop,lab"}, {"WEBSERVICE_CONTROLLER_CRD_INSTALL", "false"}},
	}
}

// TestTheDefaultsAreTheShippedFiles: byte for byte, but for the one name that those
// can't know.
func TestTheDefaultsAreTheShippedFiles(t *testing.T) {
	want := strings.Join([]string{
		string(manifests.CRD()), string(manifests.RBAC()), string(manifests.Network()), string(manifests.Deployment()),
	}, "---\n")
	lease := "    resources: [leases]\n"
	want = strings.Replace(want, lease, lease+"    resourceNames: [webservice-source-default]\n", 1)
	if got := render(t, defaults()); got != want {
		t.Errorf("got\n%s", got)
	}
	o := defaults()
	o.Files.Claim = "webservices"
	got := render(t, o)
	_, got, _ = strings.Cut(got, "\n# The controller on the files")
	_, want, _ = strings.Cut("\n"+string(manifests.Folder()), "\n# The controller on the files")
	// What the comment asks for is done.
	want = strings.Join(slices.DeleteFunc(strings.SplitAfter(want, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "        # Put your own claim in") || strings.HasPrefix(line, "        # hostPath: {") ||
			strings.HasPrefix(line, "        # that node then")
	}), "")
	if got != want {
		t.Errorf("with a claim\n%s", got)
	}
}

var update = flag.Bool("update", false, "write the golden file anew")

// TestGolden shows what becomes of the shipped files; the same each time.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "confined.yaml")
	_, got, _ := strings.Cut(render(t, confined()), "\n---\n") // the definition is as it is shipped
	for range 20 {
		if _, again, _ := strings.Cut(render(t, confined()), "\n---\n"); again != got {
			t.Fatal("it differs from time to time")
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs: look at what changed, and take it over with -update\n%s", path, got)
	}
}

// documents are those of a stream, with their kinds and names.
func documents(t *testing.T, stream string) (names []string, texts []string) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimPrefix(stream, "---\n"), "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		names, texts = append(names, strings.TrimSuffix(o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name, "/")), append(texts, text)
	}
	return names, texts
}

func TestObjects(t *testing.T) {
	elsewhere := defaults()
	elsewhere.Namespace = "team"
	leased := defaults()
	leased.LeaseNamespace = "leases"
	const n = Name
	for name, c := range map[string]struct {
		options *Options
		want    []string
	}{
		"defaults": {defaults(), []string{
			"CustomResourceDefinition /webservices.apps.labhub.io", "Namespace /" + n, "ServiceAccount " + n + "/" + n,
			"ClusterRole /" + n, "ClusterRoleBinding /" + n, "ClusterRole /" + n + "-cluster", "ClusterRoleBinding /" + n + "-cluster",
			"Role " + n + "/" + n + "-lease", "RoleBinding " + n + "/" + n + "-lease",
			"Service " + n + "/" + n, "NetworkPolicy " + n + "/" + n, "Deployment " + n + "/" + n,
		}},
		"another namespace": {elsewhere, []string{
			"CustomResourceDefinition /webservices.apps.labhub.io", "Namespace /team", "ServiceAccount team/" + n,
			"ClusterRole /" + n + "-team", "ClusterRoleBinding /" + n + "-team", "ClusterRole /" + n + "-team-cluster", "ClusterRoleBinding /" + n + "-team-cluster",
			"Role team/" + n + "-team-lease", "RoleBinding team/" + n + "-team-lease",
			"Service team/" + n, "NetworkPolicy team/" + n, "Deployment team/" + n,
		}},
		"confined": {confined(), []string{
			"CustomResourceDefinition /webservices.apps.labhub.io", "Namespace /team-a", "ServiceAccount team-a/" + n,
			"Role shop/" + n + "-team-a", "Role lab/" + n + "-team-a", "RoleBinding shop/" + n + "-team-a", "RoleBinding lab/" + n + "-team-a",
			"ClusterRole /" + n + "-team-a-cluster", "ClusterRoleBinding /" + n + "-team-a-cluster",
			"Role leases/" + n + "-team-a-lease", "RoleBinding leases/" + n + "-team-a-lease",
			"Service team-a/" + n, "NetworkPolicy team-a/" + n, "Deployment team-a/" + n,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := documents(t, render(t, c.options)); !slices.Equal(got, c.want) {
				t.Errorf("objects\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestRights: a rule is there where what its comment names is on, and not otherwise.
func TestRights(t *testing.T) {
	always := []string{
		"create configmaps", "create events", "create leases", "create webservices", "delete configmaps", "get configmaps",
		"get leases webservice-source-default", "get webservices", "list configmaps",
		"list customresourcedefinitions webservices.apps.labhub.io", "list webservices",
		"patch configmaps", "patch events", "patch webservices", "patch webservices/status", "update leases webservice-source-default",
		"watch configmaps", "watch customresourcedefinitions webservices.apps.labhub.io", "watch webservices",
	}
	everywhere := []string{"list namespaces", "watch namespaces"}
	named := []string{"list namespaces a,b", "watch namespaces a,b"}
	prune, create := []string{"delete webservices"}, []string{"create namespaces"}
	crd := []string{"create customresourcedefinitions webservices.apps.labhub.io", "patch customresourcedefinitions webservices.apps.labhub.io"}
	for name, c := range map[string]struct {
		only, off []string
		want      [][]string
	}{
		"defaults":             {nil, nil, [][]string{everywhere, prune, create, crd}},
		"no crd.install":       {nil, []string{"crd.install"}, [][]string{everywhere, prune, create}},
		"no namespaces.create": {nil, []string{"namespaces.create"}, [][]string{everywhere, prune, crd}},
		"no prune":             {nil, []string{"prune.enabled"}, [][]string{everywhere, create, crd}},
		"nothing":              {nil, []string{"crd.install", "namespaces.create", "prune.enabled"}, [][]string{everywhere}},
		"confined":             {[]string{"a", "b"}, []string{"namespaces.create"}, [][]string{named, prune, crd}},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaults()
			o.Only, o.Off = c.only, c.off
			want := slices.Concat(append(c.want, always)...)
			slices.Sort(want)
			if got := rightsIn(t, render(t, o)); !slices.Equal(got, want) {
				t.Errorf("rights\n got %q\nwant %q", got, want)
			}
		})
	}
}

// rightsIn are all the rights that a stream grants, each as "verb resource names".
func rightsIn(t *testing.T, stream string) []string {
	t.Helper()
	var all []string
	names, texts := documents(t, stream)
	for i, text := range texts {
		if !strings.HasPrefix(names[i], "Role ") && !strings.HasPrefix(names[i], "ClusterRole ") {
			continue
		}
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				all = append(all, strings.TrimSpace(fmt.Sprint(verb, " ", rule.Resources[0], " ", strings.Join(rule.ResourceNames, ","))))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // confined, each namespace has the same
}

// TestEveryRuleIsExplained: comments are for those who read what they apply.
func TestEveryRuleIsExplained(t *testing.T) {
	for name, o := range map[string]*Options{"defaults": defaults(), "confined": confined()} {
		lines := strings.Split(render(t, o), "\n")
		rules := 0
		for i, line := range lines {
			if strings.HasPrefix(line, "  - apiGroups:") {
				rules++
				if !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
					t.Errorf("%s, line %d: %s", name, i+1, line)
				}
			}
		}
		if rules == 0 {
			t.Errorf("%s: no rules", name)
		}
	}
}

func TestImages(t *testing.T) {
	for name, c := range map[string]struct {
		image, tag, want string
	}{
		"the shipped one":  {"", "", "/webservice-controller:latest\n"},
		"of this version":  {"", "v1.2", "/webservice-controller:v1.2\n"},
		"another":          {"images:5000/x:v2", "v1.2", "          image: images:5000/x:v2\n"},
		"another's digest": {"x@sha256:0123", "v1.2", "          image: x@sha256:0123\n"},
	} {
		o := defaults()
		o.Image, o.Tag = c.image, c.tag
		if got := render(t, o); !strings.Contains(got, c.want) || strings.Contains(got, "# Put your own image in") == (c.image != "") {
			t.Errorf("%s: want %q in\n%s", name, c.want, got)
		}
	}
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files     Files
		has, lack []string
	}{
		"git":             {Files{}, []string{"value: /files/current\n", "- --repo=https://git.example.org/lab.git\n", "- --ref=HEAD\n", "- port: 22\n"}, []string{"claimName"}},
		"a repository":    {Files{Repository: "git@host:a", Ref: "main", Path: "x/y"}, []string{"value: /files/current/x/y\n", "- --repo=git@host:a\n", "- --ref=main\n"}, nil},
		"all of it":       {Files{Path: "."}, []string{"value: /files/current\n"}, nil},
		"a claim":         {Files{Claim: "mine", Path: "x"}, []string{"value: /files/x\n", "claimName: mine\n"}, []string{"--repo", "name: tmp", "port: 22", "# git-sync: "}},
		"a node's folder": {Files{HostPath: "/srv"}, []string{"value: /files\n", "hostPath:\n            path: /srv\n            type: Directory\n"}, []string{"--repo", "persistentVolumeClaim", "port: 22"}},
	} {
		o := defaults()
		o.Files = c.files
		got := render(t, o)
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		for _, not := range c.lack {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", name, not, got)
			}
		}
	}
}

// TestTextsStayTexts: what YAML would take for something else is quoted.
func TestTextsStayTexts(t *testing.T) {
	o := defaults()
	o.Variables = []Variable{{"A", "true"}, {"B", "1.20"}, {"C", "a: b # c"}, {"D", ""}, {"E", "${x}\\"}, {"F", "y"}, {"G", "off"}, {"H", "1:20"}, {"I", "NO"}, {"J", "0x1"}, {"K", "1e3"}, {"L", "~"}}
	o.Namespace, o.Only, o.SourceName, o.Image = "on", []string{"y", "n", "1"}, "off", "1.20"
	got := render(t, o)
	names, texts := documents(t, got)
	for _, want := range []string{"Namespace /on", "Role y/webservice-controller-on", "Role 1/webservice-controller-on", "Deployment on/webservice-controller"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %q", want, names)
		}
	}
	if rights := rightsIn(t, got); !slices.Contains(rights, "list namespaces y,n,1") {
		t.Errorf("rights %q", rights)
	}
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Env []struct{ Name, Value string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(texts[len(texts)-1]), &d); err != nil {
		t.Fatal(err)
	}
	env := d.Spec.Template.Spec.Containers[0].Env
	for i, want := range o.Variables {
		if got := env[len(env)-len(o.Variables)+i]; got.Name != want.Name || expand(got.Value) != want.Value {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestRenderLeavesTheShippedAlone: a rendering has no effect on the next one.
func TestRenderLeavesTheShippedAlone(t *testing.T) {
	before := render(t, defaults())
	render(t, confined())
	if after := render(t, defaults()); !bytes.Equal([]byte(before), []byte(after)) {
		t.Error("what is shipped has changed")
	}
}
