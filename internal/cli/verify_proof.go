package cli

import (
	"cmp"
	"fmt"
	"slices"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

// Kinds of objects in a proof.
const (
	kindWebService = "webservice"
	kindConfigMap  = "configmap"
)

// proof is what two passes have come to.
type proof struct {
	rows []proofRow
	// objects counts the WebServices that have rows.
	objects int
	// requests are those that the second pass sent, beside the lists and watches by
	// which it has read everything anew.
	requests report.Requests
}

// proofRow is one object before and after the second pass.
type proofRow struct {
	kind, namespace, name string
	// before and after are resourceVersions, "" where there is no such object.
	before, after string
	// wanted is the write that the second pass wanted; "" is none.
	wanted string
}

func (r *proofRow) moved() bool { return r.before != r.after }

// prove lays the two passes side by side.
func (v *verification) prove() *proof {
	p := &proof{requests: v.after.Requests}
	type pair struct{ before, after *report.Item }
	pairs := map[plan.Key]*pair{}
	of := func(i *report.Item) *pair {
		key := plan.Key{Namespace: i.Namespace, Name: i.Name}
		if pairs[key] == nil {
			pairs[key] = &pair{&report.Item{}, &report.Item{}}
		}
		return pairs[key]
	}
	for i := range v.before.Items {
		of(&v.before.Items[i]).before = &v.before.Items[i]
	}
	for i := range v.after.Items {
		of(&v.after.Items[i]).after = &v.after.Items[i]
	}
	for key, both := range pairs {
		if rows := len(p.rows); p.add(key, both.before, both.after, v.second.wanted) > rows {
			p.objects++
		}
	}
	slices.SortFunc(p.rows, func(a, b proofRow) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), -cmp.Compare(a.kind, b.kind))
	})
	return p
}

// add adds the rows of an object and its ConfigMap, where they are or were there,
// or should be, and returns how many rows there are now.
func (p *proof) add(key plan.Key, before, after *report.Item, wanted map[plan.Key]plan.Decision) int {
	d, writes := wanted[key]
	row := func(kind, name string, target bool, before, after string) {
		r := proofRow{kind: kind, namespace: key.Namespace, name: name, before: before, after: after}
		if writes && target {
			r.wanted = string(d.Action) + " it: " + d.Reason
		}
		if r.before != "" || r.after != "" || r.wanted != "" {
			p.rows = append(p.rows, r)
		}
	}
	from, to := &before.ResourceVersions, &after.ResourceVersions
	row(kindWebService, key.Name, d.Target != plan.ConfigMap, from.WebService.After, to.WebService.After)
	row(kindConfigMap, v1.ChildName(key.Name), d.Target == plan.ConfigMap, from.ConfigMap.After, to.ConfigMap.After)
	return len(p.rows)
}

// table has a row for each object.
func (p *proof) table(screen term.Screen) *term.Table {
	t := screen.Table("KIND", "NAMESPACE", "NAME", "BEFORE", "AFTER", "SECOND PASS")
	for i := range p.rows {
		r := &p.rows[i]
		result := term.Text("unchanged").In(term.Green)
		switch {
		case r.wanted != "":
			result = term.Text("would " + r.wanted).In(term.Red)
		case r.moved():
			result = term.Text("changed by somebody else").In(term.Red)
		}
		t.Row(term.Text(r.kind), term.Text(r.namespace), term.Text(r.name),
			term.Text(cmp.Or(r.before, "-")), term.Text(cmp.Or(r.after, "-")), result)
	}
	return t
}

// sent says what the second pass has sent.
func (p *proof) sent() string {
	return fmt.Sprintf("requests of the second pass: %s, %s (beside its own lists)",
		plural(int(p.requests.Reads), "read"), plural(int(p.requests.Writes), "write"))
}

// verdict says what was to be proven, and whether it is.
func (p *proof) verdict() (text string, colour term.Colour) {
	wanted, moved := p.count()
	objects := plural(p.objects, "object")
	switch {
	case wanted > 0:
		return fmt.Sprintf("not proven: a second pass over %s would write to %d of them", objects, wanted), term.Red
	case moved > 0:
		return fmt.Sprintf("not proven: a second pass over %s sent 0 writes, and yet %d of their versions moved", objects, moved), term.Red
	}
	return fmt.Sprintf("proven: a second pass over %s changed nothing and sent 0 writes", objects), term.Green
}

// count counts the objects that were to be written, and those that moved.
func (p *proof) count() (wanted, moved int) {
	for i := range p.rows {
		if p.rows[i].wanted != "" {
			wanted++
		}
		if p.rows[i].moved() {
			moved++
		}
	}
	return wanted, moved
}

// err is nil where all is proven. Else it says of the first object for which it
// isn't what to do.
func (p *proof) err() error {
	for i := range p.rows {
		r := &p.rows[i]
		what := fmt.Sprintf("%s %s/%s", r.kind, r.namespace, r.name)
		command := commandLine("kubectl", "get", r.kind, r.name, "-n", r.namespace, "-o", "yaml", "--show-managed-fields")
		who := "see who writes to it with " + command
		switch {
		case r.wanted != "":
			return advised(fmt.Errorf("not proven: of %s, the second pass would %s; somebody changes it back, or the server keeps other values: %s", what, r.wanted, who), command)
		case r.moved():
			return advised(fmt.Errorf("not proven: somebody else changed %s during the proof; %s, and verify again when that has ended", what, who), command)
		}
	}
	return nil
}
