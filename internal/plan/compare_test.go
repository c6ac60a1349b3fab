package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// told writes a field down: want|have|owners, "-" for a side that isn't there, and
// "!" in front where they differ.
func told(s *FieldState) string {
	side := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	mark := ""
	if s.Differs {
		mark = "!"
	}
	return fmt.Sprintf("%s%s|%s|%s", mark, side(s.Want), side(s.Have), strings.Join(s.Owners, "+"))
}

// fieldOf finds a field; "" is one that isn't listed.
func fieldOf(states []FieldState, on Target, path string) string {
	for i := range states {
		if states[i].Target == on && states[i].Path == path {
			return told(&states[i])
		}
	}
	return ""
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const ours = "webservice-controller"
	for _, c := range []struct {
		name   string
		change func(*Input)
		on     Target
		path   string
		want   string
	}{
		{"as the file says", func(*Input) {}, WebService, "spec.image", "nginx:1.27|nginx:1.27|" + ours},
		{"changed by hand", func(in *Input) {
			in.Live.Spec.Image, in.Live.Fields.Image, in.Live.Fields.ImageBy = handImage, false, "kubectl-edit"
		}, WebService, "spec.image", "!nginx:1.27|nginx:handmade|kubectl-edit"},
		{"the same value, owned by somebody else", func(in *Input) {
			in.Live.Fields.Image, in.Live.Fields.ImageBy = false, "kubectl-edit"
		}, WebService, "spec.image", "!nginx:1.27|nginx:1.27|kubectl-edit"},
		{"owned by both", func(in *Input) { in.Live.Fields.ImageBy = "kubectl-edit" }, WebService, "spec.image",
			"nginx:1.27|nginx:1.27|" + ours + "+kubectl-edit"},
		{"the file doesn't state it", func(in *Input) { in.Desired.Replicas, in.Live.Fields.Replicas = nil, false },
			WebService, "spec.replicas", "-|3|"},
		{"the file dropped it", func(in *Input) { in.Desired.Replicas = nil }, WebService, "spec.replicas", "!-|3|" + ours},
		{"no object yet", func(in *Input) { in.Live, in.Child = Live{}, Child{} }, WebService, "spec.image", "!nginx:1.27|-|"},
		{"no file", func(in *Input) { in.Desired = nil }, WebService, "spec.image", "-|nginx:1.27|" + ours},
		{"a file that can't be used", func(in *Input) { in.Broken = true }, WebService, "spec.image", "-|nginx:1.27|" + ours},
		{"somebody's label", func(in *Input) {
			in.Live.Labels["hand"], in.Live.Fields.LabelsBy = "x", map[string]string{"hand": "kubectl-label"}
		}, WebService, "metadata.labels[hand]", "-|x|kubectl-label"},
		{"somebody's finalizer", func(in *Input) {
			in.Live.Finalizers, in.Live.Fields.FinalizersBy = []string{"a/b"}, map[string]string{"a/b": "tool"}
		}, WebService, "metadata.finalizers[a/b]", "-|a/b|tool"},
		{"an annotation of the file", func(in *Input) { in.Desired.Annotations = map[string]string{"note": "x"} },
			WebService, "metadata.annotations[note]", "!x|old|"},

		{"ConfigMap as it should be", func(*Input) {}, ConfigMap, "data.image", "nginx:1.27|nginx:1.27|"},
		{"ConfigMap by its owners", func(in *Input) { in.Child.By = OwnersOf(ChildOwners{Image: "a, b"}) }, ConfigMap, "data.image",
			"nginx:1.27|nginx:1.27|a+b"},
		{"ConfigMap changed by hand", func(in *Input) { in.Child.Data["image"] = "x" }, ConfigMap, "data.image", "!nginx:1.27|x|"},
		{"ConfigMap with more", func(in *Input) { in.Child.Data["more"] = "x" }, ConfigMap, "data.more", "!-|x|"},
		{"ConfigMap that isn't there", func(in *Input) { in.Child = Child{} }, ConfigMap, "data.tier", "!dev|-|"},
		{"ConfigMap without an object", func(in *Input) { in.Live, in.Child = Live{}, Child{} }, ConfigMap, "data.tier", ""},
		{"ConfigMap of a deleted object", func(in *Input) { in.Live.DeletionTimestamp = new(metav1.NewTime(startNow)) },
			ConfigMap, "data.tier", "-|dev|"},

		{"status as it should be", func(in *Input) { in.Live.Fields.Status = OwnersOf(StatusOwners{Replicas: ours}) },
			WebService, "status.replicas", "3|3|" + ours},
		{"status behind", func(in *Input) { in.Live.Status.ObservedGeneration = 1 }, WebService, "status.observedGeneration", "!4|1|"},
		{"not ready", func(in *Input) { in.Live.Status.Conditions[0].Status = "False" }, WebService,
			"status.conditions[type=Ready].status", "!True|False|"},
		{"no replicas at all", func(in *Input) {
			in.Desired.Replicas, in.Live.Spec.Replicas, in.Live.Status.Replicas = new(int32(0)), new(int32(0)), 0
		}, WebService, "status.replicas", "0|0|"},
		{"status of a suspended object", func(in *Input) { in.Live.Annotations = map[string]string{v1.ReconcileAnnotation: "disabled"} },
			WebService, "status.replicas", "-|3|"},
		{"status of another source's object", func(in *Input) { in.Live.Labels[sourceLabel] = "other" },
			WebService, "status.replicas", "-|3|"},
	} {
		in := convergedInput()
		c.change(in)
		if got := fieldOf(Compare(in), c.on, c.path); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.name, c.path, got, c.want)
		}
	}
}

// Nothing differs in a converged object, and the fields stand as in a manifest.
func TestCompareOrder(t *testing.T) {
	t.Parallel()
	var paths []string
	states := Compare(convergedInput())
	for i := range states {
		if states[i].Differs {
			t.Errorf("%s differs: %s", states[i].Path, told(&states[i]))
		}
		paths = append(paths, states[i].Path)
	}
	want := []string{
		"spec.image", "spec.replicas", "spec.tier",
		"metadata.annotations[note]", "metadata.labels[tool.example.org/keep]", "metadata.labels[webservice.labhub.io/source]",
		"status.conditions[type=Ready].message", "status.conditions[type=Ready].observedGeneration",
		"status.conditions[type=Ready].reason", "status.conditions[type=Ready].status",
		"status.observedGeneration", "status.replicas",
		"data.image", "data.replicas", "data.tier", "metadata.labels[app.kubernetes.io/managed-by]",
		"metadata.labels[tool.example.org/keep]", "metadata.ownerReferences[controller]",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("fields %q", paths)
	}
}

// Comparing never says that an object is as it should be where Decide has something
// to write to spec or ConfigMap.
func TestCompareAgreesWithDecide(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Now = in.Now.Add(time.Hour)
	if d := Decide(in); !d.Verdict() {
		t.Fatal(d.Reason)
	}
	for name, change := range map[string]func(*Input){
		"image": func(in *Input) { in.Desired.Image = newImage }, "owner": func(in *Input) { in.Live.Fields.Tier = !in.Live.Fields.Tier },
		"child": func(in *Input) { in.Child.Data["tier"] = "x" }, "uid": func(in *Input) { in.Child.Owners[0].Controller = nil },
	} {
		in := convergedInput()
		change(in)
		d := Decide(in)
		differs := slices.ContainsFunc(Compare(in), func(s FieldState) bool { return s.Differs })
		if differs == d.Verdict() {
			t.Errorf("%s: differs %t, and the decision is %s: %s", name, differs, d.Action, d.Reason)
		}
	}
}
