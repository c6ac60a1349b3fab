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
type tenure struct {
	lost      error
	takenOver time.Time
}

func (t *tenure) Check(context.Context) error { return t.lost }

func (t *tenure) TakenOver() time.Time { return t.takenOver }

func (t *tenure) Ours() bool { return t.lost == nil }

func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lost")
		const afterTakeover = 2 * time.Minute
		for name, c := range map[string]struct {
			lease tenure
			kind  plan.StepKind
			lost  bool
			wait  time.Duration
		}{
			"ours":                            {tenure{}, plan.StepDelete, false, 0},
			"not ours":                        {tenure{lost: lost}, plan.StepApply, true, 0},
			"not ours, a deletion":            {tenure{lost: lost, takenOver: time.Now()}, plan.StepDelete, true, 0},
			"just taken over":                 {tenure{takenOver: time.Now()}, plan.StepDelete, false, afterTakeover},
			"taken over a while ago":          {tenure{takenOver: time.Now().Add(-time.Minute)}, plan.StepDelete, false, time.Minute},
			"taken over long enough ago":      {tenure{takenOver: time.Now().Add(-afterTakeover)}, plan.StepDelete, false, 0},
			"just taken over, the ConfigMap":  {tenure{takenOver: time.Now()}, plan.StepDeleteChild, false, 0},
			"just taken over, something else": {tenure{takenOver: time.Now()}, plan.StepApply, false, 0},
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
