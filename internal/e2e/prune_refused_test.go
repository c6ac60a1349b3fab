package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// A deletion that the server refuses is an error, tried again ever more rarely,
// across restarts, until it is allowed.
func TestADeletionThatIsRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c")
	l.writeServices("nginx:1.27", "protected")
	d := l.prunes()
	d.converges()
	l.refuse("DELETE", "oldObject.metadata.name != 'protected'", "hands off", func() error {
		return l.objects.Resource(webservices()).Namespace(l.namespace).Delete(t.Context(), "protected", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})
	mark := l.mark()
	l.withdraw("c", "protected")
	why := []fits{unconverged, nothingHeld, item("protected", func(i report.Item) bool {
		return failing(i) && i.Target == "webservice/protected" && says(i.Error, "refused to delete the WebService", "hands off") == nil
	})}
	d.reports(convergeLimit, why...)
	l.goes("c") // it harms only itself
	labtest.Eventually(t, convergeLimit, func() error { return tried(l.since(mark), 4) })
	d.reports(convergeLimit, why...)
	l.must(l.done("protected", "nginx:1.27"))
	l.endsWith(l.beside().approve(strings.Repeat("0", 64)), 1)

	d.stop()
	restarted := l.mark()
	r := l.once(append(pruning(), "--timeout=3s")...)
	l.endsWith(r, 1, "protected", "hands off")
	d = l.prunes()
	d.reports(convergeLimit, why...)
	labtest.Eventually(t, convergeLimit, func() error { return tried(l.since(restarted), 2) })
	l.writeServices("nginx:1.28", "a") // the others aren't starved
	labtest.Eventually(t, convergeLimit, func() error { return l.done("a", "nginx:1.28") })

	l.lift()
	l.goes("protected")
	d.converges(items("a", "b"))
	if got := namesOf(l.since(mark).deleted); fmt.Sprint(got) != "[c protected]" {
		t.Errorf("deleted were %q", got)
	}
}

// tried wants an object's deletion to have been refused so often, and no more
// often than a backoff lets it.
func tried(r *record, times int) error {
	if len(r.refused) < times {
		return fmt.Errorf("tried %d times", len(r.refused))
	}
	if took := r.refused[len(r.refused)-1].Time.Sub(r.refused[0].Time); times >= 4 && took < 500*time.Millisecond {
		return fmt.Errorf("tried %d times within %s", len(r.refused), took)
	}
	return nil
}

// interposed does something just before the first deletion of a WebService gets
// to the server, and keeps what deletions ask for.
type interposed struct {
	before func()
	once   sync.Once
	bodies atomic.Pointer[[]string]
}

func (i *interposed) fault(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/"+v1.Resource+"/") {
		i.once.Do(i.before)
		labtest.RewriteRequest(func(body []byte) []byte {
			seen := []string{string(body)}
			if before := i.bodies.Load(); before != nil {
				seen = append(*before, seen...)
			}
			i.bodies.Store(&seen)
			return body
		})(w, r, next)
		return
	}
	next.ServeHTTP(w, r)
}

// Between the decision and the deletion somebody may change the object, or put
// another one in its place: what was judged is what goes, or nothing.
func TestADeletionHitsOnlyTheObjectThatWasJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(l *lab)
		stays  bool
	}{
		"nobody is in the way": {before: func(*lab) {}},
		"it is to be kept, as of now": {before: func(l *lab) {
			l.edit(webservices(), "search", `{"metadata": {"annotations": {"webservice.labhub.io/prune": "disabled"}}}`)
		}, stays: true},
		"it is suspended, as of now": {before: func(l *lab) {
			l.edit(webservices(), "search", `{"metadata": {"annotations": {"webservice.labhub.io/reconcile": "disabled"}}}`)
		}, stays: true},
		"it is let go, as of now": {before: func(l *lab) {
			l.edit(webservices(), "search", `{"metadata": {"labels": {"webservice.labhub.io/source": null}}}`)
		}, stays: true},
		"it is another source's, as of now": {before: func(l *lab) {
			l.edit(webservices(), "search", `{"metadata": {"labels": {"webservice.labhub.io/source": "team-b"}}}`)
		}, stays: true},
		"another one has its name, as of now": {before: func(l *lab) {
			l.remove(webservices(), "search")
			l.create(webservices(), handmade("search", "mine:1", nil))
		}, stays: true},
		"somebody deletes it first": {before: func(l *lab) { l.remove(webservices(), "search") }},
		"somebody edits it":         {before: func(l *lab) { l.edit(webservices(), "search", `{"metadata": {"annotations": {"note": "x"}}}`) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout", "billing", "search")
			proxy := labtest.NewProxy(t, l.cluster)
			l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
			d := l.prunes()
			d.converges()
			old := l.uid("search")
			i := &interposed{before: func() { c.before(l) }}
			proxy.Set(i.fault)
			l.withdraw("search")
			labtest.Eventually(t, convergeLimit, func() error {
				if i.bodies.Load() == nil {
					return fmt.Errorf("nothing was deleted yet")
				}
				return nil
			})
			for _, body := range *i.bodies.Load() {
				if err := says(body, `"preconditions"`, `"uid":"`+string(old)+`"`, `"resourceVersion":"`); err != nil {
					t.Error(err)
				}
			}
			if !c.stays {
				l.goes("search")
				d.converges(items("billing", "checkout"))
				return
			}
			d.converges(nothingHeld)
			d.scanned(4, converged)
			if ws, err := l.webservice("search"); err != nil || ws.DeletionTimestamp != nil {
				t.Errorf("search: %v, %v", err, ws)
			}
		})
	}
}

// Deletions that fail for other reasons are tried again as well, and one that was
// carried out without an answer is over.
func TestADeletionThatFailsOnTheWayIsTriedAgain(t *testing.T) {
	t.Parallel()
	isDelete := func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/"+v1.Resource+"/")
	}
	for name, c := range map[string]struct {
		fault labtest.Fault
		says  string // in the error, where it lasts until the fault is taken away
	}{
		"no answer, once":      {labtest.Times(1, labtest.AbortAnswer()), ""},
		"no connection, twice": {labtest.Times(2, labtest.Abort()), ""},
		"a conflict, once":     {labtest.Times(1, labtest.Respond(http.StatusConflict, metav1.StatusReasonConflict)), ""},
		"no right to delete":   {labtest.Respond(http.StatusForbidden, metav1.StatusReasonForbidden), "delete the WebService"},
		"an error inside":      {labtest.Respond(http.StatusInternalServerError, metav1.StatusReasonInternalError), "fault set by the test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout", "billing", "search")
			proxy := labtest.NewProxy(t, l.cluster)
			l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
			d := l.prunes()
			d.converges()
			mark := l.mark()
			proxy.Set(labtest.When(isDelete, c.fault))
			l.withdraw("search")
			if c.says != "" {
				why := []fits{unconverged, nothingHeld, item("search", func(i report.Item) bool { return failing(i) && says(i.Error, c.says) == nil })}
				d.reports(convergeLimit, why...)
				d.scanned(3, why...)
				l.wantDeleted(mark)
				proxy.Set(nil)
			}
			l.goes("search")
			d.converges(items("billing", "checkout"))
			if got := namesOf(l.since(mark).deleted); len(got) == 0 || got[0] != "search" || got[len(got)-1] != "search" {
				t.Errorf("deleted were %q", got)
			}
		})
	}
}

// A server whose lists fail, are cut off or come late deletes nothing by it, and
// makes the controller delete nothing.
func TestNothingIsDeletedByWhatTheServerFailsToTell(t *testing.T) {
	t.Parallel()
	isList := func(r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/"+v1.Resource)
	}
	for name, fault := range map[string]labtest.Fault{
		"lists fail":    labtest.Respond(http.StatusInternalServerError, metav1.StatusReasonInternalError),
		"lists are old": labtest.Respond(http.StatusGone, metav1.StatusReasonExpired),
		"lists are cut short": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if labtest.IsWatch(r) {
				labtest.Abort()(w, r, next)
			}
			labtest.RewriteResponse(func(body []byte) []byte { return body[:len(body)/2] })(w, r, next)
		},
		"connections break": labtest.Abort(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			all := numbered("web", 6)
			l.writeServices("nginx:1.27", all...)
			proxy := labtest.NewProxy(t, l.cluster)
			l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
			d := l.prunes()
			d.converges()
			before, mark := l.states(), l.mark()
			proxy.Set(labtest.When(isList, fault))
			proxy.CutConnections(t)
			d.scanned(3)
			l.wantUntouched(mark)

			// Nor does a start in that state, which has seen no object yet.
			d.kill()
			d = l.prunes()
			d.reports(convergeLimit, unconverged, func(r *report.Report) error {
				if r.Source.LastScan.Sub(d.started) < 3*soon {
					return fmt.Errorf("too early: %s", r.Source.LastScan)
				}
				return nil
			})
			l.wantUntouched(mark)
			l.equal(before, l.states())
			proxy.Set(nil)
			d.converges(items(all...))
			l.equal(before, l.states())
			l.withdraw(all[5])
			l.goes(all[5])
			l.wantDeleted(mark, all[5])
		})
	}
}
