package preview

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// Options say how a pass would work.
type Options struct {
	// Policy, Backoff, ScanInterval, AllowEmpty, SourcePath and Version are those of
	// the engine.
	Policy       plan.Policy
	Backoff      engine.Backoff
	ScanInterval time.Duration
	AllowEmpty   bool
	SourcePath   string
	Version      string
	// TakenOver is when the lease would be taken from another holder; zero where it
	// wouldn't.
	TakenOver time.Time
	// Workers is how many requests are under way at once.
	Workers int
	// Approvals are looked at, and none is used up.
	Approvals engine.Approvals
	// Server has the API server judge every step that it can as a dry run.
	Server bool
}

// Plan is what a pass would do.
type Plan struct {
	// Report is what the pass would report, with the versions left out that only the
	// API server can give.
	Report *report.Report
	// First is what has to be done before any object: the CRD and namespaces.
	First []Step
	// Steps are those on each object, in their order. An object without any isn't here.
	Steps map[plan.Key][]Step
	// Cluster is what keeps the cluster from being worked on, or nil.
	Cluster error
}

// Step is one write that a pass would send.
type Step struct {
	Kind   plan.StepKind
	Action plan.Action
	// Target is kind/name.
	Target string
	Reason string
	// After is how long the step waits for time to pass: prune.after for a deletion,
	// and what follows from it. 0 is at once.
	After  time.Duration
	Fields []plan.FieldDiff
	// Tried: the API server has judged it, as a dry run.
	Tried bool
	// Failed is why it can't be done, in the API server's words; "" where it can.
	Failed string
}

// Make works out what a pass would do on the cluster, which was read, with what the
// snapshot says. It sends no write. The error is that of ctx alone: what fails is
// part of the plan.
func Make(ctx context.Context, c Cluster, s *source.Snapshot, opts Options) (*Plan, error) {
	w := newWorld(c, &opts)
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	w.lookAhead(ctx, s, opts.Workers)
	e := engine.New(w, engineOptions(w, s, &opts))
	e.SetHolder("", false)
	e.Take(s)
	if err := run(ctx, e, s); err != nil {
		return nil, err
	}
	out := &Plan{Report: e.Report(), First: w.first, Steps: w.steps, Cluster: w.State()}
	w.addEnded(out.Report)
	w.mergeStatus(out.Report)
	known(out.Report)
	return out, nil
}

// engineOptions are those of a pass that doesn't wait for prune.after. One object has
// its turn at a time: with several, what one sees of another would be a matter of chance.
func engineOptions(w *world, s *source.Snapshot, opts *Options) engine.Options {
	policy := opts.Policy
	policy.Prune.After = 0
	return engine.Options{
		Policy: policy, Workers: 1, Backoff: opts.Backoff, ScanInterval: opts.ScanInterval,
		AllowEmpty: opts.AllowEmpty, SourcePath: opts.SourcePath, Version: opts.Version,
		Trigger: report.TriggerOnce,
		SourceStatus: func() source.Status {
			return source.Status{Mode: source.ModeWatch, LastScan: s.Scanned, Interval: opts.ScanInterval}
		},
		TakenOver: func() time.Time { return opts.TakenOver },
		Rescan:    func() {}, // another scan comes anyhow
		Approvals: unused{opts.Approvals},
		Evidence:  w,
		Publish:   func(*report.Report) {},
		Log:       slog.New(slog.DiscardHandler),
	}
}

// scans is how often the files must have been looked at before what isn't in them is
// known to be gone.
const scans = 2

// run has the engine work until nothing can be done now. The files are read once, so
// each further scan has the same to say.
func run(ctx context.Context, e *engine.Engine, s *source.Snapshot) error {
	working, stop := context.WithCancel(ctx)
	var leading sync.WaitGroup
	defer leading.Wait()
	defer stop()
	leading.Go(func() { e.Lead(working) })
	for range scans {
		if err := e.Rest(ctx); err != nil {
			return err
		}
		again := *s
		again.Cause = source.CauseHint
		e.Take(&again)
	}
	return e.Rest(ctx)
}

// unused are approvals that stay where they are.
type unused struct{ engine.Approvals }

// Retain removes nothing.
func (unused) Retain(string) error { return nil }

// known leaves out the versions that no server has given.
func known(r *report.Report) {
	for i := range r.Items {
		v := &r.Items[i].ResourceVersions
		for _, version := range []*string{&v.WebService.Before, &v.WebService.After, &v.ConfigMap.Before, &v.ConfigMap.After} {
			if plan.IsSimulated(*version) {
				*version = ""
			}
		}
	}
}
