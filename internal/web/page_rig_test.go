package web

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/browser"
	"labhub.io/webservice-controller/internal/report"
)

// pageLimit is how long the page may take for what takes no time, on a busy machine.
const pageLimit = 10 * time.Second

// shown is what a server shows beside its reports.
type shown struct {
	mu      sync.Mutex
	history report.History
	objects map[string]*report.Object
	unready error
}

func (s *shown) Object(namespace, name string) (*report.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[namespace+"/"+name]
	return o, ok
}

func (s *shown) History() report.History {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history
}

func (s *shown) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unready
}

// site is a server with a browser that looks at it.
type site struct {
	*Server
	*browser.Browser
	shown *shown
}

func newSite(t *testing.T) *site {
	t.Helper()
	view := &shown{history: aHistory(time.Now()), objects: map[string]*report.Object{}}
	s := serve(t, view.ready)
	s.Show(view)
	return &site{s, browser.Start(t), view}
}

func (s *site) url() string { return "http://" + s.Addr() + "/" }

// shoot keeps a picture of the page, for people who want to see what it looks like:
// PAGE_SHOTS is the directory.
func shoot(p *browser.Page, name string) {
	p.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Screenshot(), 0o644); err != nil {
		p.Fatal(err)
	}
}

// aHistory is one hour of cycles: passes, changes, and two times of trouble.
func aHistory(now time.Time) report.History {
	var h report.History
	at := now.Add(-50 * time.Minute).UTC()
	for i := range 90 {
		c := report.Cycle{Cycle: int64(i + 1), Trigger: report.TriggerInterval, Started: at, DurationSeconds: 0.002 + float64(i%7)/4000}
		switch {
		case i%11 == 0:
			c.Trigger, c.DurationSeconds, c.Writes = report.TriggerFiles, 0.18+float64(i)/100, int64(3+i*4)
		case i%23 == 5:
			c.Trigger, c.DurationSeconds, c.Writes, c.Healed = report.TriggerCluster, 0.09, 3, 1
		}
		h.Cycles = append(h.Cycles, c)
		at = at.Add(33 * time.Second)
	}
	start := now.Add(-50 * time.Minute).UTC()
	h.NotConverged = []report.Span{
		{From: start, To: start.Add(4 * time.Second)},
		{From: start.Add(20 * time.Minute), To: start.Add(26 * time.Minute)},
		{From: start.Add(35 * time.Minute), To: start.Add(35*time.Minute + 300*time.Millisecond)},
	}
	return h
}

// aReport is one of n objects that are as they should be.
func aReport(n int) *report.Report {
	now := time.Now()
	r := &report.Report{
		Cycle: 90, Trigger: report.TriggerInterval, Started: now.Add(-3 * time.Second), ControllerVersion: "v1.4.0 0f3d2c1",
		Role: report.RoleActive, Holder: "node-a_5f0c1b", Converged: true,
		Source: report.Source{
			Path: "desired", Name: "default", Revision: "9f2c4e1ab37d5f60a1b2c3d4e5f60718293a4b5c", Digest: "d", Complete: true, Files: n, Objects: n, Skipped: 2,
			WatchMode: "watch", LastScan: now.Add(-4 * time.Second), ScanIntervalSeconds: 30,
		},
		Requests: report.Requests{Reads: 0, Writes: 3},
	}
	r.Finish(now.Add(-2900 * time.Millisecond))
	areas := []string{"billing", "checkout", "crd-lab", "identity", "search"}
	per := (n + len(areas) - 1) / len(areas)
	for i := range n {
		area := areas[i/max(per, 1)]
		name := fmt.Sprintf("%s-%05d", []string{"api", "cache", "worker", "web"}[i%4], i)
		it := item{Item: report.Item{
			Namespace: area, Name: name, Action: report.ActionNoop, Reason: "spec, ConfigMap and status are as they should be",
			Target: "webservice/" + name, Source: fmt.Sprintf("%s/%s.yaml:1", area, name), Generation: int64(1 + i%5), ObservedGeneration: int64(1 + i%5),
			ResourceVersions: report.ResourceVersions{
				WebService: report.Versions{Before: fmt.Sprint(1000 + i), After: fmt.Sprint(1000 + i)},
				ConfigMap:  report.Versions{Before: fmt.Sprint(900 + i), After: fmt.Sprint(900 + i)},
			},
		}}.Item
		r.Items = append(r.Items, it)
	}
	sortItems(r.Items)
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
	return r
}

// troubled is one in which everything is that a person has to see to.
func troubled(n int) *report.Report {
	r := aReport(n)
	set := func(i int, action report.Action, reason string, requeue *report.Requeue) {
		r.Items[i].Action, r.Items[i].Reason, r.Items[i].Requeue = action, reason, requeue
		if requeue != nil && requeue.IsError {
			r.Items[i].Error = reason
		}
	}
	set(0, report.ActionUpdate, `spec.image is "nginx:1.27" and should be "nginx:1.28"`, nil)
	set(1, report.ActionRequeue, "the server refuses it: admission webhook says replicas must be odd", &report.Requeue{AfterSeconds: 12, IsError: true})
	set(2, report.ActionRequeue, "waits for crd-lab/cache to be ready", &report.Requeue{AfterSeconds: 5})
	set(3, report.ActionRequeue, "no file; held: 3 of 5 would be deleted, more than half", &report.Requeue{AfterSeconds: 30})
	set(4, report.ActionNoop, "suspended by the annotation webservice.labhub.io/reconcile in the file", nil)
	r.Items[4].Suspended = true
	set(5, report.ActionNoop, "its file can't be used, so the object is kept as it is", nil)
	r.Items[5].Unusable, r.Items[5].Source = true, ""
	r.Items[2].ObservedGeneration--
	r.Converged, r.WaitingFor = false, "1 failing object: "+r.Items[1].Namespace+"/"+r.Items[1].Name+": the server refuses it: admission webhook says replicas must be odd"
	r.Held = []report.Held{{Namespace: r.Items[3].Namespace, Name: r.Items[3].Name, Reason: "no file; held: 3 of 5 would be deleted, more than half"}}
	r.HeldDigest = "6b1c0f3a"
	r.HeldCommand = "webservice-controller approve 6b1c0f3ad14e5f60a1b2c3d4e5f60718293a4b5c6b1c0f3ad14e5f60a1b2c3d4 --out out"
	r.Problems = []report.Problem{
		{Path: "crd-lab/checkout.yaml", Document: 1, Line: 7, Column: 10, Field: "spec.image", Message: `spec.image is a number: quote it, as in image: "1.20"`},
		{Path: "shop/empty.yaml", Document: 0, Message: "the file is empty: delete it, or write a document"},
	}
	r.Warnings = []report.Problem{{Path: "shop/web.yaml", Document: 1, Line: 4, Column: 3, Field: "metadata.finalizers", Message: "the finalizer example.org/x isn't ours, and is left out"}}
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
	return r
}

// anObject is what is known of an item of a report.
func anObject(i *report.Item) *report.Object {
	text := func(s string) *string { return &s }
	now := time.Now().UTC()
	ours := []string{"webservice-controller"}
	web, child := "webservice/"+i.Name, "configmap/"+i.Name+"-desired"
	return &report.Object{
		Namespace: i.Namespace, Name: i.Name, Source: i.Source, Usable: true, Exists: true, ConfigMap: true, UID: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
		Fields: []report.Field{
			{Target: web, Path: "spec.image", Desired: text("nginx:1.28"), Actual: text("nginx:1.27"), Owners: []string{"kubectl-edit"}, Differs: true},
			{Target: web, Path: "spec.replicas", Desired: text("3"), Actual: text("3"), Owners: append(ours, "kubectl")},
			{Target: web, Path: "spec.tier", Actual: text("dev"), Owners: []string{}},
			{Target: web, Path: "metadata.labels[webservice.labhub.io/source]", Desired: text("default"), Actual: text("default"), Owners: ours},
			{Target: web, Path: "status.conditions[type=Ready].status", Desired: text("True"), Actual: text("True"), Owners: ours},
			{Target: child, Path: "data.image", Desired: text("nginx:1.27"), Actual: text("nginx:1.27"), Owners: ours},
			{Target: child, Path: "data.tier", Desired: text("dev"), Owners: []string{}, Differs: true},
		},
		Decisions: []report.Decision{
			{At: now.Add(-3 * time.Second), Action: report.ActionRequeue, Reason: "the server refuses it", Target: web, IsError: true},
			{At: now.Add(-40 * time.Second), Action: report.ActionUpdate, Reason: `spec.image is "nginx:1.27" and should be "nginx:1.28"`, Target: web},
			{At: now.Add(-26 * time.Hour), Action: report.ActionNoop, Reason: "spec, ConfigMap and status are as they should be", Target: web},
		},
	}
}

func standby(n int) *report.Report {
	r := aReport(n)
	r.Role, r.Converged, r.WaitingFor = report.RoleStandby, false, "standing by: the lease is held by node-b_77aa01"
	r.Holder = "node-b_77aa01"
	return r
}

// emptied is one whose files have all gone at once.
func emptied(n int) *report.Report {
	r := aReport(n)
	const reason = "no file; held: the source is empty"
	for i := range r.Items {
		it := &r.Items[i]
		it.Action, it.Reason, it.Source, it.Requeue = report.ActionRequeue, reason, "", &report.Requeue{AfterSeconds: 30}
		r.Held = append(r.Held, report.Held{Namespace: it.Namespace, Name: it.Name, Reason: reason})
	}
	r.Source.Files, r.Source.Objects, r.SourceFailed = 0, 0, true
	r.HeldDigest, r.HeldCommand = "6b1c0f3a", "webservice-controller approve 6b1c0f3a --out out"
	r.Converged = false
	r.WaitingFor = fmt.Sprintf("source desired holds no WebService: put the files back, mend source.path, or set source.allowEmpty; %d held deletions: %s/%s: %s (%s)",
		n, r.Items[0].Namespace, r.Items[0].Name, reason, r.HeldCommand)
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
	return r
}

var errAway = errors.New("the API server can't be reached: connection refused")
