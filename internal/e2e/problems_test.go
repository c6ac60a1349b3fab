package e2e

import (
	"fmt"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

func TestABrokenDocumentHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	l.onceOK()
	before := l.states()

	broken := "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: checkout\nspec:\n  image: nginx:1.28\n  replicas: many\n"
	l.write(map[string]string{"checkout.yaml": service("extra", "nginx:1.28") + "---\n" + broken})
	l.writeServices("nginx:1.28", "billing")
	r := l.once()
	l.endsWith(r, 3, "1 problem", "checkout.yaml:15:13")

	l.onlyChanged(before, "webservices/billing", "configmaps/billing-desired", "webservices/extra", "configmaps/extra-desired")
	l.must(l.done("checkout", "nginx:1.27"))
	l.must(l.done("billing", "nginx:1.28"))
	l.must(l.done("extra", "nginx:1.28"))
	last := l.lastReport()
	l.holds(last, unconverged, item("checkout", func(i report.Item) bool { return i.Action == report.ActionNoop }))
	if len(last.Problems) != 1 || last.Summary.Problems != 1 {
		t.Fatalf("problems %+v", last.Problems)
	}
	p := last.Problems[0]
	if at := fmt.Sprintf("%s#%d:%d:%d %s", p.Path, p.Document, p.Line, p.Column, p.Field); at != "checkout.yaml#2:15:13 spec.replicas" || p.Message == "" {
		t.Errorf("problem at %s: %s", at, p.Message)
	}
}

// JSON carries some characters as they are that YAML refuses or folds, and the
// server reads what we apply as YAML. What a file says arrives all the same.
func TestCharactersThatYAMLCantCarryArrive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const odd = "a\u0085\u009b\ufeff\u007f\u2028é😀b"
	l.write(map[string]string{"odd.yaml": service("odd", `"a\u0085\u009b\ufeff\u007f\u2028é😀b"`)})
	l.onceOK()
	l.must(l.done("odd", odd))
	l.onceOK()
	l.holds(l.lastReport(), converged, idle)
}
