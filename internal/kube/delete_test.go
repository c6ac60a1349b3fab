package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// made creates a WebService as we do, and waits until the watch has told of it.
func made(t *testing.T, c *Cluster, name string) (plan.Key, plan.Live) {
	t.Helper()
	key := plan.Key{Namespace: shared.Namespace(t), Name: name}
	answer, err := c.Do(t.Context(), key, &plan.Step{Kind: plan.StepApply, Desired: &plan.Desired{Image: "nginx:1.27"}})
	if err != nil {
		t.Fatal(err)
	}
	settles(t, c, key, answer.Live.UID)
	return key, answer.Live
}

// settles waits until the watches have told of all, and the object with that uid
// is what is known of key; "" is none.
func settles(t *testing.T, c *Cluster, key plan.Key, uid types.UID) {
	t.Helper()
	labtest.Eventually(t, soon, func() error {
		var in plan.Input
		fresh := c.Look(key, &in)
		var seen types.UID
		if in.Live.Exists() {
			seen = in.Live.UID
		}
		if seen != uid || !fresh || !c.CaughtUp() {
			return fmt.Errorf("seen %q, want %q; fresh %t, caught up %t", seen, uid, fresh, c.CaughtUp())
		}
		return nil
	})
}

func deletion(live plan.Live) *plan.Step {
	return &plan.Step{Kind: plan.StepDelete, UID: live.UID, ResourceVersion: live.ResourceVersion}
}

// onServer is the error of looking for the object on the server itself.
func onServer(t *testing.T, key plan.Key) error {
	t.Helper()
	_, err := admin(t).Resource(v1.GroupVersionResource()).Namespace(key.Namespace).Get(t.Context(), key.Name, metav1.GetOptions{})
	return err
}

// byOthers deletes the object as somebody else.
func byOthers(t *testing.T, key plan.Key) {
	t.Helper()
	if err := admin(t).Resource(v1.GroupVersionResource()).Namespace(key.Namespace).Delete(t.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestDelete: the object is gone at once for the next look, by one request. One
// that is gone already counts as done.
func TestDelete(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	key, live := made(t, c, "checkout")
	mark := shared.Audit().Mark(t)
	for range 2 {
		answer, err := c.Do(t.Context(), key, deletion(live))
		if err != nil || answer.Live.Exists() {
			t.Errorf("%v, answer %+v", err, answer)
		}
		if now, _ := c.webservices.get(key); now.Exists() {
			t.Error("it still shows")
		}
		if err := onServer(t, key); !apierrors.IsNotFound(err) {
			t.Errorf("on the server: %v", err)
		}
		settles(t, c, key, "")
	}
	if sent := shared.Audit().Requests(t, agent(t), mark); len(sent) != 2 || sent[0].Verb != "delete" {
		t.Errorf("sent %+v", sent)
	}
}

// TestDeleteHeld: an object that finalizers hold is still there, being deleted.
func TestDeleteHeld(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	key, live := made(t, c, "checkout")
	edit(t, key, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	labtest.Eventually(t, soon, func() error {
		if live, _ = c.webservices.get(key); len(live.Finalizers) == 0 {
			return errors.New("the finalizer hasn't been seen")
		}
		return nil
	})
	answer, err := c.Do(t.Context(), key, deletion(live))
	if now, _ := c.webservices.get(key); err != nil || !answer.Live.Terminating() || !now.Terminating() {
		t.Errorf("%v, being deleted by the answer %t, for a look %t", err, answer.Live.Terminating(), now.Terminating())
	}
	settles(t, c, key, live.UID)
	edit(t, key, `{"metadata":{"finalizers":null}}`)
	settles(t, c, key, "")
}

// TestDeleteRefused: a policy that forbids it is the server's own judgement.
func TestDeleteRefused(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	key, live := made(t, c, "checkout")
	refuseDeletes(t, key)
	_, err := c.Do(t.Context(), key, deletion(live))
	is(t, err, plan.Refused)
	if err == nil || !strings.Contains(err.Error(), "this one stays") {
		t.Errorf("the policy's own words are lost: %v", err)
	}
	settles(t, c, key, live.UID)
}

// refuseDeletes makes the server refuse every deletion of WebServices in key's
// namespace until the test's end, and waits until it does so.
func refuseDeletes(t *testing.T, key plan.Key) {
	t.Helper()
	shared.Apply(t, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
      - {apiGroups: [apps.labhub.io], apiVersions: [v1], operations: [DELETE], resources: [webservices]}
  validations:
    - {expression: "false", message: this one stays}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, key.Namespace))
	bindings := admin(t).Resource(schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings",
	})
	t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(t.Context()), key.Namespace, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	objects := admin(t).Resource(v1.GroupVersionResource()).Namespace(key.Namespace)
	labtest.Eventually(t, recovery, func() error {
		err := objects.Delete(t.Context(), key.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("the policy isn't at work yet")
		}
		return nil
	})
}

func isDelete(r *http.Request) bool { return r.Method == http.MethodDelete }

// TestDeleteUnheard: the server has deleted it and its answer is lost. The watch
// tells.
func TestDeleteUnheard(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	proxy := labtest.NewProxy(t, shared)
	c := look(t, proxy.Kubeconfig(t, account))
	key, live := made(t, c, "checkout")
	proxy.Set(labtest.When(isDelete, labtest.AbortAnswer()))
	_, err := c.Do(t.Context(), key, deletion(live))
	is(t, err, plan.Unavailable)
	settles(t, c, key, "")
}

// TestDeleteAnsweredByAnother: a proxy that knows no such path says nothing about
// the object.
func TestDeleteAnsweredByAnother(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	proxy := labtest.NewProxy(t, shared)
	c := look(t, proxy.Kubeconfig(t, account))
	key, live := made(t, c, "checkout")
	proxy.Set(labtest.When(isDelete, func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) }))
	if _, err := c.Do(t.Context(), key, deletion(live)); err == nil {
		t.Error("it counts as deleted")
	}
	settles(t, c, key, live.UID)
}

// TestDeleteToldFirst: the watch tells of the end before the answer comes, and even
// of another object of that name.
func TestDeleteToldFirst(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	for _, anew := range []bool{false, true} {
		t.Run(fmt.Sprintf("made anew %t", anew), func(t *testing.T) {
			proxy := labtest.NewProxy(t, shared)
			c := look(t, proxy.Kubeconfig(t, account))
			key, live := made(t, c, "checkout")
			answer := make(chan struct{})
			proxy.Set(labtest.When(isDelete, labtest.RewriteResponse(func(body []byte) []byte {
				<-answer
				return body
			})))
			failed := make(chan error, 1)
			go func() {
				_, err := c.Do(t.Context(), key, deletion(live))
				failed <- err
			}()
			settles(t, c, key, "")
			var uid types.UID
			if anew {
				shared.Apply(t, fmt.Appendf(nil, "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: checkout, namespace: %s}\nspec: {image: x}\n", key.Namespace))
				labtest.Eventually(t, soon, func() error {
					now, _ := c.webservices.get(key)
					if !now.Exists() {
						return errors.New("the new one hasn't been seen")
					}
					uid = now.UID
					return nil
				})
			}
			close(answer)
			if err := <-failed; err != nil {
				t.Error(err)
			}
			settles(t, c, key, uid)
		})
	}
}

// TestDeleteMissed: deletions that happen while no watch is open, ours and
// others', and of which no watch will tell any more. The next list does.
func TestDeleteMissed(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	proxy := labtest.NewProxy(t, shared)
	c := look(t, proxy.Kubeconfig(t, account))
	mine, live := made(t, c, "mine")
	theirs, _ := made(t, c, "theirs")
	isOf := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/"+v1.Resource) }
	proxy.Set(labtest.When(isOf, labtest.Respond(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)))
	proxy.CutConnections(t)
	labtest.Eventually(t, recovery, func() error {
		if c.State() == nil {
			return errors.New("the watch is still open")
		}
		return nil
	})
	if _, err := c.Do(t.Context(), mine, deletion(live)); err != nil {
		t.Fatal(err)
	}
	if now, fresh := c.webservices.get(mine); now.Exists() || fresh {
		t.Errorf("shows %t, fresh %t", now.Exists(), fresh)
	}
	byOthers(t, theirs)

	expired := labtest.Times(1, labtest.Respond(http.StatusGone, metav1.StatusReasonExpired))
	proxy.Set(labtest.When(func(r *http.Request) bool { return isOf(r) && labtest.IsWatch(r) }, expired))
	labtest.Eventually(t, recovery, c.State)
	settles(t, c, mine, "")
	settles(t, c, theirs, "")
}
