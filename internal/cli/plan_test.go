package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/preview"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// The first that applies of: something fails, a problem, the source, changes.
func TestPlanExitCodes(t *testing.T) {
	t.Parallel()
	missing := &source.RootError{Path: "desired", Reason: source.ErrMissing}
	empty := &source.RootError{Path: "desired", Reason: source.ErrEmpty}
	held := []report.Held{{Name: "a"}}
	problems := []report.Problem{{Path: "a.yaml", Message: "broken"}}
	steps := map[plan.Key][]preview.Step{shop("a"): {{Kind: plan.StepApply}}}
	whole := source.Snapshot{Complete: true}
	for _, c := range []struct {
		name     string
		snapshot source.Snapshot
		plan     preview.Plan
		report   report.Report
		allows   bool // source.allowEmpty
		code     int
		says     string
	}{
		{name: "nothing to do", snapshot: whole, code: 0},
		{name: "a step", snapshot: whole, plan: preview.Plan{Steps: steps}, code: 2},
		{name: "a namespace", snapshot: whole, plan: preview.Plan{First: []preview.Step{{Target: "namespace/a"}}}, code: 2},
		{name: "a hold", snapshot: whole, report: report.Report{Held: held}, code: 2},
		{name: "a wait", snapshot: whole, report: report.Report{Summary: report.Summary{Requeue: 1}}, code: 2},
		{name: "no definition, and nobody installs it", snapshot: whole, plan: preview.Plan{Cluster: errors.New("it is missing")}, code: 2},
		{name: "a problem", snapshot: whole, plan: preview.Plan{Steps: steps}, report: report.Report{Problems: problems}, code: 3, says: "1 problem in the files"},
		{name: "a problem and a hold", snapshot: whole, report: report.Report{Problems: problems, Held: held}, code: 3, says: "1 problem in the files"},
		{name: "a failure and a problem", snapshot: whole, report: report.Report{Problems: problems, Summary: report.Summary{Errors: 2}}, code: 1,
			says: "the plan doesn't get everything to what the files say: 2 objects would fail"},
		{name: "a definition that is refused", snapshot: whole, plan: preview.Plan{First: []preview.Step{{Failed: "a policy says no"}}}, code: 1,
			says: "the CRD can't be installed: a policy says no"},
		{name: "no rights", snapshot: whole, plan: preview.Plan{Cluster: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)}, code: 1, says: "forbidden"},
		{name: "no source", snapshot: source.Snapshot{Err: missing}, code: 5, says: "source desired doesn't exist"},
		{name: "an empty source", snapshot: source.Snapshot{Complete: true, Err: empty}, report: report.Report{Held: held}, code: 5, says: "source desired holds no WebService"},
		{name: "an empty source that is meant", snapshot: source.Snapshot{Complete: true, Err: empty}, allows: true, code: 0},
		{name: "a file that never rests", snapshot: source.Snapshot{Complete: true, Unsettled: []string{"a.yaml"}}, code: 5, says: "a.yaml still changes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := planner{snapshot: &c.snapshot}
			p.cfg.Source.AllowEmpty = c.allows
			c.plan.Report = &c.report
			err := p.verdict(&c.plan)
			if codeOf(err) != c.code || c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("code %d of %v, want %d", codeOf(err), err, c.code)
			}
			if told := flatten(err); err != nil && (c.says == "") != (len(told) == 0) {
				t.Errorf("told: %v", told)
			}
		})
	}
}

func TestPlanJSON(t *testing.T) {
	t.Parallel()
	p := planner{server: true}
	made := somePlan()
	made.Report.Source.LastScan = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))
	made.Steps[shop("new")][0].Tried = true
	var out bytes.Buffer
	if err := p.writeJSON(&out, made); err != nil {
		t.Fatal(err)
	}
	var file struct {
		Schema string
		Server bool
		Source struct {
			LastScan string `json:"last_scan"`
		}
		First []struct{ Action, Target, Reason string }
		Items []struct {
			Name, Action, Reason, Source string
			AfterSeconds                 *int  `json:"after_seconds"`
			IsError                      *bool `json:"is_error"`
			Changes                      []struct {
				Action, Target, Step, Reason string
				AfterSeconds                 float64 `json:"after_seconds"`
				DryRun                       bool    `json:"dry_run"`
				Fields                       []map[string]string
			}
		}
		HeldCommand string `json:"held_command"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	if file.Schema != "webservice-controller/plan/v1" || !file.Server || file.Source.LastScan != "2026-01-02T02:04:05.678Z" ||
		len(file.First) != 1 || file.First[0].Target != "namespace/shop" || file.HeldCommand != made.Report.HeldCommand || len(file.Items) != 7 {
		t.Errorf("the file is\n%s", out.String())
	}
	edited, held, fresh, old, same := file.Items[0], file.Items[2], file.Items[3], file.Items[4], file.Items[5]
	if f := edited.Changes[0].Fields; len(f) != 4 || f[0]["by"] != "kubectl-edit" || f[0]["from"] != "registry.example.org/team/a\x1b[31m:1" ||
		f[0]["to"] != "registry.example.org/team/a:2" || f[3]["why"] != "dropped" || f[2]["why"] != "owned" {
		t.Errorf("fields %+v", edited.Changes[0].Fields)
	}
	if _, there := edited.Changes[0].Fields[3]["to"]; there {
		t.Error("a field that goes has a new value")
	}
	if held.Action != "requeue" || held.AfterSeconds == nil || *held.AfterSeconds != 30 || held.IsError == nil || len(held.Changes) != 0 || held.Changes == nil {
		t.Errorf("the held one is %+v", held)
	}
	if !fresh.Changes[0].DryRun || fresh.Changes[1].DryRun || fresh.Changes[0].Step != "apply the WebService" || fresh.AfterSeconds != nil {
		t.Errorf("the new one is %+v", fresh)
	}
	if old.Changes[0].AfterSeconds != 3 || old.Changes[0].Action != "delete" || old.Changes[0].Target != "webservice/old" {
		t.Errorf("the old one is %+v", old)
	}
	if same.Action != "noop" || same.Changes == nil {
		t.Errorf("the one that stays is %+v", same)
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Error("a terminal would obey what is in the file")
	}
}
