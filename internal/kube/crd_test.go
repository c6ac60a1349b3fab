package kube

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"labhub.io/webservice-controller/manifests"
)

// handWritten is a CRD as a lab has it: less than we write, and no list map.
const handWritten = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webservices.apps.labhub.io}
spec:
  group: apps.labhub.io
  scope: Namespaced
  names: {plural: webservices, singular: webservice, kind: WebService, shortNames: [ws]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                image: {type: string}
                replicas: {type: integer}
                tier: {type: string}
            status:
              type: object
              properties:
                replicas: {type: integer}
                observedGeneration: {type: integer}
                conditions:
                  type: array
                  items:
                    type: object
                    properties:
                      type: {type: string}
                      status: {type: string}
`

// handWrittenLacks are the fields that we write and that it doesn't declare.
func handWrittenLacks() []string {
	return []string{
		"status.conditions[].reason", "status.conditions[].message",
		"status.conditions[].lastTransitionTime", "status.conditions[].observedGeneration",
	}
}

func crdFrom(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.ToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	return &u
}

// TestUndeclared: the fields that a CRD would drop are named, and no others.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	const versions = "spec:\n  versions:\n  - name: v1\n    subresources: {status: {}}\n    schema:\n      openAPIV3Schema: "
	head := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n"
	for _, c := range []struct {
		name     string
		manifest string
		want     []string
	}{
		{"the shipped one", string(manifests.CRD()), nil},
		{"one made by hand", handWritten, handWrittenLacks()},
		{"one that keeps everything", head + versions + "{type: object, x-kubernetes-preserve-unknown-fields: true}", nil},
		{
			"one that keeps every status",
			head + versions + "{type: object, properties: {spec: {properties: {image: {}, replicas: {}}}, status: {x-kubernetes-preserve-unknown-fields: true}}}",
			[]string{"spec.tier"},
		},
		{
			"one whose conditions keep everything", strings.Replace(handWritten, "                    type: object\n",
				"                    type: object\n                    x-kubernetes-preserve-unknown-fields: true\n", 1), nil,
		},
		{"one without the subresource", strings.Replace(handWritten, "subresources: {status: {}}", "subresources: {}", 1),
			append(handWrittenLacks(), "the status subresource")},
		{"one of another version", strings.Replace(handWritten, "name: v1\n", "name: v2\n", 1), []string{
			"spec.image", "spec.replicas", "spec.tier", "status.replicas", "status.observedGeneration",
			"status.conditions[].type", "status.conditions[].status", "status.conditions[].reason", "status.conditions[].message",
			"status.conditions[].lastTransitionTime", "status.conditions[].observedGeneration", "the status subresource",
		}},
	} {
		got, err := toCRD(crdFrom(t, c.manifest))
		if err != nil || !slices.Equal(got.missing, c.want) {
			t.Errorf("%s: %v, missing %q, want %q", c.name, err, got.missing, c.want)
		}
	}
}

// TestToCRD reads whose a CRD is and how far it is.
func TestToCRD(t *testing.T) {
	t.Parallel()
	u := crdFrom(t, string(manifests.CRD()))
	if got, _ := toCRD(u); got.established || !got.served || got.ours || got.terminating || got.version < 1 {
		t.Errorf("just made: %+v", got)
	}
	for _, c := range []struct {
		name   string
		change string
		want   func(crdState) bool
	}{
		{"established", `status: {conditions: [{type: Established, status: "True"}]}`, func(s crdState) bool { return s.established }},
		{"not established", `status: {conditions: [{type: Established, status: "False"}]}`, func(s crdState) bool { return !s.established }},
		{"applied by us", `metadata: {managedFields: [{manager: webservice-controller, operation: Apply}]}`, func(s crdState) bool { return s.ours }},
		{"updated by us", `metadata: {managedFields: [{manager: webservice-controller, operation: Update}]}`, func(s crdState) bool { return !s.ours }},
		{"applied by others", `metadata: {managedFields: [{manager: kubectl, operation: Apply}]}`, func(s crdState) bool { return !s.ours }},
		{"going", `metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}`, func(s crdState) bool { return s.terminating }},
		{"of version 7", `metadata: {annotations: {webservice.labhub.io/crd-version: "7"}}`, func(s crdState) bool { return s.version == 7 }},
		{"of an odd version", `metadata: {annotations: {webservice.labhub.io/crd-version: new}}`, func(s crdState) bool { return s.version == 0 }},
		{"not served", `spec: {versions: [{name: v1, served: false}]}`, func(s crdState) bool { return !s.served }},
		{"empty", `spec: {versions: text}`, func(s crdState) bool { return !s.served && len(s.missing) > 0 }},
	} {
		got, err := toCRD(crdFrom(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+c.change))
		if err != nil || !c.want(got) {
			t.Errorf("%s: %v, %+v", c.name, err, got)
		}
	}
	if _, err := toCRD("text"); err == nil {
		t.Error("what isn't a CRD is taken for one")
	}
}

// TestStateOfADeletedCRD: while it is served, what it defines can be cleaned up;
// and nothing else is begun.
func TestStateOfADeletedCRD(t *testing.T) {
	t.Parallel()
	const established = `status: {conditions: [{type: Established, status: "True"}]}` + "\n"
	const v1Served, notServed = "spec: {versions: [{name: v1, served: true}]}\n", "spec: {versions: [{name: v1, served: false}]}\n"
	const uid, going = `metadata: {name: webservices.apps.labhub.io, uid: u1, resourceVersion: "1"}`, `metadata: {name: webservices.apps.labhub.io, uid: u1, resourceVersion: "1", deletionTimestamp: "2026-01-02T03:04:05Z"}`
	const isGoing = "the CRD webservices.apps.labhub.io is being deleted"
	for _, c := range []struct{ name, text, state, reason string }{
		{"served", established + v1Served + uid, "", ""},
		{"served, going", established + v1Served + going, "", isGoing},
		{"not served, going", established + notServed + going, isGoing, isGoing},
		{"not established, going", v1Served + going, isGoing, isGoing},
		{
			"not established", v1Served + uid,
			"the CRD webservices.apps.labhub.io isn't established yet", "the CRD webservices.apps.labhub.io isn't established yet",
		},
	} {
		cluster, err := New(&rest.Config{Host: "https://127.0.0.1:1"}, Options{CRD: manifests.CRD()})
		if err != nil {
			t.Fatal(err)
		}
		list := []any{crdFrom(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"+c.text)}
		for _, err := range []error{
			cluster.crds.newFeed(anyKey).Replace(list, "1"), cluster.webservices.newFeed(anyKey).Replace(nil, "1"),
			cluster.children.newFeed(anyKey).Replace(nil, "1"), cluster.namespaces.newFeed(anyKey).Replace(nil, "1"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		var state string
		if err := cluster.State(); err != nil {
			state = err.Error()
		}
		if crd := cluster.crd(); state != c.state || crd.Reason != c.reason || crd.Ready != (c.reason == "") {
			t.Errorf("%s: state %q, CRD %+v", c.name, state, crd)
		}
	}
}

func TestNewDefinition(t *testing.T) {
	t.Parallel()
	if d, err := newDefinition(manifests.CRD()); err != nil || d.version < 1 || len(d.body) == 0 {
		t.Errorf("the shipped one: %v, version %d", err, d.version)
	}
	for _, text := range []string{"a: [", "[]", ""} {
		if _, err := newDefinition([]byte(text)); err == nil {
			t.Errorf("%q is taken for a CRD", text)
		}
	}
}
