package preview

import (
	"cmp"
	"slices"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// addEnded adds the objects that come to their end, since somebody else has deleted
// them: a report doesn't tell of what is gone, but a plan tells of all that is written.
func (w *world) addEnded(r *report.Report) {
	listed := make(map[plan.Key]bool, len(r.Items))
	for i := range r.Items {
		listed[plan.Key{Namespace: r.Items[i].Namespace, Name: r.Items[i].Name}] = true
	}
	for key, steps := range w.steps {
		if !listed[key] {
			r.Items = append(r.Items, w.ended(key, &steps[0]))
		}
	}
	slices.SortFunc(r.Items, func(a, b report.Item) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
}

// ended is the item of an object that is there, and is gone in this world.
func (w *world) ended(key plan.Key, first *Step) report.Item {
	var in plan.Input
	w.base.Look(key, &in)
	item := report.Item{
		Namespace: key.Namespace, Name: key.Name,
		Action: report.Action(first.Action), Reason: first.Reason, Target: first.Target,
	}
	if in.Live.Exists() {
		item.Generation, item.ObservedGeneration = in.Live.Generation, in.Live.Status.ObservedGeneration
		item.ResourceVersions.WebService.Before = in.Live.ResourceVersion
	}
	item.ResourceVersions.ConfigMap.Before = in.Child.ResourceVersion
	return item
}
