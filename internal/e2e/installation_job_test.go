package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// duty is a part of the controller's work: what happens, and what must come of it.
type duty struct {
	name string
	when func()
	then func() error
}

// duties are all that a controller has to do in a namespace, in their order, each
// such that a right that is missing keeps it from being done.
func (l *lab) duties() []duty {
	object := func(name, image string) func() error { return func() error { return l.done(name, image) } }
	return []duty{
		{"create", func() {
			l.put("web", "nginx:1")
			l.put("cleaned", "nginx:1", "finalizers: ["+v1.CleanupFinalizer+"]")
		}, func() error { return errors.Join(l.done("web", "nginx:1"), l.done("cleaned", "nginx:1")) }},
		{"update", func() { l.put("web", "nginx:2") }, object("web", "nginx:2")},
		{"mend the ConfigMap", func() { l.edit(configmaps(), "web-desired", `{"data": {"image": "theirs"}}`) }, object("web", "nginx:2")},
		{"make the ConfigMap anew", func() { l.remove(configmaps(), "web-desired") }, object("web", "nginx:2")},
		{"take over from kubectl", l.applyByKubectl, object("byhand", "nginx:3")},
		{"delete", func() { l.must(os.Remove(l.path("cleaned"))) }, func() error {
			return l.gone("cleaned")
		}},
	}
}

// tellsAgain is the duty of counting up an event that tells what was told before. It
// takes its time, since the same isn't told again at once.
func (l *lab) tellsAgain() duty {
	return duty{"tell the same again", func() { l.edit(configmaps(), "web-desired", `{"data": {"image": "theirs"}}`) }, func() error {
		list, err := l.core.EventsV1().Events(l.namespace).List(l.Context(), metav1.ListOptions{})
		l.must(err)
		for i := range list.Items {
			if list.Items[i].Series != nil {
				return nil
			}
		}
		return errors.New("no event was counted up")
	}}
}

// path is that of an object's file; each namespace has a directory.
func (l *lab) path(name string) string {
	return filepath.Join(l.source, l.namespace, name+".yaml")
}

func (l *lab) put(name, image string, metadata ...string) {
	l.Helper()
	text := service(name, image, append([]string{"namespace: " + l.namespace}, metadata...)...)
	l.write(map[string]string{filepath.Join(l.namespace, name+".yaml"): text})
}

// applyByKubectl has an object that was applied in the client, as people do, and a
// file for it that states less.
func (l *lab) applyByKubectl() {
	l.Helper()
	text := strings.TrimSuffix(service("byhand", "nginx:3", "namespace: "+l.namespace), "\n") + "\n  tier: prod\n"
	if _, stderr, code := l.cluster.KubectlExit(l, text, "apply", "--filename=-"); code != 0 {
		l.Fatal(stderr)
	}
	l.put("byhand", "nginx:3")
}

// undefine takes the definition away with all that it defines.
func (l *lab) undefine() {
	l.Helper()
	r, stderr, code := l.cluster.KubectlExit(l, "", "delete", "crd", v1.CRDName, "--ignore-not-found", "--timeout=60s")
	if code != 0 {
		l.Fatalf("%s%s", r, stderr)
	}
}

// defined says whether the definition is there.
func (l *lab) defined(ctx context.Context) bool {
	l.Helper()
	crds := v1.GroupVersion().WithResource("customresourcedefinitions")
	crds.Group = "apiextensions.k8s.io"
	_, err := l.objects.Resource(crds).Get(ctx, v1.CRDName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		l.Fatal(err)
	}
	return err == nil
}
