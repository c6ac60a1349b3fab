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

// planText writes a plan for people: a block for each object, and a line that sums up.
type planText struct {
	screen term.Screen
	b      strings.Builder
	// unjudged: some writes were judged by the API server, and some couldn't be.
	unjudged bool
	// rested is what the block before said of how its object rests.
	rested string
}

// sign is how a block or a line begins, in its colour.
type sign struct {
	mark   string
	colour term.Colour
}

func adds() sign    { return sign{"+", term.Green} }
func changes() sign { return sign{"~", term.Yellow} }
func ends() sign    { return sign{"-", term.Red} }
func stops() sign   { return sign{"!", term.Red} }
func waits() sign   { return sign{".", term.Cyan} }

// plan writes all blocks. reported: the command that approves what is held works now.
func (t *planText) plan(made *preview.Plan, reported bool) {
	r := made.Report
	all, tried := countTried(made)
	t.unjudged = tried > 0 && tried < all
	for i := range made.First {
		t.first(&made.First[i])
	}
	held := map[plan.Key]bool{}
	for _, h := range r.Held {
		held[plan.Key{Namespace: h.Namespace, Name: h.Name}] = true
	}
	var sum planSum
	for i := range r.Items {
		item := &r.Items[i]
		key := plan.Key{Namespace: item.Namespace, Name: item.Name}
		o := outlookOf(item, made.Steps[key], held[key])
		sum.count(&o)
		if len(o.steps) > 0 || o.rests != "" {
			t.object(&o)
		}
	}
	if made.Cluster != nil {
		t.title(stops(), "The cluster can't be worked on: "+made.Cluster.Error())
		t.gap()
	}
	t.held(r, reported)
	t.sum(&sum, made)
}

// first is what comes before all objects.
func (t *planText) first(s *preview.Step) {
	mark, words := adds(), " will be created"
	if s.Action == plan.Update {
		mark, words = changes(), " will be updated"
	}
	if s.Failed != "" {
		mark, words = stops(), " is refused"
	}
	t.title(mark, s.Target+words)
	t.prose(4, s.Reason)
	if s.Failed != "" {
		t.prose(4, s.Failed)
	}
	t.gap()
}

func (t *planText) object(o *outlook) {
	title := o.item.Namespace + "/" + o.item.Name + " " + o.headline
	if o.item.Source != "" {
		title += " (" + o.item.Source + ")"
	}
	again := o.rests != "" && o.rests == t.rested
	if again {
		title += ", for the same reason"
	}
	t.title(o.sign, title)
	for i := range o.steps {
		t.step(&o.steps[i])
	}
	if o.rests != "" && !again {
		t.prose(4, o.rests)
	}
	t.rested = o.rests
	t.gap()
}

func (t *planText) step(s *preview.Step) {
	mark := map[plan.Action]sign{plan.Create: adds(), plan.Update: changes(), plan.Delete: ends()}[s.Action]
	note := ""
	if t.unjudged && !s.Tried {
		note = "  # not judged"
	}
	if s.Kind == plan.StepWriteStatus {
		t.line(changes(), 4, "status: "+statusLine(s.Fields)+note)
		return
	}
	title := s.Target
	switch {
	case s.Kind == plan.StepDropFinalizer:
		title += ": the finalizer comes off: " + s.Reason
	case len(s.Fields) == 0:
		title += ": " + s.Reason
	}
	title += note
	t.line(mark, 4, title)
	fields := tellable(s)
	pad := 0
	for i := range fields {
		if n := term.Columns(fields[i].Path); n <= longPath {
			pad = max(pad, n)
		}
	}
	for i := range fields {
		t.field(&fields[i], pad)
	}
}

// longPath is how long a path may be for values to line up with its own.
const longPath = 34

// tellable are the fields of a step that are worth a person's look: of a new
// ConfigMap, label and owner are always the same.
func tellable(s *preview.Step) []plan.FieldDiff {
	if s.Kind != plan.StepCreateChild {
		return s.Fields
	}
	return slices.DeleteFunc(slices.Clone(s.Fields), func(f plan.FieldDiff) bool { return strings.HasPrefix(f.Path, "metadata.") })
}

// field is one line where that fits, else the path, and below it what becomes of it and
// whose it is.
func (t *planText) field(f *plan.FieldDiff, pad int) {
	const indent = 8
	mark, value := fieldValue(f)
	path, note := term.Line(f.Path)+":", fieldNote(f)
	if note != "" {
		note = "# " + note
	}
	line := path + strings.Repeat(" ", max(0, pad+1-term.Columns(path))) + " " + strings.TrimSpace(value+"  "+note)
	if w := t.screen.Width; w == 0 || indent+2+term.Columns(line) <= w {
		t.line(mark, indent, line)
		return
	}
	t.line(mark, indent, path)
	t.prose(indent+4, value)
	if note != "" {
		t.prose(indent+4, note)
	}
}

func fieldValue(f *plan.FieldDiff) (sign, string) {
	switch {
	case f.From == nil:
		return adds(), shown(f.Path, *f.To)
	case f.To == nil:
		return ends(), shown(f.Path, *f.From)
	case *f.From == *f.To:
		return changes(), shown(f.Path, *f.To) + " stays"
	}
	return changes(), shown(f.Path, *f.From) + " -> " + shown(f.Path, *f.To)
}

// shown is a value as a manifest would have it: numbers plain, all else quoted, and
// not all of what is very long.
func shown(path, value string) string {
	const most = 200
	if value == plan.Unknown || path == "spec.replicas" {
		return value
	}
	return strconv.Quote(term.Cut(value, most))
}

func fieldNote(f *plan.FieldDiff) string {
	switch {
	case f.Why == plan.FieldDropped:
		return "no longer in the file"
	case f.Why == plan.FieldDefault:
		return "default"
	case f.Why == plan.FieldServer:
		return "by the API server"
	case f.Why == plan.FieldOwned && f.By != "":
		return "ours from then on; so far " + f.By + " owns it"
	case f.Why == plan.FieldOwned:
		return "ours from then on"
	case f.By != "":
		return "set by " + f.By
	}
	return ""
}

// statusLine says in one line what becomes of the status.
func statusLine(fields []plan.FieldDiff) string {
	names := []struct{ path, name string }{
		{"status.conditions[type=Ready].status", "Ready"},
		{"status.conditions[type=Ready].reason", "reason"},
		{"status.replicas", "replicas"},
		{"status.observedGeneration", "observedGeneration"},
	}
	var parts []string
	for _, n := range names {
		i := slices.IndexFunc(fields, func(f plan.FieldDiff) bool { return f.Path == n.path })
		if i < 0 {
			continue
		}
		part := n.name + " "
		if f := &fields[i]; f.From != nil {
			part += *f.From + " -> "
		}
		if f := &fields[i]; f.To != nil {
			part += *f.To
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "the condition Ready is brought up to date"
	}
	return strings.Join(parts, ", ")
}

// held says how what is held can be approved. The command stays on one line, so that
// it can be copied.
func (t *planText) held(r *report.Report, reported bool) {
	if r.HeldCommand == "" {
		return
	}
	text := are(len(r.Held), "deletion") + " held. To allow exactly that"
	if !reported {
		text += ", as soon as run or once has reported it"
	}
	t.prose(0, text+":")
	t.b.WriteString("    " + t.screen.Paint(term.Cyan, term.Line(r.HeldCommand)) + "\n")
	t.gap()
}

// problems lists what is wrong with the files.
func (t *planText) problems(r *report.Report) {
	for _, p := range r.Problems {
		t.line(stops(), 0, placed(&p)+p.Message)
	}
	for _, p := range r.Warnings {
		t.line(sign{"!", term.Yellow}, 0, placed(&p)+"warning: "+p.Message)
	}
}

// placed is path:line:column: as compilers write it, as far as it is known.
func placed(p *report.Problem) string {
	if p.Path == "" {
		return ""
	}
	text := p.Path + ":"
	if p.Line > 0 {
		text += strconv.Itoa(p.Line) + ":"
	}
	if p.Line > 0 && p.Column > 0 {
		text += strconv.Itoa(p.Column) + ":"
	}
	return text + " "
}

// line writes text after a sign; what doesn't fit goes on below it.
func (t *planText) line(s sign, indent int, text string) { t.painted(s, indent, text, term.Plain) }

// title is a line that a block begins with.
func (t *planText) title(s sign, text string) { t.painted(s, 0, text, term.Bold) }

func (t *planText) painted(s sign, indent int, text string, colour term.Colour) {
	begin := strings.Repeat(" ", indent) + t.screen.Paint(s.colour, s.mark) + " "
	for _, line := range t.wrap(indent+2, text) {
		t.b.WriteString(begin + t.screen.Paint(colour, line) + "\n")
		begin = strings.Repeat(" ", indent+4)
	}
}

func (t *planText) prose(indent int, text string) {
	for _, line := range t.wrap(indent, text) {
		t.b.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
}

func (t *planText) wrap(indent int, text string) []string {
	if t.screen.Width == 0 {
		return []string{term.Line(text)}
	}
	const least = 20
	return term.Wrap(term.Line(text), max(least, t.screen.Width-indent-2)) // lines that go on are indented by 2 more
}

func (t *planText) gap() { t.b.WriteByte('\n') }
