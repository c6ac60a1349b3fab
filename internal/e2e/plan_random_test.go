package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
)

// Whatever people do to files and to the cluster: what plan says is what once does.
// Each round goes on from where the one before has left things.
func TestPlanSaysWhatOnceDoesOverRandomDirectories(t *testing.T) {
	const rounds, changes = 10, 5
	p := &player{lab: newLab(t), rand: rand.New(rand.NewPCG(20, 26))}
	for _, name := range playedNames() {
		p.letGo(name)
	}
	p.writeServices("nginx:1", append(playedNames(), "base")...)
	p.onceOK()
	for range rounds {
		p.log = nil
		for range changes {
			p.change()
		}
		p.collected()
		r := p.exec(append(append([]string{"plan"}, p.flags()...), "--prune-after=1s")...)
		planned := p.planned(r.code, "--prune-after=1s")
		once := p.once("--prune-after=1s", "--timeout=3s")
		p.happened(planned, p.lastReport())
		if want := planCodeAfter(once.code, r.code); r.code != want {
			t.Errorf("plan: exit code %d, want %d, since once ended with %d", r.code, want, once.code)
		}
		if t.Failed() {
			t.Fatalf("after: %s\n%s", strings.Join(p.log, "; "), r.stdout)
		}
	}
}

// planCodeAfter is the exit code that plan must have had where once has the first one
// after it. For what once does without a hitch, plan has either of two.
func planCodeAfter(once, plan int) int {
	switch {
	case once == 0 && plan == 0:
		return 0
	case once == 1, once == 3:
		return once
	case once == 5 && plan == 5, once == 5 && plan == 3:
		return plan // an empty source; a problem beside what waits
	}
	return 2
}

// player changes files and cluster at random.
type player struct {
	*lab
	rand *rand.Rand
	log  []string
}

func playedNames() []string { return []string{"a", "b", "c", "d", "e", "f"} }

func pick[T any](p *player, from ...T) T { return from[p.rand.IntN(len(from))] }

// change does one thing that a person may do.
func (p *player) change() {
	name := pick(p, playedNames()...)
	path := filepath.Join(p.source, name+".yaml")
	what := pick(p, "write", "write", "write", "write", "remove", "break", "edit", "drift", "drop", "delete", "take", "keep", "label")
	p.log = append(p.log, what+" "+name)
	var err error
	switch what {
	case "write":
		p.write(map[string]string{name + ".yaml": p.text(name)})
	case "remove":
		if err = os.Remove(path); os.IsNotExist(err) {
			err = nil
		}
	case "break":
		if p.rand.IntN(3) == 0 {
			p.write(map[string]string{name + ".yaml": "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: " + name + "}\n"})
		}
	case "edit":
		err = p.patch(p.Context(), webservices(), name, fmt.Sprintf(`{"spec": {"replicas": %d}}`, p.rand.IntN(4)))
	case "drift":
		err = p.patch(p.Context(), configmaps(), name+"-desired", pick(p, `{"data": {"image": "drifted"}}`, `{"data": {"more": "x"}}`,
			`{"metadata": {"ownerReferences": null}}`, `{"metadata": {"labels": null}}`))
	case "drop":
		err = p.objects.Resource(configmaps()).Namespace(p.namespace).Delete(p.Context(), name+"-desired", metav1.DeleteOptions{})
	case "delete":
		err = p.objects.Resource(webservices()).Namespace(p.namespace).Delete(p.Context(), name, metav1.DeleteOptions{})
	case "take":
		p.take(name)
	case "keep":
		err = p.patch(p.Context(), webservices(), name, `{"metadata": {"annotations": {"webservice.labhub.io/prune": `+pick(p, `"disabled"`, "null")+`}}}`)
	case "label":
		err = p.patch(p.Context(), webservices(), name, `{"metadata": {"labels": {"webservice.labhub.io/source": `+pick(p, `"another"`, `"`+p.name+`"`, "null")+`}}}`)
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		p.Fatal(err)
	}
}

// text is a file with whatever a file may say.
func (p *player) text(name string) string {
	lines := []string{pick(p, "annotations: {note: x}", "annotations: {}",
		"annotations: {webservice.labhub.io/depends-on: "+pick(p, "base", "nowhere")+"}", "annotations: {webservice.labhub.io/reconcile: disabled}")}
	if p.rand.IntN(3) == 0 {
		lines = append(lines, named)
	}
	text := service(name, pick(p, "nginx:1", "nginx:2"), lines...)
	if p.rand.IntN(2) == 0 {
		text = strings.ReplaceAll(text, "  replicas: 2\n", "  tier: prod\n")
	}
	return text
}

// take puts a ConfigMap where ours would be, or takes it away again.
func (p *player) take(name string) {
	configmaps := p.core.CoreV1().ConfigMaps(p.namespace)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-desired", Annotations: map[string]string{"theirs": "yes"}}}
	_, err := configmaps.Create(p.Context(), theirs, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		p.must(err)
		return
	}
	standing, err := configmaps.Get(p.Context(), theirs.Name, metav1.GetOptions{})
	if p.must(err); standing.Annotations["theirs"] != "" {
		p.must(configmaps.Delete(p.Context(), theirs.Name, metav1.DeleteOptions{}))
	}
}

// collected waits until the server's collector has nothing left to do.
func (p *player) collected() {
	p.Helper()
	labtest.Eventually(p, convergeLimit, func() error { return p.orphan(p.Context()) })
}

// orphan is an error that names a ConfigMap whose owner is gone, or nil.
func (p *player) orphan(ctx context.Context) error {
	list, err := p.core.CoreV1().ConfigMaps(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		for _, owner := range list.Items[i].OwnerReferences {
			if ws, err := p.webservice(owner.Name); err != nil || ws.UID != owner.UID {
				return fmt.Errorf("%s belongs to an object that is gone", list.Items[i].Name)
			}
		}
	}
	return nil
}
