package plan

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestContests: five times within a minute are let pass; then the field rests
// until the first of the five is a minute old.
func TestContests(t *testing.T) {
	t.Parallel()
	image, child := []Change{{Path: "spec.image"}}, []Change{{Path: "configmap", Missing: true}}
	both := []Change{{Path: "spec.image"}, {Path: "metadata.labels[a]"}}
	type take struct {
		at      time.Duration
		changes []Change
	}
	every := func(step time.Duration, n int, changes []Change) (out []take) {
		for i := range n {
			out = append(out, take{time.Duration(i) * step, changes})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		takes []take
		at    time.Duration
		paths []string
		free  time.Duration
	}{
		{"never", nil, 0, nil, 0},
		{"four times", every(time.Second, 4, image), 4 * time.Second, nil, 0},
		{"five times", every(time.Second, 5, image), 5 * time.Second, []string{"spec.image"}, 55 * time.Second},
		{"five times at once", every(0, 5, image), 0, []string{"spec.image"}, time.Minute},
		{"five times, just before there is room", every(time.Second, 5, image), time.Minute - 1, []string{"spec.image"}, 1},
		{"five times, then room for one", every(time.Second, 5, image), time.Minute, nil, 0},
		{"five times, one taken of the room", append(every(time.Second, 5, image), take{time.Minute, image}), time.Minute, []string{"spec.image"}, time.Second},
		{"five times, long ago", every(time.Second, 5, image), time.Hour, nil, 0},
		{"once in a quarter of a minute, for ever", every(15*time.Second, 100, image), 100 * 15 * time.Second, nil, 0},
		{"once in ten seconds, for ever", every(10*time.Second, 100, image), 99 * 10 * time.Second, []string{"spec.image"}, 20 * time.Second},
		{"two fields, at different times", append(every(time.Second, 5, image), every(2*time.Second, 5, child)...), 10 * time.Second,
			[]string{"configmap", "spec.image"}, 50 * time.Second},
		{"two fields at once", every(time.Second, 5, both), 5 * time.Second, []string{"metadata.labels[a]", "spec.image"}, 55 * time.Second},
		{"one field of two", append(every(time.Second, 4, image), take{4 * time.Second, both}), 5 * time.Second, []string{"spec.image"}, 55 * time.Second},
		{"nothing was taken", every(0, 10, nil), 0, nil, 0},
	} {
		var contests Contests
		for _, take := range c.takes {
			contests.Took(take.changes, startNow.Add(take.at))
		}
		now := startNow.Add(c.at)
		if got := contests.Free(now); got != c.free {
			t.Errorf("%s: free in %s, want %s", c.name, got, c.free)
		}
		if got := contests.Paths(now); !reflect.DeepEqual(got, c.paths) {
			t.Errorf("%s: %v, want %v", c.name, got, c.paths)
		}
	}
}

// TestContestsForget: what is over takes no memory, and what goes on for ever
// takes little.
func TestContestsForget(t *testing.T) {
	t.Parallel()
	var c Contests
	for i := range 1000 {
		now := startNow.Add(time.Duration(i) * time.Second)
		c.Took([]Change{{Path: "spec.image"}, {Path: fmt.Sprint("data.", i)}}, now)
	}
	// The last minute has 60 fields that were taken back once each.
	if n := len(c.taken); n != 61 || cap(c.taken["spec.image"]) > 2*contestLimit {
		t.Errorf("%d fields, and room for %d times of one", n, cap(c.taken["spec.image"]))
	}
	if c.Paths(startNow.Add(time.Hour)); c.taken != nil {
		t.Errorf("an hour later there are %v", c.taken)
	}
}

// TestContested: what somebody else keeps changing is written no more for now, and
// whoever it is gets named. All else goes on.
func TestContested(t *testing.T) {
	t.Parallel()
	const tail = ", which was taken back 5 times within a minute: let only one of the two write it"
	for _, c := range []struct {
		name    string
		change  func(*Input)
		step    StepKind
		target  Target
		reason  string
		message string
	}{
		{"a field of spec", func(in *Input) {
			in.Live = liveState(edited)
			in.Child = childState(childInSync, handImage)
			in.Contested = []string{"spec.image"}
		}, StepNone, WebService, "kubectl-edit keeps changing spec.image" + tail, "Somebody else keeps changing spec.image"},
		{"a field of spec, and another one differs", func(in *Input) {
			in.Desired.Image, in.Desired.Replicas = newImage, new(int32(7))
			in.Contested = []string{"spec.image"}
		}, StepNone, WebService, "somebody else keeps changing spec.image" + tail, "Somebody else keeps changing spec.image"},
		{"another field of spec differs", func(in *Input) {
			in.Desired.Image = newImage
			in.Contested = []string{"spec.replicas"}
		}, StepApply, WebService, `spec.image is "nginx:1.27" and should be "nginx:1.28"`, ""},
		{"kubectl's fields aren't adopted meanwhile", func(in *Input) {
			in.Desired.Image, in.Live.Fields.ClientSide = newImage, true
			in.Contested = []string{"spec.image"}
		}, StepNone, WebService, "somebody else keeps changing spec.image" + tail, "Somebody else keeps changing spec.image"},
		{"the child goes on", func(in *Input) {
			in.Desired.Image, in.Child = newImage, Child{}
			in.Contested = []string{"spec.image"}
		}, StepCreateChild, ConfigMap, "the ConfigMap doesn't exist", ""},
		{"the child's data", func(in *Input) {
			in.Child.Data["image"] = "drifted"
			in.Contested = []string{"configmap", "data.image"}
		}, StepNone, ConfigMap, "somebody else keeps changing data.image" + tail, "Somebody else keeps changing data.image"},
		{"the child's data, and it is immutable", func(in *Input) {
			in.Child = childState(childFrozen, image)
			in.Contested = []string{"data.image"}
		}, StepNone, ConfigMap, "somebody else keeps changing data.image" + tail, "Somebody else keeps changing data.image"},
		{"a new child, which an immutable one would have to make way for", func(in *Input) {
			in.Child = childState(childFrozen, image)
			in.Contested = []string{"configmap"}
		}, StepNone, ConfigMap, "somebody else keeps changing the ConfigMap" + tail, "Somebody else keeps changing the ConfigMap"},
		{"the child deleted", func(in *Input) {
			in.Child = Child{}
			in.Contested = []string{"configmap"}
		}, StepNone, ConfigMap, "somebody else keeps changing the ConfigMap" + tail, "Somebody else keeps changing the ConfigMap"},
		{"nothing differs at the moment", func(in *Input) { in.Contested = []string{"configmap", "spec.image"} },
			StepNone, WebService, "spec, ConfigMap and status are as they should be", "The ConfigMap says what the spec says"},
	} {
		in := convergedInput()
		c.change(in)
		v := judge(in)
		if v.Step.Kind != c.step || v.Target != c.target || v.Reason != c.reason || v.ready.message != c.message {
			t.Errorf("%s: to %s on %s: %s; %q", c.name, v.Step.Kind, v.Target.Name(in.Key), v.Reason, v.ready.message)
		}
		if fought := v.ready.reason == "Contested"; fought != v.Error || v.Verdict() && v.Action != Noop && !fought {
			t.Errorf("%s: error %t with the reason %s", c.name, v.Error, v.ready.reason)
		}
	}
}

// TestChanges: a step tells what it changes, to be counted.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   []string
	}{
		{"nothing", func(*Input) {}, nil},
		{"create", func(in *Input) { in.Live = Live{} }, nil},
		{"spec", func(in *Input) { in.Desired.Image, in.Desired.Tier = newImage, new("prod") }, []string{"spec.image", "spec.tier"}},
		{"make the child", func(in *Input) { in.Child = Child{} }, []string{"configmap"}},
		{"mend the child", func(in *Input) { in.Child.Data = nil }, []string{"data.image", "data.replicas", "data.tier"}},
	} {
		in := convergedInput()
		c.change(in)
		var got []string
		for _, change := range Decide(in).Changes {
			got = append(got, change.Path)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
