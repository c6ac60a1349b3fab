package cli

import (
	"errors"
	"testing"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// TestProgress: the line that is written over, as decisions come.
func TestProgress(t *testing.T) {
	t.Parallel()
	unready := errors.New("the API server can't be reached")
	p := &progress{ready: func() error { return unready }}
	judged := func(name string, d plan.Decision) {
		p.Decided(&plan.Input{Key: plan.Key{Namespace: "crd-lab", Name: name}, Policy: &plan.Policy{}, Known: true, Desired: &plan.Desired{}}, &d)
	}
	noop := plan.Decision{Action: plan.Noop}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"no answer yet", func() {}, "waiting: the API server can't be reached"},
		{"the files are read", func() {
			unready = nil
			p.expect(&source.Snapshot{Objects: map[plan.Key]source.Object{{Name: "a"}: {}, {Name: "b"}: {}, {Name: "c"}: {}, {Name: "d"}: {}}})
		}, "[····················] 0 of 4 objects"},
		{"a step isn't the end", func() { judged("a", plan.Decision{Action: plan.Create, Step: plan.Step{Kind: plan.StepApply}}) },
			"[····················] 0 of 4 objects"},
		{"one is done", func() { judged("a", noop) }, "[#####···············] 1 of 4 objects"},
		{"two wait: the first one is named", func() {
			judged("c", plan.Decision{Action: plan.Requeue, Reason: "waits for crd-lab/d"})
			judged("b", plan.Decision{Action: plan.Requeue, Reason: "waits for crd-lab/c"})
		}, "[#####···············] 1 of 4 objects; crd-lab/b: waits for crd-lab/c"},
		{"what is held isn't waited for", func() { judged("b", plan.Decision{Action: plan.Requeue, Reason: "2 of 3 would go", Held: true}) },
			"[##########··········] 2 of 4 objects; crd-lab/c: waits for crd-lab/d"},
		{"one without a file is one more", func() { judged("c", noop); judged("d", noop); judged("by-hand", noop) },
			"[####################] 5 of 5 objects"},
		{"another's object", func() {
			p.Decided(&plan.Input{Key: plan.Key{Name: "theirs"}, Policy: &plan.Policy{}, Known: true}, &noop)
		}, "[####################] 5 of 5 objects"},
		{"one is gone", func() { p.Gone(plan.Key{Namespace: "crd-lab", Name: "by-hand"}) }, "[####################] 4 of 4 objects"},
	} {
		step.do()
		if got := p.line(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}
