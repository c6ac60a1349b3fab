package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// answerLimit is how long the API server may give no answer.
const answerLimit = 10 * time.Second

// firstPass does what once does. Where that leaves something failing or waiting
// there is nothing to prove. Problems and held deletions don't end it: rest is how
// once would end because of them.
func (v *verification) firstPass(ctx context.Context) (rest, err error) {
	outcome := v.pass(ctx, v.app.lease)
	v.before = v.engine.Report()
	if err := v.delivered(nil); err != nil {
		return nil, err
	}
	if !v.all() {
		if !v.known() {
			return nil, v.unknown(&outcome)
		}
		if err := v.keepFirst(); err != nil {
			return nil, failed(err)
		}
		v.confine(&outcome)
	}
	rest = verdict(&outcome)
	switch {
	case outcome.Cluster != nil && outcome.Fatal == nil && outcome.Source == nil:
		return nil, failed(fmt.Errorf("nothing can be verified: %s", outcome.WaitingFor))
	case rest == nil, codeOf(rest) == exitInvalid, codeOf(rest) == exitHeld:
		return rest, nil
	}
	return nil, rest
}

// pass brings all as far as it comes, with writes as the lease lets them through.
func (v *verification) pass(ctx context.Context, writes lease) engine.Outcome {
	v.app.lease = writes
	answering, stop := context.WithCancel(ctx)
	defer stop()
	limited := background(ctx, func(ctx context.Context) {
		able, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		if v.cluster.WaitAble(able); able.Err() != nil {
			stop()
		}
	})
	defer limited()
	return v.converge(answering, v.timeout, func() {})
}

// known says whether the one object is ours to reconcile, or was.
func (v *verification) known() bool {
	s := v.snapshot.Load()
	if s == nil {
		return true // it isn't known yet what is
	}
	if _, named := s.Objects[v.key]; named {
		return true
	}
	_, broken := s.Broken[v.key]
	return broken || v.item(v.before) != nil
}

// unknown is why there is nothing to verify.
func (v *verification) unknown(o *engine.Outcome) error {
	if o.Fatal != nil || o.Cluster != nil || o.Source != nil {
		return verdict(o)
	}
	return failed(fmt.Errorf("no WebService %s is in the files, and none that is ours to reconcile is in the cluster: check NAME and -n", v.key))
}

// item is the account of the one object in r; nil where there is none.
func (v *verification) item(r *report.Report) *report.Item {
	i := slices.IndexFunc(r.Items, func(i report.Item) bool { return i.Namespace == v.key.Namespace && i.Name == v.key.Name })
	if i < 0 {
		return nil
	}
	return &r.Items[i]
}

// confine makes the outcome one of the one object: what is wrong with others, and
// isn't about the source as a whole, is none of its business.
func (v *verification) confine(o *engine.Outcome) {
	o.Problems, o.Held = 0, 0
	if o.Source != nil || o.Cluster != nil || o.Fatal != nil {
		return
	}
	problem, broken := v.snapshot.Load().Broken[v.key]
	held := slices.IndexFunc(v.before.Held, func(h report.Held) bool { return h.Namespace == v.key.Namespace && h.Name == v.key.Name })
	item := v.item(v.before)
	switch {
	case broken:
		o.Problems, o.Converged, o.WaitingFor = 1, false, "1 problem in the source to be mended: "+problem.Error()
	case held >= 0:
		o.Held, o.Converged, o.WaitingFor = 1, false, "1 held deletion: "+v.key.String()+": "+v.before.Held[held].Reason
	case item != nil && item.Action == report.ActionRequeue:
		o.Converged, o.WaitingFor = false, v.key.String()+": "+item.Reason
	default:
		o.Converged = true
	}
}

// secondPass looks at everything again, with parts that have seen nothing yet. It
// sends no write. An error is about the pass; what it found is for prove.
func (v *verification) secondPass(ctx context.Context) error {
	v.log = quiet(v.log) // what a second pass would do isn't done
	why := v.purpose(v.second)
	why.aside, why.silent, why.title = true, true, "second pass: "
	if err := v.assemble(why); err != nil {
		return failed(err)
	}
	v.second.await(v.before)
	enough, stop := context.WithCancel(ctx)
	defer stop()
	v.second.enough = stop
	outcome := v.pass(enough, &noWrites{lease: v.app.lease})
	v.after = v.engine.Report()
	switch {
	case v.second.wantsToWrite():
		return nil
	case ctx.Err() != nil:
		return failed(errors.New("not proven: the second pass didn't come to its end"))
	case outcome.Fatal != nil, outcome.Cluster != nil, outcome.Source != nil, outcome.Failing > 0, outcome.Waiting > 0:
		return failed(errors.New("not proven: the second pass didn't come to rest: " + outcome.WaitingFor))
	}
	return nil
}

// noWrites lets no write through, and is otherwise the lease that it stands for.
type noWrites struct{ lease }

// Check is never nil.
func (*noWrites) Check(context.Context) error {
	return &plan.Failure{Class: plan.Refused, Phrase: "the second pass may not write"}
}
