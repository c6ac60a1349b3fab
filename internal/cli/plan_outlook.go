package cli

import (
	"slices"
	"strconv"
	"strings"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/preview"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

// outlook is what becomes of one object, in words.
type outlook struct {
	item  *report.Item
	steps []preview.Step
	sign  sign
	// headline goes on after the object's name.
	headline string
	// rests says what the object comes to rest with, where that isn't the good end.
	rests string
	kind  outlookKind
	held  bool
}

// outlookKind is how the sum counts what is written.
type outlookKind int

const (
	staysAsItIs outlookKind = iota
	isCreated
	isUpdated
	isDeleted
)

func outlookOf(item *report.Item, steps []preview.Step, held bool) outlook {
	o := outlook{item: item, steps: steps, held: held}
	o.write()
	if item.Suspended && len(steps) == 0 {
		o.rest(waits(), "is left alone", "")
	}
	if item.Requeue == nil {
		return o
	}
	switch {
	case held:
		o.rest(stops(), "stays: its deletion is held", "; its deletion is held")
	case item.Failed():
		o.rest(stops(), "fails", ", then fails")
	default:
		o.rest(waits(), "waits", ", then waits")
	}
	return o
}

// write says what the steps come to.
func (o *outlook) write() {
	var deleted, cleaned, made bool
	for i := range o.steps {
		s := &o.steps[i]
		deleted = deleted || s.Kind == plan.StepDelete
		cleaned = cleaned || s.Kind == plan.StepDropFinalizer
		made = made || s.Kind == plan.StepApply && s.Action == plan.Create
	}
	switch {
	case len(o.steps) == 0:
	case deleted:
		o.kind, o.sign, o.headline = isDeleted, ends(), "would be deleted after prune.after"
		if i := slices.IndexFunc(o.steps, func(s preview.Step) bool { return s.Kind == plan.StepDelete }); o.steps[i].After > 0 {
			o.headline += " (" + o.steps[i].After.String() + ")"
		}
	case cleaned && made:
		o.kind, o.sign, o.headline = isCreated, adds(), "is being deleted: it will be cleaned up, and created anew"
	case cleaned:
		o.kind, o.sign, o.headline = isDeleted, ends(), "is being deleted: it will be cleaned up"
	case made:
		o.kind, o.sign, o.headline = isCreated, adds(), "will be created"
	case o.steps[0].Action == plan.Create:
		o.kind, o.sign, o.headline = isCreated, adds(), "will get its ConfigMap"
	default:
		o.kind, o.sign, o.headline = isUpdated, changes(), "will be updated"
	}
}

// rest says what the object comes to rest with, where there are no steps, or after
// them.
func (o *outlook) rest(s sign, alone, after string) {
	o.rests = o.item.Reason
	if len(o.steps) == 0 {
		o.sign, o.headline = s, alone
		return
	}
	o.headline += after
}

// planSum counts objects for the line that sums up.
type planSum struct {
	written                           [isDeleted + 1]int
	held, waiting, failing, unchanged int
	suspended                         int
}

func (s *planSum) count(o *outlook) {
	s.written[o.kind]++
	switch {
	case o.item.Suspended:
		s.suspended++
	case o.item.Requeue == nil:
	case o.held:
		s.held++
	case o.item.Failed():
		s.failing++
	default:
		s.waiting++
	}
	if o.kind == staysAsItIs && o.rests == "" {
		s.unchanged++
	}
}

func (t *planText) sum(s *planSum, made *preview.Plan) {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{s.written[isCreated], "to create"}, {s.written[isUpdated], "to update"}, {s.written[isDeleted], "to delete"},
		{s.held, "held"}, {s.waiting, "waiting"}, {s.failing, "failing"},
	} {
		if part.n > 0 {
			parts = append(parts, strconv.Itoa(part.n)+" "+part.what)
		}
	}
	first := firstLine(made.First)
	if len(parts) == 0 && first == "" {
		t.b.WriteString(t.screen.Paint(term.Bold, "No changes: ") + s.still(len(made.Report.Problems)) + "\n")
		return
	}
	switch {
	case first == "":
	case len(parts) == 0:
		parts = []string{first}
	default:
		parts = append(parts, "and first "+first)
	}
	text := strings.Join(parts, ", ")
	if s.unchanged > 0 {
		text += "; " + strconv.Itoa(s.unchanged) + " unchanged"
	}
	if s.suspended > 0 {
		text += "; " + strconv.Itoa(s.suspended) + " suspended"
	}
	for _, line := range t.wrap(0, "Plan: "+text) {
		t.b.WriteString(t.screen.Paint(term.Bold, line) + "\n")
	}
	t.tried(made)
}

// still says how things stand where nothing is to be done.
func (s *planSum) still(problems int) string {
	var parts []string
	switch {
	case s.unchanged == 1 && problems > 0:
		parts = append(parts, "1 object stays as it is")
	case s.unchanged > 1 && problems > 0:
		parts = append(parts, strconv.Itoa(s.unchanged)+" objects stay as they are")
	case s.unchanged == 1:
		parts = append(parts, "1 object is as it should be")
	case s.unchanged > 1:
		parts = append(parts, strconv.Itoa(s.unchanged)+" objects are as they should be")
	}
	if s.suspended > 0 {
		parts = append(parts, strconv.Itoa(s.suspended)+" suspended")
	}
	if problems > 0 {
		parts = append(parts, plural(problems, "problem")+" in the files to mend")
	}
	if parts == nil {
		return "there is no object, and no file asks for one."
	}
	return strings.Join(parts, ", ") + "."
}

// firstLine says what comes before the objects; "" is nothing.
func firstLine(first []preview.Step) string {
	namespaces, definition := 0, ""
	for i := range first {
		switch s := &first[i]; {
		case s.Kind == plan.StepCreateNamespace:
			namespaces++
		case s.Action == plan.Update:
			definition = "the CRD to update"
		default:
			definition = "the CRD to install"
		}
	}
	var parts []string
	if definition != "" {
		parts = append(parts, definition)
	}
	if namespaces > 0 {
		parts = append(parts, plural(namespaces, "namespace")+" to create")
	}
	return strings.Join(parts, " and ")
}

// tried says how much of the plan the API server has judged, where it was asked.
func (t *planText) tried(made *preview.Plan) {
	switch all, tried := countTried(made); tried {
	case 0:
	case all:
		t.prose(0, "The API server has judged every write as a dry run.")
	default:
		t.prose(0, "The API server has judged "+strconv.Itoa(tried)+" of "+plural(all, "write")+
			" as a dry run; the others build on writes that it doesn't have yet.")
	}
}

// countTried counts the writes, and those that the API server has judged.
func countTried(made *preview.Plan) (all, tried int) {
	count := func(steps []preview.Step) {
		for i := range steps {
			all++
			tried += btoi(steps[i].Tried)
		}
	}
	count(made.First)
	for _, steps := range made.Steps {
		count(steps)
	}
	return all, tried
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}
