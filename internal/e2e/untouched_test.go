package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/report"
)

// shortly is the timeout of a once that can't converge.
const shortly = "--timeout=3s"

func TestAForeignConfigMapOfTheChildsNameIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, dress := range map[string]func(l *lab, cm *corev1.ConfigMap){
		"owned by nobody": func(*lab, *corev1.ConfigMap) {},
		"controlled by another, with our label": func(l *lab, cm *corev1.ConfigMap) {
			owner := l.create(configmaps(), configMap("owner"))
			controls := true
			cm.Labels = map[string]string{v1.ManagedByLabel: v1.Manager}
			cm.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID(), Controller: &controls},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			cm := configMap("checkout-desired")
			dress(l, cm)
			before := state(l.create(configmaps(), cm))
			l.writeServices("nginx:1.27", "checkout", "billing")

			if r := l.once(shortly); r.code != 1 {
				t.Errorf("exit code %d\n%s", r.code, r.stderr)
			}
			if after := l.states()["configmaps/checkout-desired"]; after != before {
				t.Errorf("it was written\nbefore %s\nafter  %s", before, after)
			}
			ws, err := l.webservice("checkout")
			l.must(err)
			ready := readyOf(ws)
			if ready.Status != metav1.ConditionFalse || ready.Reason != "NameConflict" || ws.Status.ObservedGeneration != ws.Generation {
				t.Errorf("status %+v", ws.Status)
			}
			l.holds(l.lastReport(), unconverged, item("checkout", failing))
			l.must(l.done("billing", "nginx:1.27"))
		})
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{"image": "mine:1"},
	}
}

func TestAnotherSourcesWebServiceIsLeftAloneAndReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onceOK("--source-allow-empty") // so that the definition is there
	l.create(webservices(), handmade("checkout", "theirs:1", map[string]string{v1.SourceLabel: "team-b"}))
	l.create(webservices(), handmade("unnamed", "theirs:1", map[string]string{v1.SourceLabel: "team-b"}))
	before := l.states()
	l.writeServices("nginx:1.27", "checkout")

	if r := l.once(shortly); r.code != 1 || !strings.Contains(strings.Join(r.errorLines(), ""), "team-b") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	l.equal(before, l.states())
	r := l.lastReport()
	l.holds(r, unconverged, item("checkout", failing))
	if len(r.Items) != 1 {
		t.Errorf("items %+v", r.Items)
	}
}

func TestASuspendedObjectIsNeitherMadeNorWritten(t *testing.T) {
	t.Parallel()
	const suspend = "annotations: {webservice.labhub.io/reconcile: disabled}"
	l := newLab(t)
	l.writeServices("nginx:1.27", "byfile", "byhand", "running")
	l.write(map[string]string{"never.yaml": service("never", "nginx:1.27", suspend)})
	d := l.run()
	r := d.converges(suspended(1))

	l.edit(webservices(), "byhand", `{"metadata": {"annotations": {"webservice.labhub.io/reconcile": "disabled"}}}`)
	l.write(map[string]string{"byfile.yaml": service("byfile", "nginx:1.27", suspend)})
	r = d.converges(reading(r), suspended(3))
	before := l.states()
	l.write(map[string]string{"byfile.yaml": service("byfile", "nginx:1.28", suspend)})
	l.writeServices("nginx:1.28", "byhand")
	l.edit(configmaps(), "byhand-desired", `{"data": {"image": "other:1"}}`)
	edited := l.states()["configmaps/byhand-desired"]
	l.writeServices("nginx:1.28", "running")
	d.converges(reading(r), suspended(3), func(*report.Report) error { return l.done("running", "nginx:1.28") })

	after := l.states()
	before["configmaps/byhand-desired"] = edited
	for _, kind := range []string{"webservices/running", "configmaps/running-desired"} {
		delete(before, kind)
		delete(after, kind)
	}
	l.equal(before, after)
	if _, err := l.webservice("never"); err == nil {
		t.Error("a suspended file made its object")
	}
}

func suspended(n int) fits {
	return func(r *report.Report) error {
		if r.Summary.Suspended != n {
			return fmt.Errorf("%d objects are suspended", r.Summary.Suspended)
		}
		return nil
	}
}

func TestATerminatingObjectIsLeftToItsFinalizers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.onceOK()
	l.edit(webservices(), "checkout", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	l.afterwards(func(ctx context.Context) error {
		return l.patch(ctx, webservices(), "checkout", `{"metadata": {"finalizers": null}}`)
	})
	l.remove(webservices(), "checkout")
	before := l.states()
	l.writeServices("nginx:1.28", "checkout")

	if r := l.once(shortly); r.code != 5 {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	l.equal(before, l.states())
	l.holds(l.lastReport(), unconverged, item("checkout", waits), item("billing", func(i report.Item) bool {
		return i.Action == report.ActionNoop
	}))
}
