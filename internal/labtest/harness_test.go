package labtest

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestAuditTellsWhoAskedForWhat(t *testing.T) {
	namespace := shared.Namespace(t)
	config := shared.Config(t)
	config.UserAgent = "somebody/" + namespace
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.CoreV1().ConfigMaps(namespace)
	if _, err := configMaps.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	audit := shared.Audit()
	mark := audit.Mark(t)
	if _, err := configMaps.Create(t.Context(), configMap("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, _ = configMaps.Get(t.Context(), "missing", metav1.GetOptions{}) // what counts is what the log says of it
	watch, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	open := summary(audit.Requests(t, config.UserAgent, mark))
	watch.Stop()
	if err := configMaps.Delete(t.Context(), "seen", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "create seen 201, get missing 404, watch  200"
	if open != want {
		t.Errorf("with the watch open: got %s, want %s", open, want)
	}
	if got := summary(audit.Requests(t, config.UserAgent, mark)); got != want+", delete seen 200" {
		t.Errorf("got %s", got)
	}
	writes := audit.Count(t, mark, func(r Request) bool {
		return r.IsWrite() && r.UserAgent == config.UserAgent && r.Namespace == namespace && r.Resource == "configmaps" && r.User != ""
	})
	if writes != 2 {
		t.Errorf("got %d writes, want 2", writes)
	}
}

func summary(requests []Request) string {
	var lines []string
	for _, r := range requests {
		lines = append(lines, fmt.Sprintf("%s %s %d", r.Verb, r.Name, r.Code))
	}
	return strings.Join(lines, ", ")
}

func TestProxyFaults(t *testing.T) {
	namespace := shared.Namespace(t)
	proxy := NewProxy(t, shared)
	config := ConfigFrom(t, proxy.Kubeconfig(t, shared.Kubeconfig))
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	config.Timeout = time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	create := func(name string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), configMap(name), metav1.CreateOptions{})
		return err
	}
	there := func(name string) bool {
		_, err := shared.Client(t).CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	}
	rename := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(from), []byte(to)) }
	}
	for _, c := range []struct {
		name    string
		fault   Fault
		failed  func(error) bool
		created bool
	}{
		{"none", nil, noError, true},
		{"conflict", Respond(http.StatusConflict, metav1.StatusReasonConflict), apierrors.IsConflict, false},
		{"once", When(IsWrite, Times(1, Respond(http.StatusForbidden, metav1.StatusReasonForbidden))), apierrors.IsForbidden, false},
		{"reads", When(func(r *http.Request) bool { return !IsWrite(r) }, Abort()), noError, true},
		{"abort", Abort(), isError, false},
		{"lost", AbortAnswer(), isError, true},
		{"delay", Delay(time.Hour), isError, false},
		{"asked", RewriteRequest(rename(`"asked"`, `"ASKED"`)), apierrors.IsInvalid, false},
		{"answer", RewriteResponse(rename("{", "[")), isError, true},
	} {
		proxy.Set(c.fault)
		if err := create(c.name); !c.failed(err) {
			t.Errorf("%s: got error %v", c.name, err)
		}
		if there(c.name) != c.created {
			t.Errorf("%s: created: %v", c.name, !c.created)
		}
	}
	proxy.Set(nil)
	proxy.Down()
	if err := create("down"); err == nil || there("down") {
		t.Errorf("down: got %v", err)
	}
	proxy.Up(t)
	if err := create("up"); err != nil {
		t.Errorf("up: got %v", err)
	}
}

func TestProxyPassesWatchEventsAndCutsThem(t *testing.T) {
	namespace := shared.Namespace(t)
	proxy := NewProxy(t, shared)
	client := clientFor(t, proxy.Kubeconfig(t, shared.Kubeconfig))
	watch, err := client.CoreV1().ConfigMaps(namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	next := func() (open bool) {
		t.Helper()
		select {
		case _, open = <-watch.ResultChan():
			return open
		case <-time.After(drainTimeout):
			t.Fatal("nothing came")
			return false
		}
	}
	createConfigMap(t, shared, namespace, "event")
	if !next() {
		t.Fatal("the watch ended by itself")
	}
	proxy.CutConnections(t)
	if next() {
		t.Fatal("the watch goes on")
	}
}

func TestProxyKeepsTheCallersRights(t *testing.T) {
	namespace := shared.Namespace(t)
	proxy := NewProxy(t, shared)
	client := clientFor(t, proxy.Kubeconfig(t, shared.ServiceAccount(t, namespace, "nobody")))
	_, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("want forbidden for the account, got %v", err)
	}
}

func noError(err error) bool { return err == nil }

func isError(err error) bool { return err != nil }
