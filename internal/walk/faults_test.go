package walk

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

func daemonSteps() []weighted {
	return []weighted{
		{2, (*walk).restart}, {2, (*walk).crash}, {1, (*walk).onceBetween},
		{4, (*walk).approveHeld}, {1, (*walk).approveStale}, {1, (*walk).deleteNamespace},
	}
}

func faultSteps() []weighted {
	return []weighted{
		{1, (*walk).refuse}, {3, (*walk).delay}, {3, (*walk).cutAnswers}, {2, (*walk).tooBusy},
		{2, (*walk).failing}, {2, (*walk).cutConnections},
	}
}

func (w *walk) restart() string {
	w.controller.stop()
	if w.chance(30) {
		w.rest(time.Second)
	}
	w.controller.start()
	return "restart: after SIGTERM"
}

func (w *walk) crash() string {
	w.controller.kill()
	w.controller.start()
	return "restart: after kill -9"
}

func (w *walk) onceBetween() string {
	w.controller.stop()
	code, _ := w.controller.run(append([]string{"once", "--timeout=3s"}, w.controller.flags...)...)
	w.controller.start()
	return fmt.Sprintf("once: exit code %d", code)
}

// approveHeld types the command that the report gives.
func (w *walk) approveHeld() string {
	r, err := w.report()
	if err != nil || r.HeldDigest == "" {
		return ""
	}
	return w.approve(r)
}

func (w *walk) approve(r *report.Report) string {
	w.history.approvals = append(w.history.approvals, w.approvalOf(r))
	w.digests = append(w.digests, r.HeldDigest)
	command := strings.Fields(r.HeldCommand)
	code, stderr := w.controller.run(command[1:]...)
	if code != 0 {
		// Right only where the report has moved on since.
		if now, err := w.report(); err == nil && now.HeldDigest == r.HeldDigest && now.Cycle == r.Cycle {
			w.Errorf("%s: exit code %d: %s", r.HeldCommand, code, stderr)
		}
	}
	return fmt.Sprintf("approve: %d deletions, exit code %d", len(r.Held), code)
}

// approvalOf is the set that a report holds, by every uid that its members had
// lately.
func (w *walk) approvalOf(r *report.Report) approval {
	a := approval{at: time.Now(), set: map[plan.Key][]types.UID{}}
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for _, held := range r.Held {
		key := plan.Key{Namespace: held.Namespace, Name: held.Name}
		for _, v := range w.history.during(webservices().Resource, key, r.Started, a.at) {
			a.set[key] = append(a.set[key], v.uid)
		}
	}
	return a
}

// approveStale types a digest that is held no longer: nobody may take it.
func (w *walk) approveStale() string {
	if len(w.digests) == 0 {
		return ""
	}
	digest := pick(w, w.digests)
	before, err := w.report()
	if err != nil || before.HeldDigest == digest {
		return ""
	}
	code, _ := w.controller.run(append([]string{"approve", digest}, w.controller.flags...)...)
	after, err := w.report()
	if code == 0 && err == nil && after.HeldDigest != digest && after.Cycle == before.Cycle {
		w.Errorf("the digest %s isn't held and was approved", digest)
	}
	return fmt.Sprintf("approve a stale digest: exit code %d", code)
}

// deleteNamespace takes all that is in it along, which takes its time.
func (w *walk) deleteNamespace() string {
	name := pick(w, walkNamespaces())
	if !w.chance(25) {
		return ""
	}
	w.tolerate(w.core.CoreV1().Namespaces().Delete(w.Context(), name, metav1.DeleteOptions{}))
	return "delete namespace: " + name
}

// spoil sets a fault that ends a few steps later.
func (w *walk) spoil(what string, f labtest.Fault) string {
	w.line.set(f, false)
	w.faultLeft = 1 + w.IntN(5)
	return fmt.Sprintf("fault: %s for %d steps", what, w.faultLeft)
}

// heal ends all faults.
func (w *walk) heal() {
	w.line.set(passOn, false)
	w.faultLeft = 0
}

func (w *walk) refuse() string {
	w.line.set(passOn, true)
	w.line.cut()
	w.faultLeft = 1 + w.IntN(5)
	return fmt.Sprintf("fault: no connection for %d steps", w.faultLeft)
}

func (w *walk) delay() string {
	d := time.Duration(50+w.IntN(700)) * time.Millisecond
	return w.spoil("delay of "+d.String(), labtest.When(notWatch, labtest.Delay(d)))
}

func (w *walk) cutAnswers() string {
	return w.spoil("answers cut off", labtest.When(labtest.IsWrite, labtest.Times(int64(1+w.IntN(10)), labtest.AbortAnswer())))
}

func (w *walk) tooBusy() string {
	return w.spoil("429", labtest.When(w.someRequests(), labtest.Respond(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)))
}

func (w *walk) failing() string {
	return w.spoil("500", labtest.When(w.someRequests(), labtest.Respond(http.StatusInternalServerError, metav1.StatusReasonInternalError)))
}

func (w *walk) someRequests() func(*http.Request) bool {
	if w.chance(50) {
		return labtest.IsWrite
	}
	return func(*http.Request) bool { return true }
}

func (w *walk) cutConnections() string {
	w.line.cut()
	return "fault: all connections cut"
}

func notWatch(r *http.Request) bool { return !labtest.IsWatch(r) }
