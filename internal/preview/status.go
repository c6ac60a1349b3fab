package preview

import (
	"slices"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// mergeStatus makes one write of all that are sent to an object's status, and none
// where the last says what there was before the first. While one object waits for
// another that has its turn at the same time, its status may say so for a moment: who
// is first is a matter of chance, and a plan tells of what comes of it.
func (w *world) mergeStatus(r *report.Report) {
	for key, steps := range w.steps {
		merged := merged(steps)
		if len(merged) == len(steps) {
			continue
		}
		if w.steps[key] = merged; len(merged) == 0 {
			delete(w.steps, key)
		}
		i := slices.IndexFunc(r.Items, func(item report.Item) bool { return item.Namespace == key.Namespace && item.Name == key.Name })
		if i >= 0 && r.Items[i].Requeue == nil {
			w.retell(&r.Items[i], key, merged)
		}
	}
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
}

// retell has an item say what is written first, or the verdict where nothing is.
func (w *world) retell(item *report.Item, key plan.Key, steps []Step) {
	i := slices.IndexFunc(steps, func(s Step) bool { return s.Kind == plan.StepDelete })
	switch {
	case i < 0 && len(steps) > 0:
		i = 0
	case i < 0:
		d := w.decided[key]
		item.Action, item.Reason, item.Target = report.Action(d.Action), d.Reason, d.Target.Name(key)
		item.ResourceVersions.WebService.After = item.ResourceVersions.WebService.Before
		return
	}
	item.Action, item.Reason, item.Target = report.Action(steps[i].Action), steps[i].Reason, steps[i].Target
}

// merged is steps with one write of the status at most. A status that begins anew
// after the object's end has nothing to do with the one before.
func merged(steps []Step) []Step {
	if n := countStatus(steps); n < 2 || slices.ContainsFunc(steps, func(s Step) bool { return s.Kind == plan.StepDropFinalizer || s.Kind == plan.StepDelete }) {
		return steps
	}
	var out []Step
	var all Step
	for _, s := range steps {
		if s.Kind != plan.StepWriteStatus {
			out = append(out, s)
			continue
		}
		fields := together(all.Fields, s.Fields)
		all = s
		all.Fields = fields
	}
	if len(all.Fields) > 0 {
		out = append(out, all)
	}
	return out
}

func countStatus(steps []Step) int {
	n := 0
	for i := range steps {
		if steps[i].Kind == plan.StepWriteStatus {
			n++
		}
	}
	return n
}

// together is what two changes come to, one after the other.
func together(first, second []plan.FieldDiff) []plan.FieldDiff {
	out := slices.Clone(first)
	for _, f := range second {
		i := slices.IndexFunc(out, func(o plan.FieldDiff) bool { return o.Path == f.Path })
		if i < 0 {
			out = append(out, f)
			continue
		}
		out[i].To = f.To
	}
	return slices.DeleteFunc(out, func(f plan.FieldDiff) bool {
		return f.From == nil && f.To == nil || f.From != nil && f.To != nil && *f.From == *f.To
	})
}
