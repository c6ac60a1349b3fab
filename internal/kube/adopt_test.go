package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// kubectlApply applies on the client's side, as people do.
func kubectlApply(t *testing.T, key plan.Key, version, meta, spec string) {
	t.Helper()
	manifest := fmt.Sprintf("apiVersion: apps.labhub.io/%s\nkind: WebService\nmetadata: {name: %s, namespace: %s%s}\nspec: {%s}\n",
		version, key.Name, key.Namespace, meta, spec)
	if _, problem, code := shared.KubectlExit(t, manifest, "apply", "-f", "-"); code != 0 {
		t.Fatal(problem)
	}
}

// managed is the object on the server itself.
func managed(t *testing.T, key plan.Key) *unstructured.Unstructured {
	t.Helper()
	u, err := admin(t).Resource(v1.GroupVersionResource()).Namespace(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// managersOf writes down who owns what, without the times.
func managersOf(t *testing.T, u *unstructured.Unstructured) []string {
	t.Helper()
	var out []string
	for _, e := range u.GetManagedFields() {
		fields, err := json.Marshal(e.FieldsV1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s/%s %s %s", e.Manager, e.Operation, e.Subresource, e.APIVersion, fields))
	}
	slices.Sort(out)
	return out
}

// others are the managers that aren't ours and not kubectl's client-side apply.
func others(managers []string) []string {
	return slices.DeleteFunc(slices.Clone(managers), func(m string) bool {
		return strings.HasPrefix(m, clientSideManager+" ") || strings.HasPrefix(m, v1.Manager+" ")
	})
}

// seenAs waits until the mirror has the object as the server has it now.
func seenAs(t *testing.T, c *Cluster, key plan.Key) plan.Live {
	t.Helper()
	want := managed(t, key).GetResourceVersion()
	var live plan.Live
	labtest.Eventually(t, soon, func() error {
		if live, _ = c.webservices.get(key); live.ResourceVersion != want {
			return errors.New("the mirror lags behind")
		}
		return nil
	})
	return live
}

// adoptAndApply is what follows when a file names an object of kubectl's: its
// fields are made ours, and what the file doesn't state goes with the next apply.
func adoptAndApply(t *testing.T, c *Cluster, key plan.Key, file *plan.Desired) {
	t.Helper()
	live := seenAs(t, c, key)
	if !live.Fields.ClientSide {
		t.Fatalf("no fields of kubectl's: %+v", live.Fields)
	}
	answer, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepAdoptFields, UID: live.UID, ResourceVersion: live.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	now, _ := c.webservices.get(key)
	if answer.Live.Fields.ClientSide || now.Fields.ClientSide || !now.Fields.Image || now.Generation != live.Generation {
		t.Errorf("after the adoption: %+v, generation %d of %d", now.Fields, now.Generation, live.Generation)
	}
	_, err = c.Do(t.Context(), key, &plan.Step{Kind: plan.StepApply, Desired: file, UID: now.UID, ResourceVersion: now.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	settles(t, c, key, live.UID)
}

// TestAdoptFields: what kubectl's client-side apply stated and the file doesn't is
// gone after our next apply, and nobody else's fields have moved.
func TestAdoptFields(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	for _, tt := range []struct {
		name  string
		first func(t *testing.T, key plan.Key)
	}{
		{"never applied by us", func(t *testing.T, key plan.Key) {
			kubectlApply(t, key, "v1", `, labels: {team: a}`, `image: "nginx:1.26", tier: gold, replicas: 2`)
		}},
		{"applied by us before", func(t *testing.T, key plan.Key) {
			if _, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepApply, Desired: &plan.Desired{Image: "nginx:1.27"}}); err != nil {
				t.Fatal(err)
			}
			kubectlApply(t, key, "v1", `, labels: {team: a}`, `image: "nginx:1.27", tier: gold, replicas: 2`)
		}},
		{"with others' hands on it", func(t *testing.T, key plan.Key) {
			kubectlApply(t, key, "v1", `, labels: {team: a}`, `image: "nginx:1.26", tier: gold, replicas: 2`)
			shared.Kubectl(t, "-n", key.Namespace, "patch", "ws", key.Name, "--type=merge", "--field-manager=kubectl-edit",
				"-p", `{"metadata":{"labels":{"edited":"yes"},"annotations":{"note":"keep"}}}`)
			shared.Kubectl(t, "-n", key.Namespace, "scale", "ws", key.Name, "--replicas=4")
			edit(t, key, `{"status":{"replicas":4}}`, "status")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
			tt.first(t, key)
			before := managersOf(t, managed(t, key))
			adoptAndApply(t, c, key, &plan.Desired{Image: "nginx:1.28", Labels: map[string]string{v1.SourceLabel: "default"}})

			u := managed(t, key)
			after := managersOf(t, u)
			if !slices.Equal(others(after), others(before)) {
				t.Errorf("others own\n%s\nand owned\n%s", strings.Join(others(after), "\n"), strings.Join(others(before), "\n"))
			}
			ours := v1.Manager + ` Apply/ apps.labhub.io/v1 {"f:metadata":{"f:labels":{"f:webservice.labhub.io/source":{}}},"f:spec":{"f:image":{}}}`
			if len(after) != len(others(after))+1 || !slices.Contains(after, ours) {
				t.Errorf("owned by\n%s", strings.Join(after, "\n"))
			}
			spec, _, _ := unstructured.NestedMap(u.Object, "spec")
			if spec["image"] != "nginx:1.28" || spec["tier"] != "dev" {
				t.Errorf("spec %v", spec)
			}
			if _, ok := u.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok || u.GetLabels()["team"] != "" {
				t.Errorf("labels %v, annotations %v", u.GetLabels(), u.GetAnnotations())
			}
			if strings.Contains(tt.name, "others") && (u.GetLabels()["edited"] != "yes" || u.GetAnnotations()["note"] != "keep" || spec["replicas"] != int64(4)) {
				t.Errorf("others' labels %v, annotations %v, spec %v", u.GetLabels(), u.GetAnnotations(), spec)
			}
		})
	}
}

// TestAdoptLeavesFinalizers: a file can't state others' finalizers and owners, so
// that it doesn't state them mustn't remove them.
func TestAdoptLeavesFinalizers(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	keeper, err := shared.Client(t).CoreV1().ConfigMaps(key.Namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "keeper"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, name: keeper, uid: %s}`, keeper.UID)
	kubectlApply(t, key, "v1", `, finalizers: [example.com/hold], ownerReferences: [`+owner+`]`, `image: "nginx:1.26", tier: gold`)
	defer edit(t, key, `{"metadata":{"finalizers":null}}`)
	adoptAndApply(t, c, key, &plan.Desired{Image: "nginx:1.28"})
	u := managed(t, key)
	if !slices.Equal(u.GetFinalizers(), []string{"example.com/hold"}) || len(u.GetOwnerReferences()) != 1 {
		t.Errorf("finalizers %v, owners %v", u.GetFinalizers(), u.GetOwnerReferences())
	}
	spec, _, _ := unstructured.NestedMap(u.Object, "spec")
	if spec["tier"] != "dev" || u.GetAnnotations() != nil {
		t.Errorf("spec %v, annotations %v", spec, u.GetAnnotations())
	}
}

// twoVersions is a CRD of somebody else's, which serves an older version too.
func twoVersions() []byte {
	const version = `
    - name: %s
      served: true
      storage: %t
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: {image: {type: string}, replicas: {type: integer, default: 1}, tier: {type: string, default: dev}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	return []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webservices.apps.labhub.io}
spec:
  group: apps.labhub.io
  scope: Namespaced
  names: {plural: webservices, singular: webservice, kind: WebService, shortNames: [ws]}
  versions:` + fmt.Sprintf(version, "v1", true) + fmt.Sprintf(version, "v1beta1", false))
}

// TestAdoptVersions: kubectl has an entry for each API version that it was used
// with. What any of them owns becomes ours.
func TestAdoptVersions(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, twoVersions())
	c := look(t, account)
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied by us before %t", applied), func(t *testing.T) {
			key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
			if applied {
				if _, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepApply, Desired: &plan.Desired{Image: "nginx:1.26"}}); err != nil {
					t.Fatal(err)
				}
			}
			kubectlApply(t, key, "v1beta1", `, labels: {team: a}`, `image: "nginx:1.26", tier: gold`)
			kubectlApply(t, key, "v1", `, labels: {team: a}`, `image: "nginx:1.27", tier: gold, replicas: 3`)
			before := managersOf(t, managed(t, key))
			if n := len(before) - len(others(before)); n < 2 {
				t.Fatalf("owned by %q", before)
			}
			adoptAndApply(t, c, key, &plan.Desired{Image: "nginx:1.28"})
			u := managed(t, key)
			spec, _, _ := unstructured.NestedMap(u.Object, "spec")
			if spec["tier"] != "dev" || spec["replicas"] != int64(1) || len(u.GetLabels()) > 0 || len(u.GetAnnotations()) > 0 {
				t.Errorf("spec %v, labels %v, annotations %v", spec, u.GetLabels(), u.GetAnnotations())
			}
			if after := managersOf(t, u); len(after) != 1 {
				t.Errorf("owned by\n%s", strings.Join(after, "\n"))
			}
		})
	}
}
