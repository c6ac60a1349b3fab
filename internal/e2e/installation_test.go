package e2e

import (
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"labhub.io/webservice-controller/internal/labtest"
)

// installation is what `manifests` prints, on a server, and its pod as far as a test
// can be a kubelet: volumes are directories, and the network is that of the machine.
type installation struct {
	*lab
	text string // what was printed
	pod  corev1.PodSpec
	// place is the installation's namespace.
	place string
}

// install applies what `manifests` prints for a new namespace and these flags, as a
// user does, without the documents that leave holds back.
func (l *lab) install(leave func(document string) string, args ...string) *installation {
	l.Helper()
	i := l.printed(args...)
	var documents []string
	for document := range strings.SplitSeq(i.text, "\n---\n") {
		if document = leave(document); document != "" {
			documents = append(documents, document)
		}
	}
	i.apply(strings.Join(documents, "\n---\n"))
	i.kubeconfig = l.cluster.ServiceAccount(l, i.place, account)
	return i
}

// everything is to be applied.
func everything(document string) string { return document }

// printed is an installation that isn't applied.
func (l *lab) printed(args ...string) *installation {
	l.Helper()
	place := "run-" + l.namespace
	l.dropNamespace(place)
	return l.printedIn(place, args...)
}

func (l *lab) printedIn(place string, args ...string) *installation {
	l.Helper()
	corner := *l
	i := &installation{lab: &corner, place: place}
	r := l.exec(append([]string{"manifests", "--namespace", i.place, "--source-name", l.name}, args...)...)
	if r.code != 0 {
		l.Fatalf("manifests %q: exit code %d\n%s", args, r.code, r.stderr)
	}
	i.text = r.stdout
	var d appsv1.Deployment
	i.decode("Deployment", func(text []byte) error { return yaml.UnmarshalStrict(text, &d) })
	i.pod = d.Spec.Template.Spec
	i.out = i.local("/out")
	i.source = i.local(i.variable("WEBSERVICE_CONTROLLER_SOURCE_PATH"))
	return i
}

// apply has the API server judge every field.
func (i *installation) apply(text string) {
	i.Helper()
	_, stderr, code := i.cluster.KubectlExit(i, text, "apply", "--server-side", "--validate=strict", "--filename=-")
	if code != 0 || strings.Contains(stderr, "Warning") {
		i.Fatalf("kubectl apply: exit code %d\n%s", code, stderr)
	}
}

// decode hands over each document of a kind.
func (i *installation) decode(kind string, f func(text []byte) error) {
	i.Helper()
	for document := range strings.SplitSeq(i.text, "\n---\n") {
		if kindOf(document) == kind {
			i.must(f([]byte(document)))
		}
	}
}

func kindOf(document string) string {
	for line := range strings.Lines(document) {
		if kind, found := strings.CutPrefix(line, "kind: "); found {
			return strings.TrimSpace(kind)
		}
	}
	return ""
}

// container is one of the pod's.
func (i *installation) container(name string) *corev1.Container {
	i.Helper()
	at := slices.IndexFunc(i.pod.Containers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		i.Fatalf("there is no container %s", name)
	}
	return &i.pod.Containers[at]
}

// variable is one of the controller's environment, as it is in the pod.
func (i *installation) variable(name string) string {
	i.Helper()
	env := i.container("controller").Env
	at := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
	if at < 0 {
		i.Fatalf("there is no variable %s", name)
	}
	if from := env[at].ValueFrom; from != nil {
		if from.FieldRef == nil || from.FieldRef.FieldPath != "metadata.namespace" {
			i.Fatalf("%s comes from %+v", name, from)
		}
		return i.place
	}
	return env[at].Value
}

// local is where the test has what a container has at a path of a volume.
func (i *installation) local(path string) string {
	i.Helper()
	for _, mount := range i.container("controller").VolumeMounts {
		if rest, found := strings.CutPrefix(path, mount.MountPath); found && (rest == "" || rest[0] == '/') {
			return filepath.Join(i.home, mount.Name, rest)
		}
	}
	i.Fatalf("%s lies in no volume", path)
	return ""
}

// boot starts the controller's container as the Deployment has it, with the account's
// token. Beside volumes, only what all pods of a machine can't share is another one.
func (i *installation) boot() *daemon {
	i.Helper()
	controller := i.container("controller")
	if len(controller.Command) > 0 {
		i.Fatalf("the image's own entry point is %q", controller.Command)
	}
	i.environ = []string{"KUBECONFIG=" + i.kubeconfig}
	for _, v := range controller.Env {
		value := i.variable(v.Name)
		switch {
		case strings.HasPrefix(value, "/"):
			value = i.local(value)
		case v.Name == "WEBSERVICE_CONTROLLER_HTTP_ADDR":
			value = "127.0.0.1:0"
		}
		i.environ = append(i.environ, v.Name+"="+value)
	}
	return i.start(controller.Args...)
}

// user is how the server calls the controller's account.
func (i *installation) user() string { return "system:serviceaccount:" + i.place + ":" + account }

// requests are those of the controller since a mark.
func (i *installation) requests(since labtest.Mark) []labtest.Request {
	i.Helper()
	all := i.cluster.Audit().Requests(i, account+"/", since)
	return slices.DeleteFunc(all, func(r labtest.Request) bool { return r.User != i.user() })
}

// right is one verb on one resource, as a rule grants it.
type right struct {
	verb, resource, name string // the name is "" for any
	namespace            string // "" is everywhere
}

// rights are all that the printed roles grant.
func (i *installation) rights() []right {
	i.Helper()
	var all []right
	for _, kind := range []string{"ClusterRole", "Role"} {
		i.decode(kind, func(text []byte) error {
			var role rbacv1.Role
			err := yaml.Unmarshal(text, &role)
			for _, rule := range role.Rules {
				all = append(all, rightsOf(role.Namespace, &rule)...)
			}
			return err
		})
	}
	return all
}

func rightsOf(namespace string, rule *rbacv1.PolicyRule) []right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []right
	for _, resource := range rule.Resources {
		for _, verb := range rule.Verbs {
			for _, name := range names {
				all = append(all, right{verb, resource, name, namespace})
			}
		}
	}
	return all
}

// needed says whether a request is one that needs the right. An apply that makes an
// object needs the one to create as well.
func (r *right) needed(q *labtest.Request) bool {
	resource := strings.TrimSuffix(q.Resource+"/"+q.Subresource, "/")
	const created = 201
	verb := q.Verb == r.verb || r.verb == "create" && q.Verb == "patch" && q.Code == created
	return verb && resource == r.resource && (r.name == "" || r.name == q.Name) && (r.namespace == "" || r.namespace == q.Namespace)
}
