package manifests_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"labhub.io/webservice-controller/manifests"
)

// crd has the fields of a CustomResourceDefinition that users rely on.
type crd struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Scope string
		Names struct {
			Kind, Plural string
			ShortNames   []string
		}
		Versions []struct {
			Name                     string
			AdditionalPrinterColumns []struct{ Name string }
			Subresources             map[string]map[string]string
			Schema                   struct{ OpenAPIV3Schema schema }
		}
	}
}

type schema struct {
	Description string
	Type        string
	Default     any
	Required    []string
	Properties  map[string]schema
	Items       *schema
	ListType    string   `json:"x-kubernetes-list-type"`
	ListMapKeys []string `json:"x-kubernetes-list-map-keys"`
}

func TestCRD(t *testing.T) {
	var got crd
	if err := yaml.Unmarshal(manifests.CRD(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Metadata.Name != "webservices.apps.labhub.io" || got.Spec.Scope != "Namespaced" ||
		got.Spec.Names.Kind != "WebService" || !slices.Equal(got.Spec.Names.ShortNames, []string{"ws"}) {
		t.Errorf("names: %+v", got)
	}
	if got.Metadata.Annotations["webservice.labhub.io/crd-version"] == "" {
		t.Error("no version by which an older definition is recognised")
	}
	if len(got.Spec.Versions) != 1 {
		t.Fatalf("%d versions, want one", len(got.Spec.Versions))
	}
	version := got.Spec.Versions[0]
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		columns = append(columns, strings.ToUpper(column.Name))
	}
	if want := []string{"IMAGE", "REPLICAS", "TIER", "READY", "AGE"}; version.Name != "v1" || !slices.Equal(columns, want) {
		t.Errorf("version %s has columns %q, want %q", version.Name, columns, want)
	}
	scale := version.Subresources["scale"]
	if _, ok := version.Subresources["status"]; !ok || scale["specReplicasPath"] != ".spec.replicas" || scale["statusReplicasPath"] != ".status.replicas" {
		t.Errorf("subresources: %v", version.Subresources)
	}
}

func TestCRDSchema(t *testing.T) {
	var got crd
	if err := yaml.Unmarshal(manifests.CRD(), &got); err != nil {
		t.Fatal(err)
	}
	root := got.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec, status := root.Properties["spec"], root.Properties["status"]
	if !slices.Equal(spec.Required, []string{"image"}) || spec.Properties["replicas"].Default != 1.0 || spec.Properties["tier"].Default != "dev" {
		t.Errorf("spec: %+v", spec)
	}
	if c := status.Properties["conditions"]; c.ListType != "map" || !slices.Equal(c.ListMapKeys, []string{"type"}) {
		t.Errorf("conditions are a %s list by %q", c.ListType, c.ListMapKeys)
	}
	describe(t, "", root)
}

// describe wants a description on every field; the API server has its own for
// metadata.
func describe(t *testing.T, path string, s schema) {
	t.Helper()
	if s.Description == "" && path != ".metadata" {
		t.Errorf("%s has no description", path)
	}
	for name, property := range s.Properties {
		describe(t, path+"."+name, property)
	}
	if s.Items != nil && s.Items.Properties != nil {
		describe(t, path+"[]", *s.Items)
	}
}

// rights reads the rules of every role, as "verb resource".
func rights(t *testing.T) []string {
	t.Helper()
	var list []string
	for document := range strings.SplitSeq(string(manifests.RBAC()), "\n---\n") {
		var role rbacv1.Role // a ClusterRole has the same rules
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					list = append(list, verb+" "+resource)
				}
			}
		}
	}
	return list
}

// Every right is on this list, so that none is added in passing.
func TestRBAC(t *testing.T) {
	want := []string{
		"create configmaps", "create customresourcedefinitions", "create events", "create leases", "create namespaces", "create webservices",
		"delete configmaps", "delete webservices",
		"get configmaps", "get leases", "get webservices",
		"list configmaps", "list customresourcedefinitions", "list namespaces", "list webservices",
		"patch configmaps", "patch customresourcedefinitions", "patch events", "patch webservices", "patch webservices/status",
		"update leases",
		"watch configmaps", "watch customresourcedefinitions", "watch namespaces", "watch webservices",
	}
	got := rights(t)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("rights\n got %q\nwant %q", got, want)
	}
}

// A comment above each rule says what needs it.
func TestEveryRuleIsExplained(t *testing.T) {
	lines := strings.Split(string(manifests.RBAC()), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "  - apiGroups:") {
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "#") {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
}

func TestCallersGetCopies(t *testing.T) {
	manifests.CRD()[0], manifests.RBAC()[0] = 'X', 'X'
	if manifests.CRD()[0] == 'X' || manifests.RBAC()[0] == 'X' {
		t.Error("a caller changed what the next one gets")
	}
}
