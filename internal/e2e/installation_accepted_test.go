package e2e

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// onlyDryRun has the API server judge what it doesn't keep.
func onlyDryRun() []string {
	return []string{"apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"}
}

// kustomized is what kubectl makes of a directory of the repository.
func (l *lab) kustomized(directory string) map[string]any {
	l.Helper()
	stdout, stderr, code := l.cluster.KubectlExit(l, "", "kustomize", "../../"+directory)
	if code != 0 {
		l.Fatalf("%s: %s", directory, stderr)
	}
	return l.objectsIn(stdout)
}

// objectsIn are the objects of a stream, by kind and name.
func (l *lab) objectsIn(stream string) map[string]any {
	l.Helper()
	all := map[string]any{}
	for document := range strings.SplitSeq(stream, "\n---\n") {
		var o map[string]any
		l.must(yaml.Unmarshal([]byte(document), &o))
		metadata, _ := o["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		all[kindOf(document)+" "+name] = o
	}
	return all
}

// Who builds on the manifests by kustomize has what the command prints.
func TestKustomizeMakesTheSame(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	printed := func(args ...string) map[string]any {
		r := l.exec(append([]string{"manifests"}, args...)...)
		if r.code != 0 {
			t.Fatal(r.stderr)
		}
		// What only the command knows.
		text := strings.Replace(r.stdout, "    resourceNames: [webservice-source-default]\n", "", 1)
		return l.objectsIn(regexp.MustCompile(`(/webservice-controller):\S+\n`).ReplaceAllString(text, "$1:latest\n"))
	}
	for directory, want := range map[string]map[string]any{
		"manifests":       printed(),
		"examples/folder": printed("--claim=webservices"),
	} {
		got := l.kustomized(directory)
		for object := range want {
			if !reflect.DeepEqual(got[object], want[object]) {
				t.Errorf("%s: %s\n got %v\nwant %v", directory, object, got[object], want[object])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d objects, want %d", directory, len(got), len(want))
		}
	}
	for _, directory := range []string{"manifests", "examples/folder", "examples/sidecar"} {
		if _, stderr, code := l.cluster.KubectlExit(t, "", append(onlyDryRun(), "--kustomize=../../"+directory)...); code != 0 || strings.Contains(stderr, "Warning") {
			t.Errorf("%s: %s", directory, stderr)
		}
	}
}

// The plain files do too, in the order in which kubectl reads them.
func TestThePlainFilesAreAccepted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, workload := range []string{"deployment.yaml", "folder.yaml"} {
		args := onlyDryRun()
		for _, file := range []string{"crd", "rbac.yaml", "network.yaml", workload} {
			args = append(args, "--filename=../../manifests/"+file)
		}
		if _, stderr, code := l.cluster.KubectlExit(t, "", args...); code != 0 || strings.Contains(stderr, "Warning") {
			t.Errorf("%s: %s", workload, stderr)
		}
	}
}

// The example's settings are ones that there are.
func TestTheSidecarExampleHasRealSettings(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	text, err := json.Marshal(l.kustomized("examples/sidecar")["Deployment "+account])
	l.must(err)
	var d appsv1.Deployment
	l.must(json.Unmarshal(text, &d))
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		l.environ = append(l.environ, v.Name+"="+v.Value)
	}
	if r := l.exec("validate", l.source); r.code != 0 {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	l.environ = append(l.environ, "WEBSERVICE_CONTROLLER_SOURCE_PAHT=/x")
	l.endsWith(l.exec("validate", l.source), 64, "WEBSERVICE_CONTROLLER_SOURCE_PAHT")
}

// A cluster that holds namespaces to the strictest of the pod security standards
// takes the pod, and would refuse one that asks for more.
func TestThePodIsRestricted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	place := l.cluster.Namespace(t)
	l.cluster.Kubectl(t, "label", "namespace", place, "pod-security.kubernetes.io/enforce=restricted")
	for _, args := range [][]string{nil, {"--claim=webservices"}} {
		pod := l.printed(args...).pod
		try := func() error {
			_, err := l.core.CoreV1().Pods(place).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Spec: pod},
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			return err
		}
		if err := try(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		pod.Containers[0].SecurityContext.Capabilities = nil
		if err := try(); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
			t.Errorf("%q: with capabilities: %v", args, err)
		}
	}
}
