package plan

import (
	"reflect"
	"strings"
	"testing"
)

// TestDrift starts from a file and a live object that agree; each row changes
// one side.
func TestDrift(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Desired, *Live)
		want   []Change
	}{
		{"nothing", func(*Desired, *Live) {}, nil},
		{"image differs", func(d *Desired, _ *Live) { d.Image = newImage }, []Change{{Path: "spec.image", From: image, To: newImage}}},
		{"image changed by someone", func(_ *Desired, l *Live) {
			l.Spec.Image, l.Fields.Image, l.Fields.ImageBy = handImage, false, "kubectl-edit"
		}, []Change{{Path: "spec.image", From: handImage, To: image, By: "kubectl-edit"}}},
		{"image of the right value owned by someone", func(_ *Desired, l *Live) {
			l.Fields.Image, l.Fields.ImageBy = false, "kubectl-edit"
		}, []Change{{Path: "spec.image", From: image, To: image, By: "kubectl-edit"}}},
		{"image owned by us and someone", func(_ *Desired, l *Live) { l.Fields.ImageBy = "kubectl-edit" }, nil},
		{"image owned by nobody", func(_ *Desired, l *Live) { l.Fields.Image = false }, []Change{{Path: "spec.image", From: image, To: image}}},

		{"replicas differ", func(d *Desired, _ *Live) { d.Replicas = new(int32(0)) }, []Change{{Path: "spec.replicas", From: "3", To: "0"}}},
		{"replicas missing", func(_ *Desired, l *Live) { l.Spec.Replicas = nil }, []Change{{Path: "spec.replicas", To: "3", Missing: true}}},
		{"replicas scaled by someone", func(_ *Desired, l *Live) {
			l.Spec.Replicas, l.Fields.Replicas, l.Fields.ReplicasBy = new(int32(9)), false, "hpa"
		}, []Change{{Path: "spec.replicas", From: "9", To: "3", By: "hpa"}}},
		{"replicas no longer stated", func(d *Desired, _ *Live) { d.Replicas = nil }, []Change{{Path: "spec.replicas", From: "3", Dropped: true}}},
		{"replicas never stated", func(d *Desired, l *Live) { d.Replicas, l.Fields.Replicas = nil, false }, nil},

		{"tier not stated, filled in by the server", func(*Desired, *Live) {}, nil},
		{"tier stated, as filled in by the server", func(d *Desired, _ *Live) { d.Tier = new("dev") }, []Change{{Path: "spec.tier", From: "dev", To: "dev"}}},
		{"tier stated and ours", func(d *Desired, l *Live) { d.Tier, l.Fields.Tier = new("dev"), true }, nil},
		{"tier differs", func(d *Desired, l *Live) { d.Tier, l.Fields.Tier = new("prod"), true }, []Change{{Path: "spec.tier", From: "dev", To: "prod"}}},
		{"tier missing", func(d *Desired, l *Live) { d.Tier, l.Spec.Tier = new("dev"), "" }, []Change{{Path: "spec.tier", To: "dev", Missing: true}}},
		{"tier no longer stated", func(_ *Desired, l *Live) { l.Fields.Tier = true }, []Change{{Path: "spec.tier", From: "dev", Dropped: true}}},

		{"label of someone else", func(_ *Desired, l *Live) { l.Labels = with(l.Labels, "hand", "x") }, nil},
		{"label missing", func(d *Desired, _ *Live) { d.Labels = with(d.Labels, "team", "a") }, []Change{{Path: "metadata.labels[team]", To: "a", Missing: true}}},
		{"label with an empty value missing", func(d *Desired, _ *Live) { d.Labels = with(d.Labels, "team", "") }, []Change{{Path: "metadata.labels[team]", Missing: true}}},
		{"label changed by another manager", func(_ *Desired, l *Live) {
			l.Labels[sourceLabel], l.Fields.Labels, l.Fields.LabelsBy = "x", nil, map[string]string{sourceLabel: "kubectl-label"}
		}, []Change{{Path: "metadata.labels[" + sourceLabel + "]", From: "x", To: sourceName, By: "kubectl-label"}}},
		{"source label taken over by hand", func(_ *Desired, l *Live) { l.Fields.Labels = nil }, []Change{{Path: "metadata.labels[" + sourceLabel + "]", From: sourceName, To: sourceName}}},
		{"label no longer stated", func(_ *Desired, l *Live) {
			l.Labels, l.Fields.Labels = with(l.Labels, "team", "a"), []string{"team", sourceLabel}
		}, []Change{{Path: "metadata.labels[team]", From: "a", Dropped: true}}},

		{"annotation differs", func(d *Desired, l *Live) {
			d.Annotations, l.Fields.Annotations = map[string]string{"note": ""}, []string{"note"}
		}, []Change{{Path: "metadata.annotations[note]", From: "old"}}},
		{"annotation no longer stated", func(_ *Desired, l *Live) { l.Fields.Annotations = []string{"note"} }, []Change{{Path: "metadata.annotations[note]", From: "old", Dropped: true}}},

		{"finalizer missing", func(d *Desired, _ *Live) { d.Finalizers = []string{finalizer} }, []Change{{Path: "metadata.finalizers[" + finalizer + "]", To: finalizer, Missing: true}}},
		{"finalizer set by hand", func(d *Desired, l *Live) {
			d.Finalizers, l.Finalizers = []string{finalizer}, []string{finalizer}
		}, []Change{{Path: "metadata.finalizers[" + finalizer + "]", From: finalizer, To: finalizer}}},
		{"finalizer ours", func(d *Desired, l *Live) {
			d.Finalizers, l.Finalizers, l.Fields.Finalizers = []string{finalizer}, []string{finalizer}, []string{finalizer}
		}, nil},
		{"finalizer no longer stated", func(_ *Desired, l *Live) {
			l.Finalizers, l.Fields.Finalizers = []string{finalizer}, []string{finalizer}
		}, []Change{{Path: "metadata.finalizers[" + finalizer + "]", From: finalizer, Dropped: true}}},
		{"finalizer of someone else", func(_ *Desired, l *Live) { l.Finalizers = []string{"other.io/wait"} }, nil},

		{"several, in a fixed order", func(d *Desired, _ *Live) {
			d.Image, d.Labels = newImage, map[string]string{"z": "1", "a": "2", sourceLabel: sourceName}
		}, []Change{
			{Path: "spec.image", From: image, To: newImage},
			{Path: "metadata.labels[a]", To: "2", Missing: true},
			{Path: "metadata.labels[z]", To: "1", Missing: true},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(in.Desired, &in.Live)
			if got := Drift(in.Desired, &in.Live); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestChangeReadsAsEnglish(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Change{
		`spec.image is "nginx:1.26" and should be "nginx:1.27"`:                       {Path: "spec.image", From: "nginx:1.26", To: "nginx:1.27"},
		`spec.image is "nginx:1.26", set by kubectl-edit, and should be "nginx:1.27"`: {Path: "spec.image", From: "nginx:1.26", To: "nginx:1.27", By: "kubectl-edit"},
		`spec.image is as it should be, but kubectl-edit owns it and we don't`:        {Path: "spec.image", From: "a", To: "a", By: "kubectl-edit"},
		`metadata.labels[team] is as the file says, but the file doesn't own it yet`:  {Path: "metadata.labels[team]", From: "a", To: "a"},
		`spec.replicas is 3 and should be 5`:                                          {Path: "spec.replicas", From: "3", To: "5"},
		`spec.replicas is no longer in the file`:                                      {Path: "spec.replicas", From: "3", Dropped: true},
		`spec.tier is missing`:                                                        {Path: "spec.tier", To: "dev", Missing: true},
		`metadata.annotations[note] is "x" and should be ""`:                          {Path: "metadata.annotations[note]", From: "x"},
		`data.extra must not be there`:                                                {Path: "data.extra", From: "x", Extra: true},
		`metadata.annotations[note] is "two\nlines" and should be "one"`:              {Path: "metadata.annotations[note]", From: "two\nlines", To: "one"},
		`data.image is "` + strings.Repeat("é", 30) + `…" and should be "short"`:      {Path: "data.image", From: strings.Repeat("é", 40), To: "short"},
		`data.image is "x` + strings.Repeat("é", 29) + `…" and should be "short"`:     {Path: "data.image", From: "x" + strings.Repeat("é", 40), To: "short"},
		`data.image is "` + strings.Repeat("x", 60) + `" and should be "short"`:       {Path: "data.image", From: strings.Repeat("x", 60), To: "short"},
		`metadata.ownerReferences[controller] is "uid-old" and should be "uid-live"`:  {Path: "metadata.ownerReferences[controller]", From: "uid-old", To: "uid-live"},
		`metadata.finalizers[webservice.labhub.io/cleanup] is missing`:                {Path: "metadata.finalizers[" + finalizer + "]", To: finalizer, Missing: true},
	} {
		if got := c.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	changes := []Change{{Path: "a", Missing: true}, {Path: "b", Missing: true}, {Path: "c", Missing: true}, {Path: "d", Missing: true}}
	if got, want := sentence(changes), "a is missing; b is missing; c is missing; d is missing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	changes = append(changes, Change{Path: "e"}, Change{Path: "f"})
	if got, want := sentence(changes), "a is missing; b is missing; c is missing; d is missing; and 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := paths(changes), "a, b, c, d, e, f"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
