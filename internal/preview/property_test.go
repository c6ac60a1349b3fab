package preview

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// A plan is made at once, and an engine at work takes its time: it counts scans and
// waits for prune.after. From whatever they begin with, both come to the same.
func TestAsAnEngineThatTakesItsTime(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			f, s := randomly(rand.New(rand.NewPCG(seed, 5)))
			planned := made(t, f, s).Report
			took := patiently(t, f, s)
			got, want := outcome(planned), outcome(took)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: the plan says\n%s\nand the engine did\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// randomly is a cluster and files with any of what may be.
func randomly(r *rand.Rand) (*fake, *source.Snapshot) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	f := cluster()
	var named []string
	for _, name := range names {
		if r.IntN(4) > 0 {
			f.objects[lab(name)] = spoilt(r, converged(lab(name)))
		}
		if r.IntN(4) > 0 {
			named = append(named, name)
		}
	}
	s := files(named...)
	for key, o := range s.Objects {
		switch r.IntN(6) {
		case 0:
			o.Image, o.Digest = "a:2", o.Digest+"2"
		case 1:
			if on := lab(names[r.IntN(len(names))]); f.objects[on].live.WebService == nil {
				// Of one that is there and doesn't stay ready, it is a matter of chance
				// what others see.
				o.DependsOn = []plan.Key{on}
			}
		case 2:
			o.Suspended = true
		}
		s.Objects[key] = o
	}
	if r.IntN(8) == 0 && len(named) > 0 {
		key := lab(named[0])
		delete(s.Objects, key)
		s.Problems = []source.Problem{{Path: "x.yaml", Line: 1, Message: "broken"}}
		s.Broken[key] = s.Problems[0]
	}
	return f, s
}

// spoilt is the object with something about it that others may have done.
func spoilt(r *rand.Rand, o object) object {
	deleted := metav1.NewTime(o.live.Status.Conditions[0].LastTransitionTime.Time)
	switch r.IntN(10) {
	case 0:
		o.child = plan.Child{}
	case 1:
		o.child.Data["image"] = "drifted"
	case 2:
		o.live.Spec.Image, o.live.Fields.Image, o.live.Fields.ImageBy = "hand", false, "kubectl-edit"
	case 3:
		o.live.Finalizers = []string{v1.CleanupFinalizer}
	case 4:
		o.live.Finalizers, o.live.DeletionTimestamp = []string{v1.CleanupFinalizer}, &deleted
	case 5:
		o.live.Finalizers, o.live.DeletionTimestamp = []string{"tool/hold"}, &deleted
	case 6:
		o.live.Annotations = map[string]string{v1.PruneAnnotation: v1.Disabled}
	case 7:
		o.live.Labels[v1.SourceLabel] = "another"
	}
	return o
}

// patiently has an engine work on a world like the plan's for a minute.
func patiently(t *testing.T, f *fake, s *source.Snapshot) *report.Report {
	opts := options()
	w := newWorld(f, &opts)
	eo := engineOptions(w, s, &opts)
	eo.Policy = opts.Policy
	e := engine.New(w, eo)
	e.SetHolder("", false)
	e.Take(s)
	ctx, cancel := context.WithCancel(t.Context())
	var leading sync.WaitGroup
	leading.Go(func() { e.Lead(ctx) })
	for range 60 {
		<-time.After(time.Second)
		again := *s
		again.Cause = source.CauseHint
		e.Take(&again)
		synctest.Wait()
	}
	r := e.Report()
	cancel()
	leading.Wait()
	w.addEnded(r)
	w.mergeStatus(r)
	return r
}

// outcome is what a report says. How far something has come that an object waits for
// is only known as of that one's last turn, so it is left out.
func outcome(r *report.Report) []string {
	var out []string
	for i := range r.Items {
		item := &r.Items[i]
		reason := item.Reason
		if strings.HasPrefix(reason, "waits for lab/") {
			reason, _, _ = strings.Cut(reason, ":")
		}
		out = append(out, fmt.Sprint(item.Name, " ", item.Action, " ", item.Target, " ", reason, " ", item.Failed(),
			" ", item.Generation, " ", item.ObservedGeneration))
	}
	for _, h := range r.Held {
		out = append(out, "held "+h.Name+" "+h.Reason)
	}
	return append(out, r.HeldDigest)
}
