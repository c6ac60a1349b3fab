package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

const maxSteps = 6

// TestWalk goes through every combination of what files, cluster and server may
// be. From each it takes the steps that Decide asks for, and the end must be the
// one of the tables in expected_test.go.
//
// A server's way of answering a kind of step matters only where such a step is
// taken. So each combination is walked on a server that accepts everything, and
// then on those that treat one of the steps taken otherwise.
func TestWalk(t *testing.T) {
	t.Parallel()
	walked := forAll(t, func(t *testing.T, s situation, start Input) []StepKind {
		_, steps := walk(t, s, start)
		return steps
	})
	if want := int64(1_194_622); raceFactor == 1 && walked != want {
		t.Errorf("%d combinations, want %d", walked, want)
	}
}

// forAll calls visit for every combination, on every server whose answers can
// make a difference, and counts the calls. Under the race detector it leaves most out.
func forAll(t *testing.T, visit visitor) int64 {
	t.Helper()
	var walked atomic.Int64
	t.Run("all", func(t *testing.T) {
		for desired := range desiredKinds {
			t.Run(fmt.Sprint("desired ", desired), func(t *testing.T) {
				t.Parallel()
				v := tour{t: t, visit: visit, s: situation{desired: desired}}
				v.extras()
				walked.Add(v.walked)
			})
		}
	})
	return walked.Load()
}

// visitor walks one combination and gives the steps that it took.
type visitor = func(*testing.T, situation, Input) []StepKind

// tour goes through all combinations of one file.
type tour struct {
	t            *testing.T
	visit        visitor
	s            situation
	seen, walked int64
}

func (v *tour) extras() {
	for v.s.extra = range extraKinds {
		if matters(v.s.desired, v.s.extra) {
			v.lives()
		}
	}
}

func (v *tour) lives() {
	for v.s.live = range liveKinds {
		statuses := statusKinds
		switch {
		case v.s.live == absent:
			statuses = 1
		case v.s.extra != plain || v.s.live >= finalized:
			statuses = currentStatus + 1 // the others are no different there
		}
		for v.s.status = range statuses {
			v.surroundings(startOf(v.s))
		}
	}
}

// surroundings leaves out, beside an extra, what has no more to do with it: a
// namespace that isn't known is as good as an active one, and whether objects
// made by hand are reconciled at all.
func (v *tour) surroundings(start Input) {
	firstNamespace, flags := nsUnknown, 4
	if v.s.extra != plain {
		firstNamespace, flags = nsActive, 2
	}
	for v.s.child = range childKinds {
		start.Child = childOf(v.s)
		for v.s.namespace = firstNamespace; v.s.namespace < nsKinds; v.s.namespace++ {
			for i := range flags {
				v.s.crdAway, v.s.onlyLabelled = i&1 != 0, i&2 != 0
				if v.seen++; v.seen%raceFactor == 0 && !v.t.Failed() {
					v.servers(start)
				}
			}
		}
	}
}

func (v *tour) servers(start Input) {
	v.s.server = accepts
	steps := v.visit(v.t, v.s, start)
	v.walked++
	for v.s.server = accepts + 1; v.s.server < serverKinds && !v.t.Failed(); v.s.server++ {
		if slices.ContainsFunc(treated[v.s.server], func(k StepKind) bool { return slices.Contains(steps, k) }) {
			v.visit(v.t, v.s, start)
			v.walked++
		}
	}
}

// treated lists the steps that a server treats otherwise.
var treated = [serverKinds][]StepKind{
	refusesNamespace:   {StepCreateNamespace},
	refusesApply:       {StepApply},
	refusesCreateChild: {StepCreateChild},
	refusesUpdateChild: {StepUpdateChild},
	refusesDeleteChild: {StepDeleteChild},
	refusesStatus:      {StepWriteStatus},
	mutatesSpec:        {StepApply},
	mutatesChild:       {StepCreateChild, StepUpdateChild},
	dropsStatus:        {StepWriteStatus},
	dropsUnknownStatus: {StepWriteStatus},
	refusesDrop:        {StepDropFinalizer},
	refusesAdopt:       {StepAdoptFields},
	refusesDelete:      {StepDelete},
	keepsFinalizer:     {StepDropFinalizer},
	keepsClientSide:    {StepAdoptFields},
	holdsDeleted:       {StepDelete},
}

func startOf(s situation) Input {
	in := Input{Key: testKey, Live: liveState(s.live), Now: startNow}
	in.Desired, in.Known, in.Broken = desiredState(s.desired)
	if in.Live.Exists() {
		in.Live.Status = statusState(s.status)
	}
	return in
}

func childOf(s situation) Child {
	if s.live == edited {
		return childState(s.child, handImage)
	}
	return childState(s.child, image)
}

func behaviourOf(server int) behaviour {
	b := behaviour{
		mutatesSpec: server == mutatesSpec, mutatesChild: server == mutatesChild,
		dropsStatus:     server == dropsStatus || server == dropsUnknownStatus,
		keepsFinalizer:  server == keepsFinalizer,
		keepsClientSide: server == keepsClientSide,
		holdsDeleted:    server == holdsDeleted,
	}
	if server >= refusesNamespace && server <= refusesDelete {
		b.refuses = treated[server][0]
	}
	return b
}

// walk takes s to its verdict and judges the way and the end.
func walk(t *testing.T, s situation, start Input) (*world, []StepKind) {
	state, create := namespaceState(s.namespace)
	start.Namespace = state
	start.Policy = &Policy{SourceName: sourceName, Unlabelled: !s.onlyLabelled, CreateNamespaces: create}
	extra(&start, s.extra)
	start.CRD = CRD{Ready: !s.crdAway, Reason: "the CRD isn't there"}
	if s.server == dropsUnknownStatus {
		start.CRD.Missing = []string{"status.conditions[].reason"}
	}
	w := &world{t: t, in: start, server: behaviourOf(s.server)}
	d, steps := w.settle()
	want := expected(s)
	wantEnding(w, s, want, &d, steps)
	if !t.Failed() {
		wantState(w, s, want, &start)
		wantRest(w, s, d)
	}
	if t.Failed() {
		t.Logf("the combination %+v ended after the steps %v with %q", s, steps, d.Reason)
	}
	return w, steps
}

// settle takes steps until there is a verdict.
func (w *world) settle() (d Decision, steps []StepKind) {
	d = w.decide()
	for !d.Verdict() && len(steps) < maxSteps {
		if n := len(steps); n > 0 && steps[n-1] == d.Step.Kind {
			w.t.Errorf("the step to %s left its own decision unchanged", d.Step.Kind)
			break
		}
		steps = append(steps, d.Step.Kind)
		w.do(&d.Step)
		d = w.decide()
	}
	return d, steps
}

// wantEnding compares the verdict and the steps with the tables'. Since the
// tables name every step, objects that must not be written see none.
func wantEnding(w *world, s situation, want ending, d *Decision, steps []StepKind) {
	if !slices.Equal(steps, want.steps) {
		w.t.Errorf("steps %v, want %v", steps, want.steps)
	}
	if d.Action != want.action || d.Target != want.target || d.Error != want.isError || d.Suspended != want.suspended {
		w.t.Errorf("verdict %s on %s, error %t, suspended %t; want %s on %s, %t, %t", d.Action, d.Target.Name(testKey), d.Error, d.Suspended,
			want.action, want.target.Name(testKey), want.isError, want.suspended)
	}
	if d.Held != want.held {
		w.t.Errorf("held %t, want %t", d.Held, want.held)
	}
	if d.Reason == "" || (d.After > 0) != (d.Action == Requeue && !d.Error) {
		w.t.Errorf("reason %q, after %s", d.Reason, d.After)
	}
	if i := slices.Index(steps, StepWriteStatus); i >= 0 && i != len(steps)-1 {
		w.t.Error("a status was written before an acting step")
	}
	if s.server == dropsUnknownStatus && !strings.Contains(d.Reason, "doesn't declare status.conditions[].reason") {
		w.t.Errorf("the reason %q doesn't name what the CRD lacks", d.Reason)
	}
	if w.in.Live.Exists() {
		wantStatus(w, s, want)
	}
}

func wantStatus(w *world, s situation, want ending) {
	status := &w.in.Live.Status
	anew := w.in.Live.UID == newUID
	if want.ready == "" {
		if !anew && !reflect.DeepEqual(*status, statusState(s.status)) {
			w.t.Errorf("the status was touched: %+v", *status)
		}
		return
	}
	c := readyOf(status.Conditions)
	if c == nil || string(c.Status) != want.ready || c.Reason != want.reason {
		w.t.Fatalf("condition %+v, want Ready=%s %s", c, want.ready, want.reason)
	}
	if status.ObservedGeneration != w.in.Live.Generation || status.Replicas != *w.in.Live.Spec.Replicas {
		w.t.Errorf("status %+v of generation %d", *status, w.in.Live.Generation)
	}
	if w.server.dropsStatus {
		return
	}
	if flipped := c.LastTransitionTime != longAgo; flipped != (anew || flips(s, want)) {
		w.t.Errorf("lastTransitionTime %s, flipped %t", c.LastTransitionTime, flipped)
	}
	if s.status == foreignStatus && !anew && !slices.Contains(status.Conditions, foreignCondition()) {
		w.t.Error("another tool's condition is gone")
	}
}

// flips says whether Ready must have another time in the end than at the start.
func flips(s situation, want ending) bool {
	before := map[int]string{currentStatus: "True", staleStatus: "True", foreignStatus: "True", conflictStatus: "False"}
	return before[s.status] != want.ready
}

// wantState looks at spec and child where all is said to be well, and at what
// must not have been touched where it isn't.
func wantState(w *world, s situation, want ending, start *Input) {
	if s.child >= foreignUnowned && !reflect.DeepEqual(w.in.Child, start.Child) {
		w.t.Error("somebody else's ConfigMap was touched")
	}
	if want.ready != "True" || want.isError {
		return
	}
	c, ws := &w.in.Child, w.in.Live.WebService
	data := map[string]string{"image": ws.Spec.Image, "replicas": fmt.Sprint(*ws.Spec.Replicas), "tier": ws.Spec.Tier}
	if !maps.Equal(c.Data, data) || c.Labels[managedBy] != "webservice-controller" {
		w.t.Errorf("child %+v", *c)
	}
	if isCleaned(s) {
		s = cleaned(s)
	}
	wantOwners(w, s)
	if d := w.in.Desired; d != nil && !w.in.Broken && !isHeldBack(s) {
		wantSpec(w, d)
	}
}

func wantOwners(w *world, s situation) {
	owners := w.in.Child.Owners
	if len(owners) == 0 || !reflect.DeepEqual(owners[0], ownedBy(w.in.Live.UID)) {
		w.t.Errorf("owners %+v", owners)
	}
	if kept := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == "uid-other" }); kept != (s.child == childStaleShared) {
		w.t.Errorf("owners %+v", owners)
	}
	if s.child == childStaleShared && w.in.Child.Labels[toolLabel] == "" {
		w.t.Error("another tool's label is gone")
	}
}

func wantSpec(w *world, d *Desired) {
	ws := w.in.Live.WebService
	if ws.Spec.Image != d.Image || d.Replicas != nil && *ws.Spec.Replicas != *d.Replicas {
		w.t.Errorf("spec %+v, want %+v", ws.Spec, *d)
	}
	if !contains(ws.Labels, d.Labels) || !contains(ws.Annotations, d.Annotations) {
		w.t.Errorf("metadata %+v, want %+v", ws.ObjectMeta, *d)
	}
	if slices.Contains(ws.Finalizers, v1.CleanupFinalizer) != (len(d.Finalizers) > 0) {
		w.t.Errorf("finalizers %v, want %v", ws.Finalizers, d.Finalizers)
	}
}

func contains(live, want map[string]string) bool {
	for k, v := range want {
		if live[k] != v {
			return false
		}
	}
	return true
}

// wantRest asks again, later and without memory: nothing may be left to do.
func wantRest(w *world, s situation, d Decision) {
	w.later()
	if again := w.decide(); !reflect.DeepEqual(again, d) {
		w.t.Errorf("asked again, Decide says %q, after %q", again.Reason, d.Reason)
	}
	if s.server == accepts {
		in := w.in
		if again := Decide(&in); !reflect.DeepEqual(again, d) {
			w.t.Errorf("after a restart Decide says %q, before %q", again.Reason, d.Reason)
		}
	}
}
