package evidence_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/plan"
)

// TestAboutChild: what a decision about an object says about its ConfigMap.
func TestAboutChild(t *testing.T) {
	t.Parallel()
	decided := func(action plan.Action, target plan.Target, step plan.StepKind) plan.Decision {
		return plan.Decision{Action: action, Target: target, Reason: "why", Step: plan.Step{Kind: step}}
	}
	for name, c := range map[string]struct {
		exists bool
		tier   string // of the ConfigMap; "" is no ConfigMap
		d      plan.Decision
		want   plan.Action // "" says nothing
	}{
		"it is created":                        {true, "", decided(plan.Create, plan.ConfigMap, plan.StepCreateChild), plan.Create},
		"it is mended":                         {true, "prod", decided(plan.Update, plan.ConfigMap, plan.StepUpdateChild), plan.Update},
		"it waits":                             {true, "dev", decided(plan.Requeue, plan.ConfigMap, plan.StepNone), plan.Requeue},
		"all is done":                          {true, "dev", decided(plan.Noop, plan.WebService, plan.StepNone), plan.Noop},
		"only the status is left to be done":   {true, "dev", decided(plan.Update, plan.WebService, plan.StepWriteStatus), plan.Noop},
		"the object is created first":          {false, "", decided(plan.Create, plan.WebService, plan.StepApply), ""},
		"the object is changed first":          {true, "dev", decided(plan.Update, plan.WebService, plan.StepApply), ""},
		"something else is awaited":            {true, "", decided(plan.Requeue, plan.WebService, plan.StepNone), ""},
		"the object fails, its ConfigMap not":  {true, "dev", plan.Decision{Action: plan.Requeue, Error: true}, ""},
		"there is neither object nor document": {false, "", decided(plan.Noop, plan.WebService, plan.StepNone), ""},
	} {
		in := input(plan.Live{}, nil)
		if c.exists {
			in.Live = object("u1", nil)
		}
		if c.tier != "" {
			isController := true
			in.Child = plan.Child{
				UID: "child", ResourceVersion: "9", Data: map[string]string{"image": "nginx:1.27", "replicas": "3", "tier": c.tier},
				Labels: map[string]string{v1.ManagedByLabel: v1.Manager},
				Owners: []metav1.OwnerReference{{APIVersion: v1.APIVersion, Kind: v1.Kind, Name: key.Name, UID: "u1", Controller: &isController}},
			}
		}
		got, ok := evidence.AboutChild(in, &c.d)
		switch {
		case ok != (c.want != ""):
			t.Errorf("%s: it says something: %v", name, ok)
		case ok && (got.Action != c.want || got.Target != plan.ConfigMap):
			t.Errorf("%s: %s %s", name, got.Action, got.Target.Name(key))
		}
	}
}
