package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/report"
)

// The steps of the lab in the order in which a newcomer takes them, with the
// files that the repository has in desired/.
func TestTheLabFromFirstObjectToARoundOverAll(t *testing.T) {
	l := newLab(t)
	l.namespace = "crd-lab" // the controller makes it, by what the files say
	l.dropNamespace(l.namespace)

	l.writeDesired("checkout")
	l.onceOK("--reconcile-unlabelled=true")
	l.holdsTheFirstObject()

	// The second run decides noop, and the versions prove it.
	before := l.states()
	l.onceOK("--reconcile-unlabelled=true")
	l.equal(before, l.states())
	l.holds(l.lastReport(), converged, idle)

	l.writeDesired("billing", "search")
	l.onceOK("--reconcile-unlabelled=true")
	l.holdsTheRoundOverAll()
	before = l.states()
	l.onceOK("--reconcile-unlabelled=true")
	l.equal(before, l.states())
	l.holds(l.lastReport(), converged, idle)
}

// writeDesired copies files of desired/ into the source.
func (l *lab) writeDesired(names ...string) {
	l.Helper()
	for _, name := range names {
		path := filepath.Join("crd-lab", name+".yaml")
		data, err := os.ReadFile(filepath.Join("..", "..", "desired", path))
		l.must(err)
		l.write(map[string]string{path: string(data)})
	}
}

func (l *lab) holdsTheFirstObject() {
	l.Helper()
	l.must(l.done("checkout", "nginx:1.27"))
	ws, err := l.webservice("checkout")
	l.must(err)
	if *ws.Spec.Replicas != 3 || ws.Spec.Tier != "dev" || ws.Labels["webservice.labhub.io/source"] != l.name {
		l.Errorf("spec %+v, labels %v", ws.Spec, ws.Labels)
	}
	if ws.Status.ObservedGeneration != ws.Generation || ws.Status.Replicas != 3 || readyOf(ws).Status != metav1.ConditionTrue {
		l.Errorf("status %+v", ws.Status)
	}
	cm, err := l.child("checkout")
	l.must(err)
	owner := cm.OwnerReferences[0]
	if cm.Data["image"] != "nginx:1.27" || cm.Data["replicas"] != "3" || cm.Data["tier"] != "dev" {
		l.Errorf("data %v", cm.Data)
	}
	if owner.UID != ws.UID || owner.Kind != "WebService" || owner.Name != "checkout" || !*owner.Controller {
		l.Errorf("owner %+v", owner)
	}
	if cm.Labels["app.kubernetes.io/managed-by"] != "webservice-controller" {
		l.Errorf("labels %v", cm.Labels)
	}
	r := l.lastReport()
	l.holds(r, converged)
	if len(r.Items) != 1 || r.Summary.Total != 1 || r.Summary.Create != 1 {
		l.Fatalf("items %+v, summary %+v", r.Items, r.Summary)
	}
	i := r.Items[0]
	if i.Action != report.ActionCreate || i.Reason == "" || i.Source != "crd-lab/checkout.yaml:1" || i.Generation != 1 || i.ObservedGeneration != 1 {
		l.Errorf("item %+v", i)
	}
	if v := i.ResourceVersions; v.WebService != (report.Versions{After: ws.ResourceVersion}) || v.ConfigMap != (report.Versions{After: cm.ResourceVersion}) {
		l.Errorf("versions %+v, and the server has %s and %s", v, ws.ResourceVersion, cm.ResourceVersion)
	}
}

func (l *lab) holdsTheRoundOverAll() {
	l.Helper()
	r := l.lastReport()
	l.holds(r, converged)
	var got []string
	for _, i := range r.Items {
		got = append(got, i.Name+" "+string(i.Action))
		if i.ObservedGeneration != i.Generation || i.Generation == 0 {
			l.Errorf("%s: observed generation %d of %d", i.Name, i.ObservedGeneration, i.Generation)
		}
	}
	if want := []string{"billing create", "checkout noop", "search create"}; !slices.Equal(got, want) {
		l.Errorf("items %q, want %q", got, want)
	}
	if s := r.Summary; s.Total != 3 || s.Noop != 1 || s.Create != 2 || s.Errors != 0 || s.Problems != 0 {
		l.Errorf("summary %+v", s)
	}
	if s := r.Source; s.Files != 3 || s.Objects != 3 || !s.Complete || s.Name != l.name || s.Digest == "" {
		l.Errorf("source %+v", s)
	}
	for name, image := range map[string]string{"billing": "httpd:2.4", "checkout": "nginx:1.27", "search": "redis:7.4"} {
		l.must(l.done(name, image))
	}
}
