package engine

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

var (
	checkout = plan.Key{Namespace: "lab", Name: "checkout"}
	billing  = plan.Key{Namespace: "lab", Name: "billing"}
	search   = plan.Key{Namespace: "lab", Name: "search"}
)

// rig is an engine on a cluster in memory.
type rig struct {
	*Engine
	t       testing.TB
	cluster *fakeCluster
	log     *strings.Builder
	// source and approvals are only at work in tests that ask for it.
	source    *fakeSource
	approvals *fakeApprovals
	stop      func()

	mu      sync.Mutex
	reports []*report.Report
	times   []time.Time
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, cluster: newFake(), log: &strings.Builder{}, source: newSource(), approvals: &fakeApprovals{given: map[string]bool{}}}
	opts := Options{
		Policy:       plan.Policy{SourceName: "default", Unlabelled: true, CreateNamespaces: true},
		Workers:      4,
		Backoff:      Backoff{Initial: 200 * time.Millisecond, Max: time.Minute},
		ScanInterval: 30 * time.Second,
		SourcePath:   "desired",
		SourceStatus: func() source.Status { return source.Status{Mode: source.ModeWatch, Interval: 30 * time.Second} },
		Version:      "v-test",
		TakenOver:    func() time.Time { return time.Time{} },
		Rescan:       r.source.Rescan,
		Approvals:    r.approvals,
		Publish:      r.publish,
		Log:          slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for _, c := range change {
		c(&opts)
	}
	r.Engine = New(r.cluster, opts)
	r.cluster.engine = r.Engine
	return r
}

func (r *rig) publish(rep *report.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports, r.times = append(r.reports, rep), append(r.times, time.Now())
}

// lead makes the engine lead until the function that it returns is called, which
// waits for its end.
func (r *rig) lead() (stop func()) {
	r.SetHolder("me", false)
	stop = background(r.t, r.Lead)
	synctest.Wait()
	return stop
}

func background(t testing.TB, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// pass lets d go by, and then everything that can happen at once.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// file is a document with an image for the object that key names.
func file(key plan.Key, image string) source.Object {
	return source.Object{Key: key, Image: image, File: key.Name + ".yaml", Line: 1, Document: 1, Digest: key.Name + image}
}

// snapshot is a complete one of these documents.
func snapshot(objects ...source.Object) *source.Snapshot {
	s := &source.Snapshot{Complete: true, Cause: source.CauseHint, Files: len(objects), Objects: map[plan.Key]source.Object{}}
	for _, o := range objects {
		s.Objects[o.Key] = o
		s.Digest += o.Digest + ";"
	}
	return s
}

func interval(s *source.Snapshot) *source.Snapshot {
	s.Cause = source.CauseInterval
	return s
}

// item is what the report says of one object.
func (r *rig) item(key plan.Key) report.Item {
	r.t.Helper()
	for _, it := range r.Report().Items {
		if it.Namespace == key.Namespace && it.Name == key.Name {
			return it
		}
	}
	r.t.Fatalf("%s isn't in the report", key)
	return report.Item{}
}

func (r *rig) wantSteps(want ...string) {
	r.t.Helper()
	got := r.cluster.taken()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("steps %q, want %q", got, want)
	}
}

func (r *rig) wantConverged() {
	r.t.Helper()
	if rep := r.Report(); !rep.Converged {
		r.t.Errorf("not converged: %s", rep.WaitingFor)
	}
}

func (r *rig) wantWaiting(part string) {
	r.t.Helper()
	if rep := r.Report(); rep.Converged || !strings.Contains(rep.WaitingFor, part) {
		r.t.Errorf("converged %t, waiting for %q, want %q", rep.Converged, rep.WaitingFor, part)
	}
}

// created is every step that a new object takes.
func created(names ...string) []string {
	var steps []string
	for _, name := range names {
		steps = append(steps, "apply the WebService "+name, "create the ConfigMap "+name, "write the status "+name)
	}
	return steps
}
