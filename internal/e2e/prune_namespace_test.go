package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// An object whose file names another namespace is another object: that one comes
// first, and then the old one goes, as any other without a file.
func TestAnotherNamespaceInAFileIsANewObjectAndThenADeletion(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	there := l.in(l.cluster.Namespace(t))
	l.writeServices("nginx:1.27", "a", "b", "c", "moves")
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.write(map[string]string{"moves.yaml": service("moves", "nginx:1.27", "namespace: "+there.namespace)})
	l.goes("moves")
	d.converges(func(r *report.Report) error {
		if len(r.Items) != 4 {
			return fmt.Errorf("items %+v", r.Items)
		}
		return there.done("moves", "nginx:1.27")
	})
	r := l.since(mark, there.namespace)
	r.wantOrder(l)
	if len(r.created) != 1 || r.created[0].Namespace != there.namespace || len(r.deleted) != 1 || r.deleted[0].Namespace != l.namespace {
		t.Errorf("created %+v, deleted %+v", r.created, r.deleted)
	}
	l.wantDeleted(mark, "moves")
	l.namespaceStays(l.namespace)
}

// namespaceStays wants a namespace to be there and not to be deleted.
func (l *lab) namespaceStays(name string) {
	l.Helper()
	ns, err := l.core.CoreV1().Namespaces().Get(l.Context(), name, metav1.GetOptions{})
	if err != nil || ns.DeletionTimestamp != nil {
		l.Errorf("the namespace %s: %v, %v", name, ns, err)
	}
}

// With another default all objects of files that name none are other objects.
// Neither half of that happens without a person's word.
func TestAnotherDefaultNamespaceIsHeldWithWhatItWouldCreate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	there := l.in(l.cluster.Namespace(t))
	all := numbered("web", 4)
	l.writeServices("nginx:1.27", all...)
	l.onceOK()
	before, mark := l.states(), l.mark()
	d := l.prunes("--source-namespace=" + there.namespace)
	why := []fits{unconverged, approvable, func(r *report.Report) error {
		if r.Summary.Held != 4 || r.Summary.Requeue != 8 || r.Summary.Total != 8 {
			return fmt.Errorf("summary %+v", r.Summary)
		}
		for _, i := range r.Items {
			reason := map[string]string{l.namespace: "4 objects would be deleted, and that is all", there.namespace: "waits for held deletions"}[i.Namespace]
			if !waitsBecause(reason)(i) {
				return fmt.Errorf("item %s/%s: %s: %s", i.Namespace, i.Name, i.Action, i.Reason)
			}
		}
		return nil
	}}
	d.reports(convergeLimit, why...)
	r := d.scanned(3, append(why, noWrites)...)
	l.equal(before, l.states())
	if states := there.states(); len(states) > 0 {
		t.Errorf("in the new namespace: %v", states)
	}
	l.approveOK(r)
	l.allGone(all...)
	d.converges(nothingHeld, items(all...))
	l.must(there.allDone("nginx:1.27", all...))
	l.wantDeleted(mark, all...)
	l.since(mark, there.namespace).wantOrder(l)
	l.namespaceStays(l.namespace)
}

// A snapshot's creations come before its deletions. One that the server refuses
// keeps the deletions waiting, and says so at both ends.
func TestDeletionsWaitForWhatCantBeCreated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mend func(l *lab)
		left []string
	}{
		"the policy is lifted":  {(*lab).lift, []string{"a", "b", "new", "refused"}},
		"the file is taken out": {func(l *lab) { l.withdraw("refused") }, []string{"a", "b", "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "a", "b", "old")
			d := l.prunes()
			d.converges()
			l.refuse("CREATE", "object.metadata.name != 'refused'", "that name is taken", func() error { return l.try("refused") })
			mark := l.mark()
			l.writeServices("nginx:1.27", "new")
			l.write(map[string]string{"refused.yaml": service("refused", "nginx:1.27")})
			l.withdraw("old")
			why := []fits{unconverged, nothingHeld, item("refused", func(i report.Item) bool {
				return failing(i) && says(i.Error, "that name is taken") == nil
			}), item("old", waitsBecause("deleted after what the files add", "refused")), func(*report.Report) error { return l.done("new", "nginx:1.27") }}
			d.reports(convergeLimit, why...)
			d.scanned(3, why...)
			d.kill()
			d = l.prunes()
			d.reports(convergeLimit, why...)
			d.scanned(3, why...)
			l.wantDeleted(mark)
			l.must(l.done("old", "nginx:1.27"))
			c.mend(l)
			l.goes("old")
			d.converges(items(c.left...))
			l.wantDeleted(mark, "old")
		})
	}
}

// try creates a WebService by hand, and takes it away again.
func (l *lab) try(name string) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(handmade(name, "nginx:1.27", map[string]string{v1.SourceLabel: "of-a-test"}))
	l.must(err)
	client := l.objects.Resource(webservices()).Namespace(l.namespace)
	if _, err := client.Create(l.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return client.Delete(l.Context(), name, metav1.DeleteOptions{})
}

// refuse makes the server refuse an operation on the WebServices of the lab's
// namespace unless the expression holds, and waits until it does so.
func (l *lab) refuse(operation, unless, message string, attempt func() error) {
	l.Helper()
	l.cluster.Apply(l, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
      - {apiGroups: [apps.labhub.io], apiVersions: [v1], operations: [%[2]s], resources: [webservices]}
  validations:
    - {expression: "%[3]s", message: %[4]s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, l.namespace, operation, unless, message))
	l.afterwards(l.allowUpdates)
	labtest.Eventually(l, convergeLimit, func() error {
		if err := attempt(); err == nil || says(err.Error(), message) != nil {
			return fmt.Errorf("the policy isn't at work yet: %w", err)
		}
		return nil
	})
}

// lift takes the policy away.
func (l *lab) lift() {
	l.Helper()
	l.must(l.allowUpdates(l.Context()))
}
