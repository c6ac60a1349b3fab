package manifests_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
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

// deployments are both that are shipped.
func deployments(t *testing.T) (git, folder *appsv1.Deployment) {
	t.Helper()
	read := func(text []byte) *appsv1.Deployment {
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	return read(manifests.Deployment()), read(manifests.Folder())
}

// TestTheFolderIsTheSameWithoutGit: what is right for one Deployment is for the other.
func TestTheFolderIsTheSameWithoutGit(t *testing.T) {
	git, folder := deployments(t)
	pod := &git.Spec.Template.Spec
	if len(pod.Containers) != 2 || pod.Containers[1].Name != "git-sync" || len(pod.Volumes) != 4 || pod.Volumes[3].Name != "tmp" {
		t.Fatalf("containers and volumes: %+v", pod)
	}
	pod.Containers, pod.Volumes = pod.Containers[:1], pod.Volumes[:3]
	source, files := &pod.Containers[0].Env[0], &pod.Volumes[0]
	if source.Value != "/files/current" || files.Name != "files" || files.EmptyDir == nil {
		t.Fatalf("source %+v in %+v", source, files)
	}
	source.Value = "/files"
	files.VolumeSource = corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "webservices", ReadOnly: true},
	}
	if !reflect.DeepEqual(git, folder) {
		t.Errorf("without git-sync\n%+v\nfolder\n%+v", git, folder)
	}
}

// TestThePodHasNoMoreThanItNeeds: what a cluster with strict policies asks for.
func TestThePodHasNoMoreThanItNeeds(t *testing.T) {
	git, folder := deployments(t)
	for _, d := range []*appsv1.Deployment{git, folder} {
		pod := d.Spec.Template.Spec
		if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("replicas and strategy: %+v", d.Spec)
		}
		if s := pod.SecurityContext; !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *pod.EnableServiceLinks {
			t.Errorf("pod: %+v", pod)
		}
		for _, c := range pod.Containers {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || *s.RunAsUser == 0 ||
				!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
				t.Errorf("%s: %+v", c.Name, s)
			}
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: %+v", c.Name, c.Resources)
			}
		}
		controller := pod.Containers[0]
		if len(controller.Command) > 0 || !slices.Equal(controller.Args, []string{"run"}) {
			t.Errorf("the image has no shell: %q %q", controller.Command, controller.Args)
		}
		live, ready := controller.LivenessProbe.HTTPGet, controller.ReadinessProbe.HTTPGet
		if live.Path != "/healthz" || ready.Path != "/readyz" || live.Port.StrVal != "http" || ready.Port.StrVal != "http" {
			t.Errorf("probes: %+v %+v", live, ready)
		}
	}
}

// TestTheTokenIsTheControllersAlone: no other container can speak to the API server
// in its name, and no other pod of the account has the token unasked.
func TestTheTokenIsTheControllersAlone(t *testing.T) {
	if a := serviceAccount(t); a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
		t.Error("each pod of the account has its token")
	}
	git, folder := deployments(t)
	for _, d := range []*appsv1.Deployment{git, folder} {
		pod := d.Spec.Template.Spec
		if a := pod.AutomountServiceAccountToken; a == nil || *a {
			t.Error("each container has the token")
		}
		var tokens []string
		for _, v := range pod.Volumes {
			if hasToken(&v) {
				tokens = append(tokens, v.Name)
			}
		}
		if len(tokens) != 1 {
			t.Fatalf("volumes with a token: %q, want one", tokens)
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if got, want := mounts(&c, tokens[0]), c.Name == "controller"; got != want {
				t.Errorf("%s mounts %s: %v, want %v", c.Name, tokens[0], got, want)
			}
		}
		// The kubelet lets fsGroup read the token, and nobody else but root.
		if s := pod.SecurityContext; s.FSGroup == nil || *s.FSGroup != *pod.Containers[0].SecurityContext.RunAsGroup {
			t.Errorf("the controller isn't in fsGroup: %+v", s)
		}
	}
}

// TestTheTokenIsWhereItIsLookedFor, with what else belongs to it.
func TestTheTokenIsWhereItIsLookedFor(t *testing.T) {
	git, _ := deployments(t)
	pod := git.Spec.Template.Spec
	mount := corev1.VolumeMount{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}
	c := pod.Containers[0]
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return reflect.DeepEqual(m, mount) }) {
		t.Errorf("%s mounts %+v", c.Name, c.VolumeMounts)
	}
	hour := int64(3600)
	want := []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &hour}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{
			Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
		}},
	}
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 || pod.Volumes[i].Projected == nil || !reflect.DeepEqual(pod.Volumes[i].Projected.Sources, want) {
		t.Errorf("volumes %+v", pod.Volumes)
	}
}

// serviceAccount is the one that is shipped.
func serviceAccount(t *testing.T) *corev1.ServiceAccount {
	t.Helper()
	for document := range strings.SplitSeq(string(manifests.RBAC()), "\n---\n") {
		var a corev1.ServiceAccount
		if yaml.UnmarshalStrict([]byte(document), &a) == nil && a.Kind == "ServiceAccount" {
			return &a
		}
	}
	t.Fatal("there is no ServiceAccount")
	return nil
}

// hasToken says whether a volume has a token of the account: a projected one, or a
// Secret, which it might be in.
func hasToken(v *corev1.Volume) bool {
	return v.Secret != nil || v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool {
		return p.ServiceAccountToken != nil || p.Secret != nil
	})
}

func mounts(c *corev1.Container, volume string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
}

// TestTheServiceLeadsToThePod, and so does the NetworkPolicy.
func TestTheServiceLeadsToThePod(t *testing.T) {
	git, _ := deployments(t)
	first, second, _ := strings.Cut(string(manifests.Network()), "\n---\n")
	var service corev1.Service
	var policy networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict([]byte(first), &service); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(second), &policy); err != nil {
		t.Fatal(err)
	}
	labels := git.Spec.Template.Labels
	if !reflect.DeepEqual(service.Spec.Selector, labels) || !reflect.DeepEqual(policy.Spec.PodSelector.MatchLabels, labels) ||
		!reflect.DeepEqual(git.Spec.Selector.MatchLabels, labels) {
		t.Errorf("the pod has %v", labels)
	}
	port := git.Spec.Template.Spec.Containers[0].Ports[0]
	if p := service.Spec.Ports[0]; p.Name != "http" || p.TargetPort.StrVal != port.Name || p.Port != port.ContainerPort {
		t.Errorf("port %+v leads to %+v", p, port)
	}
	if p := policy.Spec.Ingress[0].Ports; len(p) != 1 || p[0].Port.StrVal != port.Name {
		t.Errorf("allowed: %+v", p)
	}
}

func TestCallersGetCopies(t *testing.T) {
	for _, shipped := range []func() []byte{manifests.CRD, manifests.RBAC, manifests.Network, manifests.Deployment, manifests.Folder} {
		if shipped()[0] = 'X'; shipped()[0] == 'X' {
			t.Error("a caller changed what the next one gets")
		}
	}
}
