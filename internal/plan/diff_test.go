package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// firstDiff is the first step on an object, as Diff tells it.
func firstDiff(in *Input) (StepKind, []string) {
	d := Decide(in)
	after := Simulate(in, &d.Step, "1")
	return d.Step.Kind, written(Diff(&d, in, &after))
}

// written writes diffs down: "-" is a side that isn't there.
func written(diffs []FieldDiff) []string {
	side := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	var out []string
	for _, f := range diffs {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s > %s %s %s", f.Path, side(f.From), side(f.To), f.By, f.Why)))
	}
	return out
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Input)
		step   StepKind
		want   []string
	}{
		{"a new object, with what the file doesn't state", func(in *Input) {
			in.Live, in.Child = Live{}, Child{}
			in.Desired.Replicas = nil
			in.Desired.Annotations = map[string]string{"note": "x"}
		}, StepApply, []string{
			"spec.image - > nginx:1.27",
			"spec.replicas - > 1  default",
			"spec.tier - > dev  default",
			"metadata.annotations[note] - > x",
			"metadata.labels[webservice.labhub.io/source] - > main",
		}},
		{"another image", func(in *Input) { in.Desired.Image = newImage }, StepApply,
			[]string{"spec.image nginx:1.27 > nginx:1.28"}},
		{"an image that somebody has set", func(in *Input) {
			in.Live.Spec.Image, in.Live.Fields.Image, in.Live.Fields.ImageBy = handImage, false, "kubectl-edit"
		}, StepApply, []string{"spec.image nginx:handmade > nginx:1.27 kubectl-edit"}},
		{"the same image, set by somebody", func(in *Input) {
			in.Live.Fields.Image, in.Live.Fields.ImageBy = false, "kubectl-edit"
		}, StepApply, []string{"spec.image nginx:1.27 > nginx:1.27 kubectl-edit owned"}},
		{"replicas that the file drops", func(in *Input) { in.Desired.Replicas = nil }, StepApply,
			[]string{"spec.replicas 3 > 1  dropped"}},
		{"replicas that the file drops and somebody else owns as well", func(in *Input) {
			in.Desired.Replicas, in.Live.Fields.ReplicasBy = nil, "scaler"
		}, StepApply, []string{"spec.replicas 3 > 3  dropped"}},
		{"labels that come and go, before our finalizer", func(in *Input) {
			in.Live.Labels["old"] = "x"
			in.Live.Fields.Labels = []string{"old", sourceLabel}
			in.Desired.Labels = with(in.Desired.Labels, "new", "y")
			in.Desired.Finalizers = []string{finalizer}
		}, StepApply, []string{
			"metadata.finalizers[webservice.labhub.io/cleanup] - > webservice.labhub.io/cleanup",
			"metadata.labels[new] - > y",
			"metadata.labels[old] x > -  dropped",
		}},
		{"a new ConfigMap", func(in *Input) { in.Child = Child{} }, StepCreateChild, []string{
			"data.image - > nginx:1.27", "data.replicas - > 3", "data.tier - > dev",
			"metadata.labels[app.kubernetes.io/managed-by] - > webservice-controller",
			"metadata.ownerReferences[controller] - > uid-live",
		}},
		{"a ConfigMap that has drifted", func(in *Input) { in.Child.Data["image"], in.Child.Data["more"] = "x", "y" }, StepUpdateChild,
			[]string{"data.image x > nginx:1.27", "data.more y > -"}},
		{"a status that speaks of an earlier spec", func(in *Input) { in.Live.Status = statusState(staleStatus) }, StepWriteStatus, []string{
			"status.conditions[type=Ready].observedGeneration 3 > 4", "status.observedGeneration 3 > 4", "status.replicas 2 > 3",
		}},
		{"an object that is to go", func(in *Input) {
			in.Desired, in.Policy.Prune.Enabled = nil, true
			in.Removal = Removal{State: RemovalAllowed, Reason: "its file is gone"}
		}, StepDelete, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(in)
			if step, got := firstDiff(in); step != c.step || !slices.Equal(got, c.want) {
				t.Errorf("to %s:\n%s\nwant\n%s", step, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Of an object that doesn't exist yet, the ConfigMap can't name the uid.
func TestDiffOfWhatIsntThere(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Live, in.Child = Live{}, Child{}
	d := Decide(in)
	after := Simulate(in, &d.Step, "1")
	_, got := firstDiff(&after)
	if want := "metadata.ownerReferences[controller] - > " + Unknown; !slices.Contains(got, want) {
		t.Errorf("the diffs %q have no %q", got, want)
	}
}

// A webhook that changes what is applied shows, whether the file states the field or not.
func TestDiffOfWhatTheServerChanges(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Desired.Image = newImage
	d := Decide(in)
	after := Simulate(in, &d.Step, "1")
	after.Live.Spec.Image, after.Live.Labels = mutatedImage, with(after.Live.Labels, "injected", "yes")
	want := []string{"spec.image nginx:1.27 > mutated:1  server", "metadata.labels[injected] - > yes  server"}
	if got := written(Diff(&d, in, &after)); !slices.Equal(got, want) {
		t.Errorf("the diffs %q, want %q", got, want)
	}
}
