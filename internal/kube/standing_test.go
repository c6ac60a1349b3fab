package kube

import (
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// TestChildInTheWay: somebody else's ConfigMap is met by a creation that comes to
// nothing. From then on a look, one request, finds out whether it is still there.
func TestChildInTheWay(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	c := look(t, account)
	key, live := made(t, c, "checkout")
	step := &plan.Step{Kind: plan.StepCreateChild, Child: &plan.ChildContent{Data: map[string]string{"image": live.Spec.Image}}}
	shared.Kubectl(t, "create", "configmap", "checkout-desired", "-n", key.Namespace)
	for _, try := range []struct {
		name          string
		look          bool
		reads, writes int64
	}{
		{"not known yet", false, 1, 1},
		{"known", true, 1, 0},
	} {
		reads, writes := c.Requests()
		answer, err := c.Do(t.Context(), key, withLook(step, try.look))
		if err != nil || !answer.Found || !answer.Child.Exists() {
			t.Fatalf("%s: %+v, %v", try.name, answer, err)
		}
		r, w := c.Requests()
		if r-reads != try.reads || w-writes != try.writes {
			t.Errorf("%s: %d reads, %d writes; want %d, %d", try.name, r-reads, w-writes, try.reads, try.writes)
		}
	}
	shared.Kubectl(t, "delete", "configmap", "checkout-desired", "-n", key.Namespace)
	answer, err := c.Do(t.Context(), key, withLook(step, true))
	if err != nil || answer.Found || !answer.Child.Exists() {
		t.Errorf("out of the way: %+v, %v", answer, err)
	}
}

func withLook(step *plan.Step, look bool) *plan.Step {
	s := *step
	s.Look = look
	return &s
}

// TestForeignChildIsLookedAt: an object that fails for ever, since a ConfigMap
// stands in its way, is one request a try.
func TestForeignChildIsLookedAt(t *testing.T) {
	account := shipped(t)
	onlyCRD(t, manifests.CRD())
	key := plan.Key{Namespace: shared.Namespace(t), Name: "checkout"}
	shared.Kubectl(t, "create", "configmap", "checkout-desired", "-n", key.Namespace)
	c := connect(t, account)
	r := work(t, c)
	r.take("nginx:1.27", key)
	r.fails(key)
	before, _ := c.Requests()
	quiet(t, 3*time.Second)
	if after, _ := c.Requests(); after == before {
		t.Error("nobody has looked whether it is still there")
	}
}
