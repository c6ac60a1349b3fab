package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// obstacle is one thing that makes Decide say something else than "nothing".
type obstacle struct {
	name  string
	apply func(*Input)
	want  string // begins the reason
}

// inOrder is the order of the design: of two that hold at once the upper counts.
func inOrder() []obstacle {
	return []obstacle{
		{"another source's", func(in *Input) { in.Live.Labels[sourceLabel] = "other" }, `the object belongs to the source "other"`},
		{"terminating", func(in *Input) { in.Live.DeletionTimestamp = &longAgo }, "the object is being deleted"},
		{"suspended", func(in *Input) { in.Live.Annotations["webservice.labhub.io/reconcile"] = "disabled" }, "suspended by the annotation"},
		{"CRD away", func(in *Input) { in.CRD = CRD{Reason: "the CRD isn't there"} }, "the CRD isn't there"},
		{"removed", func(in *Input) {
			in.Desired, in.Removal, in.Policy.Prune.Enabled = nil, Removal{State: RemovalAllowed, Reason: "its file is gone"}, true
		}, "its file is gone"},
		{"namespace terminating", func(in *Input) { in.Namespace = NamespaceTerminating }, "the namespace is being deleted"},
		{"fields of kubectl's", func(in *Input) { in.Live.Fields.ClientSide = true }, "kubectl's client-side apply owns fields"},
		{"spec drift", func(in *Input) {
			if in.Desired != nil {
				in.Desired.Image = newImage
			}
		}, "spec.image is "},
		{"dependency", func(in *Input) {
			in.Dependencies = []Dependency{{Key: Key{Namespace: "crd-lab", Name: "db"}, Reason: "it doesn't exist yet"}}
		}, "waits for crd-lab/db: it doesn't exist yet"},
		{"child conflict", func(in *Input) { in.Child.Owners = append(in.Child.Owners[:0], foreignOwner(true)) }, "a ConfigMap of that name belongs to someone else"},
		{"child drift", func(in *Input) { in.Child.Data["image"] = "drifted" }, "data.image is "},
		{"status drift", func(in *Input) { in.Live.Status.ObservedGeneration = 1 }, "the status isn't up to date"},
		{"nothing", func(*Input) {}, "spec, ConfigMap and status are as they should be"},
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	rules := inOrder()
	for i, upper := range rules {
		for _, lower := range rules[i:] {
			in := convergedInput()
			lower.apply(in)
			if upper.name != lower.name {
				upper.apply(in)
			}
			d := Decide(in)
			if got := withoutStatus(in, d); !strings.HasPrefix(got.Reason, upper.want) {
				t.Errorf("%s over %s: %q, want %q", upper.name, lower.name, got.Reason, upper.want)
			}
		}
	}
}

// withoutStatus is the verdict behind a write of the status, unless the status
// is all that differs.
func withoutStatus(in *Input, d Decision) Decision {
	if v := judge(in); d.Step.Kind == StepWriteStatus && v.Reason != "spec, ConfigMap and status are as they should be" {
		return v.Decision
	}
	return d
}

// TestRules has the rules that need more than one thing to hold.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"the file's suspension counts before a missing object", func(in *Input) { in.Live, in.Desired.Suspended = Live{}, true },
			"suspended by the annotation webservice.labhub.io/reconcile in the file"},
		{"suspended on the object", func(in *Input) { in.Live = liveState(suspendedLive) },
			"suspended by the annotation webservice.labhub.io/reconcile on the live object"},
		{"broken, another source's", func(in *Input) { in.Desired, in.Broken, in.Live = nil, true, liveState(otherSources) },
			`the object belongs to the source "other": take it out of these files; to hand it over, give it the annotation ` +
				`webservice.labhub.io/prune: disabled, take it out of the other's files, and then remove its label webservice.labhub.io/source`},
		{"removed, another source's", func(in *Input) { in.Desired, in.Live = nil, liveState(otherSources) },
			`the object belongs to the source "other"`},
		{"broken, no object", func(in *Input) { in.Desired, in.Broken, in.Live = nil, true, Live{} },
			"there is no object, and no usable file asks for one"},
		{"broken, a live object", func(in *Input) { in.Desired, in.Broken = nil, true },
			"its file can't be used, so the object is kept as it is"},
		{"broken by a second document", func(in *Input) { in.Desired.Image, in.Broken = newImage, true },
			"its file can't be used, so the object is kept as it is"},
		{"broken, nobody's, and those aren't reconciled", func(in *Input) {
			in.Desired, in.Broken, in.Live, in.Policy.Unlabelled = nil, true, liveState(unlabelled), false
		}, "the object comes from no source, and reconcile.unlabelled is off"},
		{"removed", func(in *Input) { in.Desired = nil }, "no file; pruning is off"},
		{"not known", func(in *Input) { in.Desired, in.Known = nil, false },
			"the source hasn't been read whole yet, so the object is kept as it is"},
		{"made by hand", func(in *Input) {
			in.Desired, in.Live.Fields.Labels = nil, nil
		}, "no file: made by hand, and its ConfigMap and status are as they should be"},
		{"restored", func(in *Input) { in.Desired, in.Live.Fields.Restored = nil, true },
			"no file: restored from a copy of another object, and its ConfigMap and status are as they should be"},
		{"restored, and a file names it", func(in *Input) { in.Live.Fields.Restored = true },
			"spec, ConfigMap and status are as they should be"},
		{"not known, nothing is created", func(in *Input) { in.Known, in.Live = false, Live{} },
			"the source hasn't been read whole yet, and until then nothing is created"},
		{"not known, the namespace isn't created", func(in *Input) {
			in.Known, in.Live, in.Namespace = false, Live{}, NamespaceMissing
		}, "the source hasn't been read whole yet, and until then nothing is created"},
		{"not known, no namespace", func(in *Input) {
			in.Desired, in.Known, in.Namespace, in.Live.Status = nil, false, NamespaceMissing, statusState(noStatus)
		}, "the status isn't up to date: status.replicas, status.observedGeneration, status.conditions[type=Ready]"},
		{"no namespace, and it is to be created", func(in *Input) { in.Live, in.Namespace = Live{}, NamespaceMissing },
			"the namespace doesn't exist"},
		{"no namespace, and it isn't to be created", func(in *Input) {
			in.Live, in.Namespace, in.Policy.CreateNamespaces = Live{}, NamespaceMissing, false
		}, "the namespace doesn't exist: create it, or switch namespaces.create on"},
		{"no namespace, though it was created", func(in *Input) {
			in.Live, in.Namespace, in.Outcomes[partNamespace].Sent = Live{}, NamespaceMissing, true
		}, "the namespace was created and isn't there yet"},
		{"deletions held, no object", func(in *Input) { in.Live, in.CreationHeld = Live{}, true }, "waits for held deletions"},
		{"deletions held, no object and no namespace", func(in *Input) {
			in.Live, in.CreationHeld, in.Namespace = Live{}, true, NamespaceMissing
		}, "waits for held deletions"},
		{"deletions held, no object, and the namespace isn't to be created", func(in *Input) {
			in.Live, in.CreationHeld, in.Namespace, in.Policy.CreateNamespaces = Live{}, true, NamespaceMissing, false
		}, "the namespace doesn't exist: create it, or switch namespaces.create on"},
		{"deletions held, the spec differs", func(in *Input) { in.CreationHeld, in.Desired.Image = true, newImage },
			`spec.image is "nginx:1.27" and should be "nginx:1.28"`},
		{"deletions held, no child", func(in *Input) { in.CreationHeld, in.Child = true, Child{} }, "the ConfigMap doesn't exist"},
		{"deletions held, the object is nobody's", func(in *Input) {
			in.CreationHeld, in.Live.Fields.Labels, in.Desired.Image = true, nil, newImage
		}, "waits for held deletions"},
		{"the namespace goes, no object", func(in *Input) { in.Live, in.Namespace = Live{}, NamespaceTerminating },
			"the namespace is being deleted"},
		{"the namespace goes, an object without status", func(in *Input) {
			in.Namespace, in.Live.Status = NamespaceTerminating, statusState(noStatus)
		}, "the status isn't up to date: status.replicas, status.observedGeneration, status.conditions[type=Ready]"},
		{"no object", func(in *Input) { in.Live = Live{} }, "the file asks for it and the cluster doesn't have it"},
		{"no child", func(in *Input) { in.Child = Child{} }, "the ConfigMap doesn't exist"},
		{"stale child", func(in *Input) { in.Child = childState(childStale, image) }, "the ConfigMap belongs to an earlier object of this name"},
		{"frozen child", func(in *Input) { in.Child = childState(childFrozen, image) },
			`the ConfigMap is immutable, and data.image is "drifted" and should be "nginx:1.27"`},
		{"immutable child of the right data without a label", func(in *Input) {
			in.Child = childState(childImmutable, image)
			in.Child.Labels = nil
		}, "metadata.labels[app.kubernetes.io/managed-by] is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(in)
			d := Decide(in)
			if d.Reason != c.want {
				t.Errorf("got  %s\nwant %s", d.Reason, c.want)
			}
			if isError := strings.Contains(c.want, "take it out of these files"); d.Error != isError {
				t.Errorf("error %t, want %t", d.Error, isError)
			}
		})
	}
}

// TestDeleted: what an object that somebody has deleted still gets, and whether
// that is trouble. No status of it is ever written.
func TestDeleted(t *testing.T) {
	t.Parallel()
	const gone = "the object is being deleted, and no ConfigMap is left"
	const late = `; its own source "other" didn't clean it up within a minute`
	for _, c := range []struct {
		name    string
		change  func(*Input)
		want    string
		isError bool
	}{
		{"the child first", func(*Input) {}, "the object is being deleted, and its ConfigMap goes first", false},
		{"then our finalizer", func(in *Input) { in.Child = Child{} }, gone, false},
		{"the child held by others", func(in *Input) { in.Child.Terminating = true },
			"the object is being deleted, and its ConfigMap waits for its own finalizers", false},
		{"the child someone else's", func(in *Input) { in.Child = childState(foreignControlled, image) },
			"the object is being deleted, and the ConfigMap of that name is someone else's", false},
		{"someone else's child, going as well", func(in *Input) {
			in.Child = childState(foreignControlled, image)
			in.Child.Terminating = true
		}, "the object is being deleted, and the ConfigMap of that name is someone else's", false},
		{"others' finalizers", func(in *Input) { in.Live.Finalizers = []string{"a/b", "c/d"} },
			"the object is being deleted and waits for the finalizers a/b, c/d", false},
		{"another's finalizer", func(in *Input) { in.Live.Finalizers = []string{"a/b"} },
			"the object is being deleted and waits for the finalizer a/b", false},
		{"no finalizer", func(in *Input) { in.Live.Finalizers = nil }, "the object is being deleted", false},
		{"by hand, which we leave alone", func(in *Input) {
			in.Live, in.Desired, in.Policy.Unlabelled = liveState(cleaningUnlabelled), nil, false
		}, "the object comes from no source, and reconcile.unlabelled is off", false},
		{"by hand, which a broken file names", func(in *Input) {
			in.Live, in.Desired, in.Broken, in.Policy.Unlabelled = liveState(cleaningUnlabelled), nil, true, false
		}, "the object is being deleted, and its ConfigMap goes first", false},
		{"of another source, nobody's file", func(in *Input) { in.Live, in.Desired = liveState(cleaningOthers), nil },
			`the object belongs to the source "other"`, false},
		{"of another source, whose time isn't over", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Desired = "other", nil
		}, `the object belongs to the source "other"`, false},
		{"of another source that doesn't see to it", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Desired, in.Overdue = "other", nil, true
		}, "the object is being deleted, and its ConfigMap goes first" + late, false},
		{"of another source that doesn't see to it, the child gone", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Desired, in.Child, in.Overdue = "other", nil, Child{}, true
		}, gone + late, false},
		{"of another source that doesn't see to it, and our file names it", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Child, in.Overdue = "other", Child{}, true
		}, gone + late, false},
		{"of another source that doesn't see to it, refused", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Desired, in.Overdue = "other", nil, true
			in.Outcomes[partChild] = Outcome{Refused: "Forbidden", Detail: "policy 7"}
		}, "the API server refused to delete the ConfigMap: policy 7" + late, true},
		{"of another source, and held by others alone", func(in *Input) {
			in.Live.Labels[sourceLabel], in.Live.Finalizers, in.Desired, in.Overdue = "other", []string{"a/b"}, nil, true
		}, `the object belongs to the source "other"`, false},
		{"of another source, and not deleted", func(in *Input) {
			in.Live, in.Desired, in.Overdue = liveState(otherSources), nil, true
			in.Live.Finalizers = []string{finalizer}
		}, `the object belongs to the source "other"`, false},
		{"ours, for long", func(in *Input) { in.Child, in.Overdue = Child{}, true }, gone, false},
		{"the namespace going", func(in *Input) { in.Child, in.Namespace = Child{}, NamespaceTerminating }, gone, false},
		{"the CRD going", func(in *Input) { in.Child, in.CRD = Child{}, CRD{Reason: "the CRD is being deleted"} }, gone, false},
		{"the source not read", func(in *Input) { in.Child, in.Desired, in.Known = Child{}, nil, false }, gone, false},
		{"suspended in the file", func(in *Input) { in.Child, in.Desired.Suspended = Child{}, true }, gone, false},
		{"the deletion refused", func(in *Input) { in.Outcomes[partChild] = Outcome{Refused: "Forbidden", Detail: "policy 7"} },
			"the API server refused to delete the ConfigMap: policy 7", true},
		{"the finalizer refused", func(in *Input) {
			in.Child, in.Outcomes[partFinalizers] = Child{}, Outcome{Refused: "Forbidden", Detail: "policy 7"}
		}, "the API server refused to drop the finalizer: policy 7", true},
		{"the finalizer put back", func(in *Input) { in.Child, in.Outcomes[partFinalizers] = Child{}, Outcome{Sent: true} },
			"the API server agreed to drop the finalizer, but nothing came of it: something undoes it", true},
	} {
		in := convergedInput()
		in.Live = liveState(cleaning)
		c.change(in)
		d := Decide(in)
		if d.Reason != c.want || d.Error != c.isError || d.Step.Kind == StepWriteStatus {
			t.Errorf("%s: error %t, to %s: %s\nwant %s", c.name, d.Error, d.Step.Kind, d.Reason, c.want)
		}
	}
}

// TestLongNames: at 245 characters the child's name is as long as it may be.
func TestLongNames(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]Action{245: Create, 246: Update} {
		in := convergedInput()
		in.Key.Name = strings.Repeat("n", length)
		in.Child = Child{}
		if d := Decide(in); d.Action != want {
			t.Errorf("%d characters: %s: %s", length, d.Action, d.Reason)
		}
	}
	in := convergedInput()
	in.Key.Name = strings.Repeat("n", 246)
	v := judge(in)
	if v.Action != Requeue || !v.Error || v.Target != ConfigMap || v.ready.reason != "NameTooLong" {
		t.Errorf("verdict %+v", v)
	}
}

// TestPreconditions: each step names the object that was judged, and no other.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   Step
	}{
		{"create the namespace", func(in *Input) { in.Live, in.Namespace = Live{}, NamespaceMissing }, Step{Kind: StepCreateNamespace}},
		{"create", func(in *Input) { in.Live = Live{} }, Step{Kind: StepApply}},
		{"update", func(in *Input) { in.Desired.Image = newImage }, Step{Kind: StepApply, UID: "uid-live", ResourceVersion: "live-1"}},
		{"create the child", func(in *Input) { in.Child = Child{} }, Step{Kind: StepCreateChild}},
		{"update the child", func(in *Input) { in.Child.Labels = nil }, Step{Kind: StepUpdateChild, UID: "uid-child", ResourceVersion: "child-1"}},
		{"delete the child", func(in *Input) { in.Child = childState(childStale, image) }, Step{Kind: StepDeleteChild, UID: "uid-child", ResourceVersion: "child-1"}},
		{"write the status", func(in *Input) { in.Live.Status.Replicas = 1 }, Step{Kind: StepWriteStatus, ResourceVersion: "live-1"}},
		{"adopt fields", func(in *Input) { in.Live.Fields.ClientSide = true }, Step{Kind: StepAdoptFields, UID: "uid-live", ResourceVersion: "live-1"}},
		{"delete", func(in *Input) {
			in.Desired, in.Removal, in.Policy.Prune.Enabled = nil, Removal{State: RemovalAllowed, Reason: "its file is gone"}, true
		}, Step{Kind: StepDelete, UID: "uid-live", ResourceVersion: "live-1"}},
		{"delete the child of a deleted object", func(in *Input) { in.Live = liveState(cleaning) },
			Step{Kind: StepDeleteChild, UID: "uid-child", ResourceVersion: "child-1"}},
		{"drop the only finalizer", func(in *Input) { in.Live, in.Child = liveState(cleaning), Child{} },
			Step{Kind: StepDropFinalizer, ResourceVersion: "live-1", Finalizers: []string{}}},
		{"drop our finalizer beside a ConfigMap of someone else's", func(in *Input) {
			in.Live, in.Child = liveState(cleaningShared), childState(foreignUnowned, image)
		}, Step{Kind: StepDropFinalizer, ResourceVersion: "live-1", Finalizers: []string{toolHold, toolHold + "2"}, Spared: "uid-child"}},
	} {
		in := convergedInput()
		c.change(in)
		got := Decide(in).Step
		if has := (got.Desired != nil) == (c.want.Kind == StepApply) && (got.Status != nil) == (c.want.Kind == StepWriteStatus); !has {
			t.Errorf("%s: content of another kind: %+v", c.name, got)
		}
		got.Desired, got.Child, got.Status = nil, nil, nil
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestAnswers: what a refusal, or an answer other than what was written, says to
// people and in the status. The server's own text stays out of the status.
func TestAnswers(t *testing.T) {
	t.Parallel()
	spoilt := func(in *Input) {
		in.Desired.Image, in.Child.Data["image"], in.Live.Status.Replicas = newImage, "drifted", 1
	}
	for _, c := range []struct {
		name            string
		outcomes        Outcomes
		reason, message string
	}{
		{"spec refused", Outcomes{partSpec: {Refused: "not allowed", Detail: "policy 7 says no"}, partChild: {Refused: "not allowed"}},
			"the API server refused to apply the WebService: policy 7 says no", "The API server refused to apply the WebService: not allowed"},
		{"spec refused, no text", Outcomes{partSpec: {Refused: "not allowed"}, partChild: {Refused: "not allowed"}},
			"the API server refused to apply the WebService: not allowed", "The API server refused to apply the WebService: not allowed"},
		{"spec changed on the way", Outcomes{partSpec: {Sent: true}, partChild: {Refused: "not allowed"}},
			"the API server answered the write of spec.image with other values: something changes them on the way, such as a webhook",
			"The API server keeps other values than were written: spec.image"},
	} {
		in := convergedInput()
		spoilt(in)
		in.Outcomes = c.outcomes
		v := judge(in)
		if v.Reason != c.reason || v.ready.message != c.message || !v.Error {
			t.Errorf("%s: %q, %q", c.name, v.Reason, v.ready.message)
		}
	}
}

// TestChildOfARefusedSpec: what the server has is looked after all the same.
func TestChildOfARefusedSpec(t *testing.T) {
	t.Parallel()
	in := convergedInput()
	in.Desired.Image, in.Child = newImage, Child{}
	in.Outcomes[partSpec].Refused = "not allowed"
	d := Decide(in)
	if d.Step.Kind != StepCreateChild || d.Step.Child.Data["image"] != image {
		t.Errorf("got %+v, want the child of the live spec", d)
	}
}

// TestStatusThatCantBeWritten doesn't hide what was wrong before.
func TestStatusThatCantBeWritten(t *testing.T) {
	t.Parallel()
	const conflict = "a ConfigMap of that name belongs to someone else: remove or rename it, or rename the WebService"
	const undeclared = "the CRD webservices.apps.labhub.io doesn't declare status.a, status.b: add them to it, as in manifests/crd"
	const refused = "the API server refused to write the status: forbidden"
	const webhook = "the API server answered the write of status.conditions[type=Ready].message with other values: something changes them on the way, such as a webhook"
	for _, c := range []struct {
		name    string
		foreign bool
		outcome Outcome
		target  Target
		want    string
	}{
		{"dropped", false, Outcome{Sent: true}, WebService, undeclared},
		{"dropped, though the CRD declares all", false, Outcome{Sent: true}, WebService, webhook},
		{"refused", false, Outcome{Refused: "forbidden"}, WebService, refused},
		{"dropped, on a conflict", true, Outcome{Sent: true}, ConfigMap, conflict + "; " + undeclared},
		{"refused, on a conflict", true, Outcome{Refused: "forbidden"}, ConfigMap, conflict + "; " + refused},
	} {
		in := convergedInput()
		if c.want != webhook {
			in.CRD.Missing = []string{"status.a", "status.b"}
		}
		in.Live.Status.Conditions[0].Message = ""
		in.Outcomes[partStatus] = c.outcome
		if c.foreign {
			in.Child = childState(foreignUnowned, image)
		}
		if d := Decide(in); d.Reason != c.want || !d.Error || d.Target != c.target || d.Action != Requeue {
			t.Errorf("%s: %s on %s: %s", c.name, d.Action, d.Target.Name(in.Key), d.Reason)
		}
	}
}

// TestACRDThatLacksWhatTheFileStates: nothing is sent that the server can't take, and
// the fields are named. What only the status lacks is in nobody's way here.
func TestACRDThatLacksWhatTheFileStates(t *testing.T) {
	t.Parallel()
	const lacks = "the CRD webservices.apps.labhub.io doesn't declare spec.replicas, spec.tier: add them to it, as in manifests/crd"
	for _, c := range []struct {
		name    string
		change  func(*Input)
		missing []string
		want    string
	}{
		{"to be created", func(in *Input) { in.Live = Live{} }, []string{"spec.replicas", "spec.tier", "status.replicas"}, lacks},
		{"to be updated", func(in *Input) { in.Desired.Image = newImage }, []string{"spec.replicas", "spec.tier"}, lacks},
		{"the file states neither", func(in *Input) { in.Live, in.Desired.Replicas, in.Desired.Tier = Live{}, nil, nil }, []string{"spec.replicas", "spec.tier"},
			"the file asks for it and the cluster doesn't have it"},
		{"the status alone", func(in *Input) { in.Live = Live{} }, []string{"status.replicas"}, "the file asks for it and the cluster doesn't have it"},
	} {
		in := convergedInput()
		in.Desired.Replicas, in.Desired.Tier = new(int32(3)), new("dev")
		c.change(in)
		in.CRD.Missing = c.missing
		if d := judge(in); d.Reason != c.want || d.Error != (c.want == lacks) {
			t.Errorf("%s: %s, error %t: %s", c.name, d.Action, d.Error, d.Reason)
		}
	}
}

// TestNothingIsWrittenTo: inputs are shared with caches.
func TestNothingIsWrittenTo(t *testing.T) {
	t.Parallel()
	for _, o := range inOrder() {
		in, same := convergedInput(), convergedInput()
		o.apply(in)
		o.apply(same)
		Decide(in)
		if !reflect.DeepEqual(in, same) {
			t.Errorf("%s: the input was changed", o.name)
		}
	}
}

// TestTimeHasNoSay: the same at any time, but for the time of a condition.
func TestTimeHasNoSay(t *testing.T) {
	t.Parallel()
	for _, o := range inOrder() {
		in := convergedInput()
		o.apply(in)
		now := Decide(in)
		in.Now = in.Now.Add(24 * time.Hour)
		later := Decide(in)
		now.Step.Status, later.Step.Status = nil, nil
		if !reflect.DeepEqual(now, later) {
			t.Errorf("%s: %+v, a day later %+v", o.name, now, later)
		}
	}
}
