package plan

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

var (
	isReady  = readiness{ready: true, reason: "Reconciled", message: "The ConfigMap says what the spec says"}
	notReady = readiness{reason: "Progressing", message: "The namespace is being deleted"}
)

// TestStatusDrift starts from a status that says Ready of this generation.
func TestStatusDrift(t *testing.T) {
	t.Parallel()
	const ready = "status.conditions[type=Ready]"
	for _, c := range []struct {
		name   string
		change func(*v1.WebServiceStatus)
		want   []Change
	}{
		{"nothing", func(*v1.WebServiceStatus) {}, nil},
		{"replicas", func(s *v1.WebServiceStatus) { s.Replicas = 2 }, []Change{{Path: "status.replicas", From: "2", To: "3"}}},
		{"observedGeneration", func(s *v1.WebServiceStatus) { s.ObservedGeneration = 3 }, []Change{{Path: "status.observedGeneration", From: "3", To: "4"}}},
		{"no condition", func(s *v1.WebServiceStatus) { s.Conditions = nil }, []Change{{Path: ready, Missing: true}}},
		{"other conditions only", func(s *v1.WebServiceStatus) { s.Conditions = []metav1.Condition{foreignCondition()} }, []Change{{Path: ready, Missing: true}}},
		{"status", func(s *v1.WebServiceStatus) { s.Conditions[0].Status = "Unknown" }, []Change{{Path: ready + ".status", From: "Unknown", To: "True"}}},
		{"reason", func(s *v1.WebServiceStatus) { s.Conditions[0].Reason = "Fine" }, []Change{{Path: ready + ".reason", From: "Fine", To: "Reconciled"}}},
		{"message", func(s *v1.WebServiceStatus) { s.Conditions[0].Message = "" }, []Change{{Path: ready + ".message", To: isReady.message}}},
		{"the condition's own observedGeneration", func(s *v1.WebServiceStatus) { s.Conditions[0].ObservedGeneration = 0 }, []Change{{Path: ready + ".observedGeneration", From: "0", To: "4"}}},
		{"no time", func(s *v1.WebServiceStatus) { s.Conditions[0].LastTransitionTime = metav1.Time{} }, []Change{{Path: ready + ".lastTransitionTime", Missing: true}}},
		{"another time", func(s *v1.WebServiceStatus) { s.Conditions[0].LastTransitionTime = metav1.NewTime(startNow) }, nil},
		{"other conditions beside", func(s *v1.WebServiceStatus) { s.Conditions = append(s.Conditions, foreignCondition()) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(&in.Live.Status)
			if got := statusDrift(&in.Live, isReady); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestTransitionTime: new only where the status flips, or where there was none.
func TestTransitionTime(t *testing.T) {
	t.Parallel()
	rounded := metav1.NewTime(time.Date(2026, 6, 7, 8, 9, 10, 0, time.UTC))
	for _, c := range []struct {
		name   string
		status int
		say    readiness
		want   metav1.Time
	}{
		{"as before", currentStatus, isReady, longAgo},
		{"as before, of a new generation", staleStatus, isReady, longAgo},
		{"not ready any more", currentStatus, notReady, rounded},
		{"ready again", conflictStatus, isReady, rounded},
		{"not ready for another reason", conflictStatus, notReady, longAgo},
		{"said for the first time", noStatus, isReady, rounded},
		{"had no time", timelessStatus, isReady, rounded},
	} {
		live := liveState(inSync)
		live.Status = statusState(c.status)
		got := statusOf(&live, c.say, startNow.In(time.FixedZone("elsewhere", 3600)))
		if ltt := readyOf(got.Conditions).LastTransitionTime; !reflect.DeepEqual(ltt, c.want) {
			t.Errorf("%s: %s, want %s", c.name, ltt, c.want)
		}
	}
}

// TestStatusOf: the whole status, with others' conditions as and where they are.
func TestStatusOf(t *testing.T) {
	t.Parallel()
	live := liveState(inSync)
	live.Status = statusState(foreignStatus)
	before := live.DeepCopy()
	want := Status{Replicas: 3, ObservedGeneration: generation, Conditions: []metav1.Condition{foreignCondition(), {
		Type: "Ready", Status: "False", Reason: "Progressing", Message: "The namespace is being deleted",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(startNow.Truncate(time.Second)),
	}}}
	if got := statusOf(&live, notReady, startNow); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v\nwant %+v", *got, want)
	}
	if !reflect.DeepEqual(live.WebService, before) {
		t.Error("the live object was changed")
	}
}
