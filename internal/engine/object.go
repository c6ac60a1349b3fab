package engine

import (
	"strconv"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// Object is everything that is known of one object, from memory: nothing is sent. It
// is false for one that is neither asked for nor live here.
func (e *Engine) Object(namespace, name string) (*report.Object, bool) {
	key := plan.Key{Namespace: namespace, Name: name}
	in := plan.Input{Key: key, Policy: &e.opts.Policy, Now: time.Now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	want, named := e.desired[key]
	in.Unread, in.Known, in.Desired, in.Broken = e.snapshot == nil, e.known, want.object, want.broken
	e.cluster.Look(key, &in)
	it := e.items[key]
	if it == nil {
		it = e.gone[key]
	}
	if !named && !e.lists(&in) && (it == nil || !it.judged) {
		return nil, false
	}
	o := &report.Object{
		Namespace: namespace, Name: name, Usable: !want.broken,
		Exists: in.Live.Exists(), ConfigMap: in.Child.Exists(), Deleting: in.Live.Terminating(),
		Fields: reportFields(&in), Decisions: []report.Decision{},
	}
	if want.object != nil {
		o.Source = want.file + ":" + strconv.Itoa(want.line)
	}
	if in.Live.Exists() {
		o.UID = string(in.Live.UID)
	}
	if it != nil {
		o.Decisions = it.decisions.newest(key)
	}
	return o, true
}

func reportFields(in *plan.Input) []report.Field {
	states := plan.Compare(in)
	out := make([]report.Field, 0, len(states))
	for i := range states {
		s := &states[i]
		f := report.Field{
			Target: s.Target.Name(in.Key), Path: s.Path, Desired: s.Want, Actual: s.Have, Owners: s.Owners, Differs: s.Differs,
		}
		if f.Owners == nil {
			f.Owners = []string{}
		}
		out = append(out, f)
	}
	return out
}
