package kube

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/manifests"
)

// TestSimulate holds plan.Simulate against the API server: from each beginning, steps
// are taken until there is nothing left to do, and after each the server must have
// what was simulated. So what plan shows is what comes of it. As a dry run, each step
// has the same answer, and changes nothing.
func TestSimulate(t *testing.T) {
	shared.Apply(t, manifests.CRD())
	for _, c := range []struct {
		name string
		// begin is done by others before the first step.
		begin func(*simulation)
		file  *plan.Desired // nil: the object is to go
		steps int
	}{
		{"a new object", func(*simulation) {}, file("a:1", 2), 3},
		{"another image", func(s *simulation) { s.settle(file("a:1", 2)) }, file("a:2", 2), 3},
		{"replicas that the file drops", func(s *simulation) { s.settle(file("a:1", 2)) }, file("a:1", -1), 3},
		{"labels that the file drops, one of which somebody else owns as well", func(s *simulation) {
			s.settle(labelled(file("a:1", 2), "team", "a", "zone", "z"))
			s.edit(`{"metadata": {"labels": {"team": "b"}}}`)
			s.edit(`{"metadata": {"labels": {"team": "a"}}}`)
		}, file("a:1", 2), 1},
		{"a label that somebody else has changed", func(s *simulation) {
			s.settle(labelled(file("a:1", 2), "team", "a"))
			s.edit(`{"metadata": {"labels": {"team": "b", "other": "yes"}}}`)
		}, labelled(file("a:1", 2), "team", "a"), 1},
		{"an image that somebody has set", func(s *simulation) {
			s.settle(file("a:1", 2))
			s.edit(`{"spec": {"image": "hand", "tier": "prod"}}`)
		}, file("a:1", 2), 3},
		{"the same image, set by somebody", func(s *simulation) {
			s.settle(file("a:1", 2))
			s.edit(`{"spec": {"image": "hand"}}`)
			s.edit(`{"spec": {"image": "a:1"}}`)
		}, file("a:1", 2), 2},
		{"what somebody else owns stays when the file drops it", func(s *simulation) {
			s.settle(file("a:1", 2))
			s.edit(`{"spec": {"replicas": 5}}`)
		}, file("a:1", -1), 2},
		{"made by kubectl apply", func(s *simulation) {
			kubectlApply(s.t, s.key, "v1", ", labels: {by: hand}", "image: 'a:1', replicas: 3, tier: prod")
		}, file("a:1", 2), 4},
		{"our finalizer comes", func(s *simulation) { s.settle(file("a:1", 2)) }, finalized(file("a:1", 2)), 1},
		{"our finalizer goes", func(s *simulation) { s.settle(finalized(file("a:1", 2))) }, file("a:1", 2), 1},
		{"the file goes", func(s *simulation) { s.settle(file("a:1", 2)) }, nil, 1},
		{"the file goes, and our finalizer is there", func(s *simulation) { s.settle(finalized(file("a:1", 2))) }, nil, 3},
		{"the ConfigMap has drifted", func(s *simulation) {
			s.settle(file("a:1", 2))
			s.editChild(`{"data": {"image": "hand", "more": "x"}, "metadata": {"labels": {"theirs": "yes"}}}`)
		}, file("a:1", 2), 1},
		{"the ConfigMap is immutable", func(s *simulation) {
			s.settle(file("a:1", 2))
			s.editChild(`{"immutable": true, "data": {"image": "hand"}}`)
		}, file("a:1", 2), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &simulation{t: t, key: plan.Key{Namespace: shared.Namespace(t), Name: "web"}}
			c.begin(s)
			if taken := s.settle(c.file); taken != c.steps {
				t.Errorf("%d steps, want %d: %s", taken, c.steps, strings.Join(s.steps, ", "))
			}
		})
	}
}

// simulation is one object on the server.
type simulation struct {
	t     *testing.T
	key   plan.Key
	steps []string
}

// file is one with that image; replicas below 0 aren't stated.
func file(image string, replicas int32) *plan.Desired {
	d := &plan.Desired{Image: image, Labels: map[string]string{v1.SourceLabel: "default"}, Digest: fmt.Sprint(image, replicas)}
	if replicas >= 0 {
		d.Replicas = &replicas
	}
	return d
}

func labelled(d *plan.Desired, pairs ...string) *plan.Desired {
	for i := 0; i < len(pairs); i += 2 {
		d.Labels[pairs[i]] = pairs[i+1]
	}
	return d
}

func finalized(d *plan.Desired) *plan.Desired {
	d.Finalizers = []string{v1.CleanupFinalizer}
	return d
}

func (s *simulation) edit(patch string) {
	s.t.Helper()
	shared.Kubectl(s.t, "patch", "webservice", s.key.Name, "-n", s.key.Namespace, "--type=merge", "--field-manager=somebody", "-p", patch)
}

func (s *simulation) editChild(patch string) {
	s.t.Helper()
	shared.Kubectl(s.t, "patch", "configmap", v1.ChildName(s.key.Name), "-n", s.key.Namespace, "--type=merge", "--field-manager=somebody", "-p", patch)
}

// look reads the server anew, by a cluster that can also write.
func (s *simulation) look(d *plan.Desired) (*Cluster, plan.Input) {
	s.t.Helper()
	c := connect(s.t, shared.Kubeconfig)
	c.gate = allowed
	if err := c.Read(s.t.Context(), soon); err != nil {
		s.t.Fatal(err)
	}
	in := plan.Input{
		Key: s.key, Known: true, Desired: d, Now: time.Now(),
		Policy: &plan.Policy{SourceName: "default", Unlabelled: true, Prune: plan.PrunePolicy{Enabled: true}},
	}
	if d == nil {
		in.Removal = plan.Removal{State: plan.RemovalAllowed, Reason: "its file is gone"}
	}
	c.Look(s.key, &in)
	return c, in
}

// settle takes steps until none is left, and compares each with its simulation. The
// ones before the last call are forgotten.
func (s *simulation) settle(d *plan.Desired) int {
	s.t.Helper()
	const most = 10
	s.steps = nil
	for range most {
		c, in := s.look(d)
		decision := plan.Decide(&in)
		if decision.Verdict() {
			return len(s.steps)
		}
		s.steps = append(s.steps, decision.Step.Kind.String())
		want := plan.Simulate(&in, &decision.Step, strconv.Itoa(len(s.steps)))
		s.try(c, &in, &want, &decision.Step)
		if _, err := c.Do(s.t.Context(), s.key, &decision.Step); err != nil {
			s.t.Fatal(err)
		}
		labtest.Eventually(s.t, soon, func() error { // the collector takes a moment
			if _, got := s.look(d); told(s.t, &got) != told(s.t, &want) {
				return fmt.Errorf("to %s: simulated\n%s\nand the server has\n%s", decision.Step.Kind, told(s.t, &want), told(s.t, &got))
			}
			return nil
		})
	}
	s.t.Fatalf("no rest after %q", s.steps)
	return 0
}

// try has the server judge a step that want was simulated of.
func (s *simulation) try(c *Cluster, in, want *plan.Input, step *plan.Step) {
	s.t.Helper()
	answer, err := c.Try(s.t.Context(), s.key, step)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.Live.Exists() || answer.Child.Exists() {
		got := *in
		if got.Take(&answer); told(s.t, &got) != told(s.t, want) {
			s.t.Errorf("to %s: simulated\n%s\nand tried\n%s", step.Kind, told(s.t, want), told(s.t, &got))
		}
	}
	if _, after := s.look(in.Desired); told(s.t, &after) != told(s.t, in) {
		s.t.Errorf("a dry run to %s has changed something", step.Kind)
	}
}

// told is all that matters of an object and its ConfigMap, without what only the
// server can give.
func told(t *testing.T, in *plan.Input) string {
	t.Helper()
	ws, child := in.Live.WebService.DeepCopy(), in.Child
	if ws != nil {
		ws.TypeMeta, ws.UID, ws.ResourceVersion, ws.CreationTimestamp = metav1.TypeMeta{}, "", "", metav1.Time{}
		ws.DeletionGracePeriodSeconds = nil
		if ws.DeletionTimestamp != nil {
			ws.DeletionTimestamp = &metav1.Time{}
		}
	}
	owners := make([]string, 0, len(child.Owners))
	for _, o := range child.Owners {
		owners = append(owners, fmt.Sprint(o.Kind, o.Name, *o.Controller, in.Live.Exists() && o.UID == in.Live.UID))
	}
	text, err := json.MarshalIndent([]any{ws, in.Live.Fields, child.Exists(), child.Data, child.Labels, owners, child.Managed, child.Immutable}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
