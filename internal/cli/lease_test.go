package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/plan"
)

// term is a lease that is ours since it was taken over, or isn't.
type term struct {
	lost      error
	takenOver time.Time
}

func (t *term) Check(context.Context) error { return t.lost }

func (t *term) TakenOver() time.Time { return t.takenOver }

func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		const afterTakeover = 2 * time.Minute
		for name, c := range map[string]struct {
			lease term
			kind  plan.StepKind
			lost  bool
			wait  time.Duration
		}{
			"ours":                            {term{}, plan.StepDelete, false, 0},
			"not ours":                        {term{lost: lost}, plan.StepApply, true, 0},
			"not ours, a deletion":            {term{lost: lost, takenOver: time.Now()}, plan.StepDelete, true, 0},
			"just taken over":                 {term{takenOver: time.Now()}, plan.StepDelete, false, afterTakeover},
			"taken over a while ago":          {term{takenOver: time.Now().Add(-time.Minute)}, plan.StepDelete, false, time.Minute},
			"taken over long enough ago":      {term{takenOver: time.Now().Add(-afterTakeover)}, plan.StepDelete, false, 0},
			"just taken over, the ConfigMap":  {term{takenOver: time.Now()}, plan.StepDeleteChild, false, 0},
			"just taken over, something else": {term{takenOver: time.Now()}, plan.StepApply, false, 0},
		} {
			a := &app{lease: &c.lease, cfg: config.Config{Prune: config.Prune{AfterTakeover: afterTakeover}}}
			err := a.gate(t.Context(), c.kind)
			var f *plan.Failure
			switch {
			case c.lost && !errors.Is(err, lost),
				c.wait > 0 && (!errors.As(err, &f) || f.Class != plan.NotReady || f.RetryAfter != c.wait),
				!c.lost && c.wait == 0 && err != nil:
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
