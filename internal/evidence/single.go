package evidence

import (
	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// Observation renders what observe.json says of a decision's input, as it is now.
func Observation(in *plan.Input) report.Render { return report.JSON(observationOf(in)) }

// Verdict renders what decision.json says of a decision about key's object.
func Verdict(d *plan.Decision, key plan.Key) report.Render { return report.JSON(decisionOf(d, key)) }

// AboutChild is what a decision says about the object's ConfigMap. ok is false where
// it says nothing about that, since the object itself comes first. Where the
// ConfigMap is as it should be, whatever else is to be done, that is a noop.
func AboutChild(in *plan.Input, d *plan.Decision) (about plan.Decision, ok bool) {
	inStep := in.Live.Exists() && !in.Live.Terminating() &&
		plan.ClaimOf(&in.Child, in.Key.Name, in.Live.UID) == plan.ClaimOurs && plan.ChildDrift(&in.Child, &in.Live) == nil
	settled := d.Verdict() || d.Step.Kind == plan.StepWriteStatus
	switch {
	case d.Target == plan.ConfigMap:
		return *d, true
	case inStep && settled && !d.Error:
		return plan.Decision{
			Action: plan.Noop, Target: plan.ConfigMap, Reason: v1.ChildName(in.Key.Name) + " says what the spec says",
		}, true
	}
	return *d, false
}
