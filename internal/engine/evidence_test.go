package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// notes are what an Evidence is told.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) Decided(in *plan.Input, d *plan.Decision) {
	n.add("%s: %s of %s, step %q, error %t, after %s", in.Key.Name, d.Action, d.Target.Name(in.Key), d.Step.Kind, d.Error, d.After.Round(time.Second))
}

func (n *notes) Cleaned(key plan.Key, live plan.Live, removed string, left []string) {
	n.add("%s: cleaned up %s, left %v, uid %t", key.Name, removed, left, live.UID != "")
}

func (n *notes) Gone(key plan.Key) { n.add("%s: gone", key.Name) }

func (n *notes) taken() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

// TestEvidence: every decision is told in order, a step that fails by what follows
// from it, and the end of an object last.
func TestEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &notes{}
		r := newPruner(t, func(o *Options) { o.Evidence = told })
		r.files(filesOf("a")...)
		want := []string{
			`a: create of webservice/a, step "apply the WebService", error false, after 0s`,
			`a: create of configmap/a-desired, step "create the ConfigMap", error false, after 0s`,
			`a: update of webservice/a, step "write the status", error false, after 0s`,
			`a: noop of webservice/a, step "nothing", error false, after 0s`,
		}
		if got := told.taken(); !slices.Equal(got, want) {
			t.Errorf("created: %s", strings.Join(got, "\n"))
		}

		failing := &tries{err: unavailable(7 * time.Second)}
		r.cluster.set(func(f *fakeCluster) { f.fail = failing.fail })
		r.files(append(filesOf("a"), file(checkout, "a"))...)
		want = []string{
			`checkout: create of webservice/checkout, step "apply the WebService", error false, after 0s`,
			`checkout: requeue of webservice/checkout, step "nothing", error true, after 7s`,
		}
		if got := told.taken(); !slices.Equal(got, want) {
			t.Errorf("failed: %s", strings.Join(got, "\n"))
		}

		failing.become(nil)
		r.files(filesOf("a", "b", "c")...)
		r.cluster.edit(lab("c"), func(ws *v1.WebService) { ws.Finalizers = []string{v1.CleanupFinalizer} })
		synctest.Wait()
		r.files(filesOf("a", "b")...)
		pass(pruneAfter)
		told.taken()
		pass(scanTakes)
		want = []string{
			`c: delete of webservice/c, step "delete the WebService", error false, after 0s`,
			`c: delete of configmap/c-desired, step "delete the ConfigMap", error false, after 0s`,
			`c: update of webservice/c, step "drop the finalizer", error false, after 0s`,
			`c: cleaned up configmap/c-desired, left [], uid true`,
			`c: noop of webservice/c, step "nothing", error false, after 0s`,
			`c: gone`,
		}
		if got := told.taken(); !slices.Equal(got, want) {
			t.Errorf("deleted: %s", strings.Join(got, "\n"))
		}
	})
}
