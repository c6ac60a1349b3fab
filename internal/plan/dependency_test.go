package plan

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDependencyOf starts from an object that is done.
func TestDependencyOf(t *testing.T) {
	t.Parallel()
	const notItsFile = "its spec isn't what its file says yet"
	const old = "its status doesn't speak of its present spec yet"
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   string // "" is ready
	}{
		{"done", func(*Input) {}, ""},
		{"no file", func(in *Input) { in.Desired = nil }, ""},
		{"made by hand", func(in *Input) {
			in.Desired = nil
			withStatusOf(in, liveState(unlabelled))
		}, ""},

		{"missing", func(in *Input) { in.Live = Live{} }, "it doesn't exist yet"},
		{"missing, and no file", func(in *Input) { in.Live, in.Desired = Live{}, nil }, "it doesn't exist, and no file asks for it"},
		{"missing, and its file is broken", func(in *Input) { in.Live, in.Desired, in.Broken = Live{}, nil, true }, "it doesn't exist, and its file can't be used"},
		{"missing, and two files name it", func(in *Input) { in.Live, in.Broken = Live{}, true }, "it doesn't exist, and its file can't be used"},
		{"being deleted", func(in *Input) { withStatusOf(in, liveState(terminating)) }, "it is being deleted"},

		{"another image in the file", func(in *Input) { in.Desired.Image = newImage }, notItsFile},
		{"other replicas in the file", func(in *Input) { in.Desired.Replicas = new(int32(4)) }, notItsFile},
		{"replicas by default, as in the file", func(in *Input) {
			in.Desired.Replicas, in.Live.Spec.Replicas = new(int32(1)), nil
		}, ""},
		{"replicas no longer in the file", func(in *Input) { in.Desired.Replicas = nil }, notItsFile},
		{"replicas never in the file", func(in *Input) { in.Desired.Replicas, in.Live.Fields.Replicas = nil, false }, ""},
		{"another tier in the file", func(in *Input) { in.Desired.Tier = new("prod") }, notItsFile},
		{"the tier in the file as it is by default", func(in *Input) { in.Desired.Tier, in.Live.Spec.Tier = new("dev"), "" }, ""},
		{"an empty tier, as in the file", func(in *Input) { in.Desired.Tier, in.Live.Spec.Tier = new(""), "" }, ""},
		{"an empty tier in the file alone", func(in *Input) { in.Desired.Tier = new("") }, notItsFile},
		{"an empty tier in the file, and by default", func(in *Input) { in.Desired.Tier, in.Live.Spec.Tier = new(""), "" }, ""},
		{"an empty tier in the file, and another one live", func(in *Input) { in.Desired.Tier, in.Live.Spec.Tier = new(""), "prod" }, notItsFile},
		{"a tier no longer in the file", func(in *Input) { in.Live.Fields.Tier = true }, notItsFile},
		{"somebody has taken a field, with the value of the file", func(in *Input) { withStatusOf(in, liveState(taken)) }, ""},
		{"a label differs", func(in *Input) { in.Desired.Labels = with(in.Desired.Labels, "team", "a") }, ""},

		{"the file is broken", func(in *Input) { in.Desired, in.Broken = nil, true }, ""},
		{"two files name it", func(in *Input) { in.Desired.Image, in.Broken = newImage, true }, ""},
		{"suspended", func(in *Input) {
			in.Desired.Image = newImage
			withStatusOf(in, liveState(suspendedLive))
		}, ""},
		{"suspended in the file", func(in *Input) { in.Desired.Image, in.Desired.Suspended = newImage, true }, ""},
		{"suspended with an old status", func(in *Input) {
			withStatusOf(in, liveState(suspendedLive))
			in.Live.Status = statusState(staleStatus)
		}, old},
		{"another source's", func(in *Input) {
			in.Desired = nil
			withStatusOf(in, liveState(otherSources))
		}, ""},
		{"another source's, and our file names it too", func(in *Input) {
			in.Desired.Image = newImage
			withStatusOf(in, liveState(otherSources))
		}, ""},

		{"no status", func(in *Input) { in.Live.Status = statusState(noStatus) }, "it has no condition Ready yet"},
		{"an old status", func(in *Input) { in.Live.Status = statusState(staleStatus) }, old},
		{"a status of an old generation", func(in *Input) { in.Live.Status.ObservedGeneration-- }, old},
		{"a condition of an old generation", func(in *Input) { in.Live.Status.Conditions[0].ObservedGeneration-- }, old},
		{"not ready", func(in *Input) { in.Live.Status = statusState(conflictStatus) }, "its condition Ready is False with the reason NameConflict"},
		{"unknown", func(in *Input) {
			in.Live.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "Odd", ObservedGeneration: generation}}
		}, "its condition Ready is Unknown with the reason Odd"},
	} {
		in := convergedInput()
		c.change(in)
		want := Dependency{Key: testKey, Ready: c.want == "", Reason: c.want}
		if got := DependencyOf(testKey, in.Desired, in.Broken, &in.Live); got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
}

// withStatusOf makes the object l, with the status of one that is done.
func withStatusOf(in *Input, l Live) {
	l.Status = in.Live.Status
	in.Live = l
}

func TestDependsOnOf(t *testing.T) {
	t.Parallel()
	const wrong = "the annotation webservice.labhub.io/depends-on can't be read: "
	for _, c := range []struct {
		name  string
		value *string
		want  []Key
		err   string
	}{
		{"no annotation", nil, nil, ""},
		{"a name is of the same namespace", new("db"), []Key{{Namespace: "crd-lab", Name: "db"}}, ""},
		{"each once, in order", new("pay/gateway, db,crd-lab/db , pay/gateway"), []Key{{Namespace: "pay", Name: "gateway"}, {Namespace: "crd-lab", Name: "db"}}, ""},
		{"empty", new(""), nil, wrong + "an entry is empty: write name or namespace/name, separated by commas"},
		{"not a name", new("db cache"), nil, wrong + `"db cache" isn't a name: write name or namespace/name, separated by commas`},
	} {
		live := liveState(inSync)
		if c.value != nil {
			live.Annotations["webservice.labhub.io/depends-on"] = *c.value
		}
		got, err := DependsOnOf(&live, "crd-lab")
		if !reflect.DeepEqual(got, c.want) || (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: got %v, %v; want %v, %s", c.name, got, err, c.want, c.err)
		}
	}
	if got, err := DependsOnOf(&Live{}, "crd-lab"); got != nil || err != nil {
		t.Errorf("no object: %v, %v", got, err)
	}
}

// TestWhoseDependencies: a usable file says what its object depends on, and no
// one else; where there is none, the live object does.
func TestWhoseDependencies(t *testing.T) {
	t.Parallel()
	byFile, byHand := []Key{{Namespace: "crd-lab", Name: "file"}}, []Key{{Namespace: "crd-lab", Name: "hand"}}
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   []Key
	}{
		{"a file", func(*Input) {}, byFile},
		{"a file that names none", func(in *Input) { in.Desired.DependsOn = nil }, nil},
		{"no file", func(in *Input) { in.Desired = nil }, byHand},
		{"a broken file", func(in *Input) { in.Broken = true }, byHand},
		{"no file and nothing that can be read", func(in *Input) {
			in.Desired, in.Live.Annotations["webservice.labhub.io/depends-on"] = nil, "?"
		}, nil},
		{"neither file nor object", func(in *Input) { in.Desired, in.Live = nil, Live{} }, nil},
	} {
		in := convergedInput()
		in.Desired.DependsOn, in.Live.Annotations["webservice.labhub.io/depends-on"] = byFile, "hand"
		c.change(in)
		if got := in.DependsOn(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestWaitingForOthers: the ConfigMap is neither made nor changed before what the
// object depends on is ready, and the spec is applied all the same.
func TestWaitingForOthers(t *testing.T) {
	t.Parallel()
	db, cache := Key{Namespace: "crd-lab", Name: "db"}, Key{Namespace: "crd-lab", Name: "cache"}
	unready := []Dependency{{Key: cache, Ready: true}, {Key: db, Reason: "it is being deleted"}, {Key: Key{Name: "third"}, Reason: "it doesn't exist yet"}}
	const waits = "waits for crd-lab/db: it is being deleted"
	const message = "Waits for crd-lab/db, which isn't ready"
	const annotation = "webservice.labhub.io/depends-on"
	for _, c := range []struct {
		name    string
		change  func(*Input)
		step    StepKind
		isError bool
		reason  string
		message string
	}{
		{"as it should be otherwise", func(*Input) {}, StepNone, false, waits, message},
		{"no child", func(in *Input) { in.Child = Child{} }, StepNone, false, waits, message},
		{"a child that differs", func(in *Input) { in.Child = childState(childDrifted, image) }, StepNone, false, waits, message},
		{"a child that is someone else's", func(in *Input) { in.Child = childState(foreignUnowned, image) }, StepNone, false, waits, message},
		{"a spec that differs", func(in *Input) { in.Desired.Image = newImage }, StepApply, false, `spec.image is "nginx:1.27" and should be "nginx:1.28"`, ""},
		{"a spec that is refused", func(in *Input) {
			in.Desired.Image, in.Outcomes[partSpec].Refused = newImage, "not allowed"
		}, StepNone, true, "the API server refused to apply the WebService: not allowed", "The API server refused to apply the WebService: not allowed"},
		{"all ready", func(in *Input) { in.Dependencies = unready[:1] }, StepNone, false,
			"spec, ConfigMap and status are as they should be", "The ConfigMap says what the spec says"},
		{"on itself", func(in *Input) { in.Dependencies = append(unready, Dependency{Key: testKey, Ready: true}) }, StepNone, true,
			"it depends on itself: take it out of its own annotation " + annotation, "It depends on itself"},
		{"on what can't be read", func(in *Input) {
			in.Desired, in.Dependencies, in.Live.Annotations[annotation] = nil, nil, "db cache"
		}, StepNone, true, "the annotation " + annotation + ` can't be read: "db cache" isn't a name: write name or namespace/name, separated by commas`,
			"The annotation " + annotation + " can't be read"},
		{"on what can't be read, and a file names the object", func(in *Input) {
			in.Dependencies, in.Live.Annotations[annotation] = nil, "db cache"
		}, StepNone, false, "spec, ConfigMap and status are as they should be", "The ConfigMap says what the spec says"},
	} {
		in := convergedInput()
		in.Dependencies = unready
		c.change(in)
		v := judge(in)
		if v.Step.Kind != c.step || v.Error != c.isError || v.Reason != c.reason || v.ready.message != c.message {
			t.Errorf("%s: to %s, error %t: %s; %q", c.name, v.Step.Kind, v.Error, v.Reason, v.ready.message)
		}
	}
}
