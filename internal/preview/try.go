package preview

import (
	"context"

	"labhub.io/webservice-controller/internal/plan"
)

// try has the API server judge a step as a dry run, where that is wanted and can be:
// the server knows nothing of the steps before. What it answers takes the place of
// what was simulated. The error is that of the request.
func (w *world) try(ctx context.Context, before, after *plan.Input, step *plan.Step) (tried bool, err error) {
	if !w.server || !w.isReal(before, step) {
		return false, nil
	}
	answer, err := w.base.Try(ctx, before.Key, step)
	if err != nil {
		return false, err
	}
	if answer.Live.Exists() && after.Live.Exists() {
		after.Live = takeLive(&answer.Live, &after.Live)
	}
	if answer.Child.Exists() && after.Child.Exists() {
		id, version := after.Child.UID, after.Child.ResourceVersion
		after.Child = answer.Child
		after.Child.UID, after.Child.ResourceVersion = id, version
	}
	return true, nil
}

// takeLive is the server's answer under the version and uid that this world knows: a
// dry run gives no version, and a uid that no object will have.
func takeLive(answer, simulated *plan.Live) plan.Live {
	ws := *answer.WebService
	ws.ResourceVersion, ws.UID = simulated.ResourceVersion, simulated.UID
	return plan.Live{WebService: &ws, Fields: answer.Fields}
}

// isReal says whether the server has all that the step builds on.
func (w *world) isReal(in *plan.Input, step *plan.Step) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crd != nil || w.made[in.Key.Namespace] || in.Namespace == plan.NamespaceMissing {
		return false
	}
	switch step.Kind {
	case plan.StepCreateChild:
		return !in.Child.Exists() && !w.deletedChild(in.Key)
	case plan.StepUpdateChild, plan.StepDeleteChild:
		return !plan.IsSimulated(in.Child.ResourceVersion)
	case plan.StepApply:
		if !in.Live.Exists() {
			return len(w.steps[in.Key]) == 0
		}
		return !plan.IsSimulated(in.Live.ResourceVersion)
	default:
		return !plan.IsSimulated(in.Live.ResourceVersion)
	}
}
