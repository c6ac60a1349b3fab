package kube

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
)

// lines is a log that is read while it is written.
type lines struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// teller is what sends events, and its log. lost: there is no leave any more.
type teller struct {
	*Events
	t    *testing.T
	log  lines
	lost atomic.Bool
}

func newTeller(t *testing.T, kubeconfig string) *teller {
	t.Helper()
	e := &teller{t: t}
	cfg := labtest.ConfigFrom(t, kubeconfig)
	cfg.UserAgent = agent(t)
	var err error
	e.Events, err = NewEvents(cfg, EventOptions{
		Instance: func() string { return "pod-a_1" },
		Leave:    func() bool { return !e.lost.Load() },
		Log:      slog.New(slog.NewTextHandler(&e.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tell notes facts, as those of one cycle.
func (e *teller) tell(events ...plan.Event) {
	for i := range events {
		e.Note(events[i])
	}
	e.Release()
}

// flush sends all that is due, and fails where that takes too long.
func (e *teller) flush() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), recovery)
	defer cancel()
	e.Flush(ctx)
	if ctx.Err() != nil {
		e.t.Errorf("not flushed within %s", recovery)
	}
}

func failed(key plan.Key, uid types.UID) plan.Event {
	return plan.Event{Key: key, UID: uid, Reason: v1.EventFailed, Note: "quota is 3", Same: "quota"}
}

// eventsIn are the Events of a namespace as the server has them.
func eventsIn(t *testing.T, namespace string) []eventsv1.Event {
	t.Helper()
	list, err := shared.Client(t).EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// onlyEvent wants one Event in the namespace, that counts so many.
func onlyEvent(t *testing.T, namespace string, count int32) *eventsv1.Event {
	t.Helper()
	events := eventsIn(t, namespace)
	if len(events) != 1 || countOf(&events[0]) != count {
		t.Fatalf("want one event, %d times: %+v", count, events)
	}
	return &events[0]
}

// sentOf are the requests for events of the test's agent, by the server's record.
func sentOf(t *testing.T, since labtest.Mark) []string {
	t.Helper()
	var sent []string
	for _, r := range shared.Audit().Requests(t, agent(t), since) {
		sent = append(sent, fmt.Sprintf("%s %s.%s %d", r.Verb, r.Resource, r.Group, r.Code))
	}
	return sent
}

// TestEventsOnTheServer: what an Event says, that the same is counted on it, by
// whatever process, and that what is sent is counted.
func TestEventsOnTheServer(t *testing.T) {
	account := shipped(t)
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	mark := shared.Audit().Mark(t)
	e := newTeller(t, account)
	e.tell(failed(key, "uid-1"))
	if n := e.Sent(); n != 0 {
		t.Errorf("%d requests before there is anybody to send them", n)
	}
	e.flush()
	got := onlyEvent(t, key.Namespace, 1)
	r := got.Regarding
	if r.APIVersion != "apps.labhub.io/v1" || r.Kind != "WebService" || r.Namespace != key.Namespace || r.Name != "checkout" || r.UID != "uid-1" ||
		got.Type != "Warning" || got.Reason != "Failed" || got.Note != "quota is 3" || got.Action != "Reconcile" ||
		got.ReportingController != "webservice-controller" || got.ReportingInstance != "pod-a_1" || got.Series != nil {
		t.Errorf("%+v", got)
	}

	other := failed(key, "uid-1")
	other.Note = "quota is 4"
	again := newTeller(t, account) // another process
	again.tell(other, other, other)
	again.flush()
	got = onlyEvent(t, key.Namespace, 4)
	if got.Note != "quota is 3" || got.Series.LastObservedTime.Before(&got.EventTime) {
		t.Errorf("%+v", got)
	}
	want := "[create events.events.k8s.io 201 create events.events.k8s.io 409 patch events.events.k8s.io 200 patch events.events.k8s.io 200]"
	if sent := sentOf(t, mark); fmt.Sprint(sent) != want || e.Sent()+again.Sent() != 4 {
		t.Errorf("sent %v, counted %d and %d", sent, e.Sent(), again.Sent())
	}

	e.tell(failed(key, "uid-2")) // the next object of that name
	e.flush()
	if n := len(eventsIn(t, key.Namespace)); n != 2 {
		t.Errorf("%d events", n)
	}
	if log := e.log.String() + again.log.String(); log != "" {
		t.Errorf("logged %s", log)
	}
}

// TestEventsOfARunningProcess go out when they are released, and are counted up when
// their time has come; one that the server has forgotten is made anew.
func TestEventsOfARunningProcess(t *testing.T) {
	t.Parallel()
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	e := newTeller(t, shipped(t))
	stop := background(t, e.Run)
	e.Note(failed(key, "uid-1"))
	e.Note(failed(key, "uid-1"))
	<-time.After(300 * time.Millisecond)
	if n := e.Sent(); n != 0 {
		t.Errorf("%d requests in the middle of the cycle", n)
	}
	e.Release()
	labtest.Eventually(t, soon, func() error {
		if events := eventsIn(t, key.Namespace); len(events) != 1 || countOf(&events[0]) != 2 {
			return fmt.Errorf("%+v", events)
		}
		return nil
	})
	e.tell(failed(key, "uid-1"))
	<-time.After(300 * time.Millisecond)
	onlyEvent(t, key.Namespace, 2) // not yet
	e.hurry()
	labtest.Eventually(t, soon, func() error {
		if events := eventsIn(t, key.Namespace); countOf(&events[0]) != 3 {
			return fmt.Errorf("%+v", events)
		}
		return nil
	})
	if err := shared.Client(t).EventsV1().Events(key.Namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	e.tell(failed(key, "uid-1"))
	e.hurry()
	labtest.Eventually(t, soon, func() error {
		if events := eventsIn(t, key.Namespace); len(events) != 1 {
			return fmt.Errorf("%+v", events)
		}
		return nil
	})
	onlyEvent(t, key.Namespace, 1)
	stop()
}

// hurry makes all that waits due.
func (e *teller) hurry() {
	e.mu.Lock()
	for _, f := range e.queue.waiting {
		f.due = time.Time{}
	}
	e.mu.Unlock()
	e.news.fire()
}

// TestEventsWhoseAnswerIsLost are neither made twice nor counted twice.
func TestEventsWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	proxy := labtest.NewProxy(t, shared)
	e := newTeller(t, proxy.Kubeconfig(t, shipped(t)))
	proxy.Set(labtest.When(labtest.IsWrite, labtest.Times(1, labtest.AbortAnswer())))
	e.tell(failed(key, "uid-1"))
	e.flush()
	onlyEvent(t, key.Namespace, 1)
}

// TestEventsThatAreForbidden: one warning names the right that is missing, whatever
// the number of events, and nothing is sent after the first ones.
func TestEventsThatAreForbidden(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	e := newTeller(t, shared.ServiceAccount(t, namespace, "default"))
	for n := range 500 {
		e.tell(failed(plan.Key{Namespace: namespace, Name: fmt.Sprint("s-", n)}, "uid"))
	}
	e.flush()
	e.tell(failed(plan.Key{Namespace: namespace, Name: "later"}, "uid"))
	e.flush()
	log := e.log.String()
	if strings.Count(log, "\n") != 1 || !strings.Contains(log, "level=WARN msg=\"events can't be sent\"") ||
		!strings.Contains(log, `cannot create resource \"events\" in API group \"events.k8s.io\"`) ||
		!strings.Contains(log, "grant the rights in manifests/rbac.yaml") {
		t.Errorf("logged %s", log)
	}
	if n := e.Sent(); n < 1 || n > eventSenders {
		t.Errorf("%d requests", n)
	}
}

// TestEventsOfANamespaceThatGoes, or is gone, are nothing to speak of.
func TestEventsOfANamespaceThatGoes(t *testing.T) {
	t.Parallel()
	proxy := labtest.NewProxy(t, shared)
	e := newTeller(t, proxy.Kubeconfig(t, shipped(t)))
	gone := plan.Key{Namespace: "never-" + strings.ToLower(t.Name()[:10]), Name: "checkout"}
	e.tell(failed(gone, "uid-1"))
	e.flush()

	going := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	hold(t, going.Namespace)
	if err := shared.Client(t).CoreV1().Namespaces().Delete(t.Context(), going.Namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.tell(failed(going, "uid-1"))
	e.flush()
	if log := e.log.String(); log != "" || e.Sent() != 2 {
		t.Errorf("%d requests, logged %s", e.Sent(), log)
	}
}

// hold keeps a namespace that is deleted until the test's end.
func hold(t *testing.T, namespace string) {
	t.Helper()
	configmaps := shared.Client(t).CoreV1().ConfigMaps(namespace)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
	if _, err := configmaps.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		_, err := configmaps.Patch(ctx, held.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestEventsOfASlowServer: who notes doesn't wait, what there is no room for is
// dropped and told of once, and the end comes when it must.
func TestEventsOfASlowServer(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	proxy := labtest.NewProxy(t, shared)
	e := newTeller(t, proxy.Kubeconfig(t, shipped(t)))
	proxy.Set(labtest.Delay(time.Hour))
	stop := background(t, e.Run)
	began := time.Now()
	const noted = mostEvents + 1000
	for n := range noted {
		e.tell(failed(plan.Key{Namespace: namespace, Name: fmt.Sprint("s-", n)}, "uid"))
	}
	if took := time.Since(began); took > soon {
		t.Errorf("noting %d facts took %v", noted, took)
	}
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	e.Flush(ctx)
	if took := time.Since(began); took > 2*soon {
		t.Errorf("the end took %v", took)
	}
	log := e.log.String()
	if want := fmt.Sprintf("count=%d", noted); strings.Count(log, "\n") != 1 || !strings.Contains(log, "events were dropped") || !strings.Contains(log, want) {
		t.Errorf("logged %s, want %s", log, want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue.facts) > 0 || e.sending != 0 {
		t.Errorf("%d facts are left, %d are being sent", len(e.queue.facts), e.sending)
	}
}

// TestEventsWaitForTheServer: one that has failed a few times has them all the same.
func TestEventsWaitForTheServer(t *testing.T) {
	t.Parallel()
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	proxy := labtest.NewProxy(t, shared)
	e := newTeller(t, proxy.Kubeconfig(t, shipped(t)))
	proxy.Set(labtest.Times(2, labtest.Respond(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)))
	e.tell(failed(key, "uid-1"))
	e.flush()
	onlyEvent(t, key.Namespace, 1)
	if n := e.Sent(); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestEventsWithoutLeave: none is started once the lease is lost, and none of them
// comes later.
func TestEventsWithoutLeave(t *testing.T) {
	t.Parallel()
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	e := newTeller(t, shipped(t))
	e.lost.Store(true)
	e.tell(failed(key, "uid-1"), failed(key, "uid-2"))
	e.flush()
	e.lost.Store(false)
	e.flush()
	if n := e.Sent(); n != 0 || e.log.String() != "" {
		t.Errorf("%d requests, logged %s", n, e.log.String())
	}
}

// TestEventsOfHostileText are taken by the server.
func TestEventsOfHostileText(t *testing.T) {
	t.Parallel()
	namespace := shared.Namespace(t)
	e := newTeller(t, shipped(t))
	event := plan.Event{Key: plan.Key{Namespace: namespace, Name: strings.Repeat("a", 240)}, Reason: v1.EventFailed,
		Note: "\x1b]0;title\x07 \xff " + strings.Repeat("é\n", 2000)}
	e.tell(event)
	e.flush()
	got := onlyEvent(t, namespace, 1)
	if len(got.Note) > 1024 || !strings.HasPrefix(got.Note, "�]0;title� � é é") || e.log.String() != "" {
		t.Errorf("note %q, logged %s", got.Note, e.log.String())
	}
}
