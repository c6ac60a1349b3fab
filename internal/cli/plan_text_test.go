package cli

import (
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/preview"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

// somePlan has one object of each kind.
func somePlan() *preview.Plan {
	item := func(name string, action report.Action, reason string) report.Item {
		return report.Item{Namespace: "shop", Name: name, Action: action, Reason: reason, Source: name + ".yaml:1"}
	}
	held := item("held", "requeue", "no file; held: 2 objects would be deleted, and that is all that this source owns: approve that, or bring the files back")
	held.Requeue, held.Source = &report.Requeue{AfterSeconds: 30}, ""
	waits := item("waits", "requeue", "waits for shop/db: it doesn't exist, and no file asks for it")
	waits.Requeue = &report.Requeue{AfterSeconds: 30}
	fails := item("fails", "requeue", "a ConfigMap of that name belongs to someone else: remove or rename it, or rename the WebService")
	fails.Requeue = &report.Requeue{AfterSeconds: 1, IsError: true}
	gone := item("old", "delete", "its file is gone")
	gone.Source = ""
	return &preview.Plan{
		First: []preview.Step{
			{Kind: plan.StepCreateNamespace, Action: plan.Create, Target: "namespace/shop", Reason: "the namespace doesn't exist"},
		},
		Report: &report.Report{
			Items: []report.Item{
				item("edited", "update", ""), fails, held, item("new", "create", ""), gone, item("same", "noop", ""), waits,
			},
			Held:        []report.Held{{Namespace: "shop", Name: "held", Reason: held.Reason}},
			HeldCommand: "webservice-controller approve " + strings.Repeat("0123456789abcdef", 4) + " --out /var/lib/out",
			Problems:    []report.Problem{{Path: "bad.yaml", Line: 3, Column: 9, Message: "spec.image is a number: write it in quotes"}},
			Warnings:    []report.Problem{{Path: "new.yaml", Line: 7, Column: 1, Message: "the label webservice.labhub.io/source is left out"}},
		},
		Steps: map[plan.Key][]preview.Step{
			shop("new"): {
				{Kind: plan.StepApply, Action: plan.Create, Target: "webservice/new", Fields: []plan.FieldDiff{
					{Path: "spec.image", To: new("registry.example.org/team/new:1.0")},
					{Path: "spec.replicas", To: new("1"), Why: plan.FieldDefault},
				}},
				{Kind: plan.StepCreateChild, Action: plan.Create, Target: "configmap/new-desired", Fields: []plan.FieldDiff{
					{Path: "data.replicas", To: new("1")},
					{Path: "metadata.ownerReferences[controller]", To: new(plan.Unknown)},
				}},
				{Kind: plan.StepWriteStatus, Action: plan.Update, Target: "webservice/new", Fields: []plan.FieldDiff{
					{Path: "status.replicas", To: new("1")},
					{Path: "status.conditions[type=Ready].status", To: new("True")},
				}},
			},
			shop("edited"): {
				{Kind: plan.StepApply, Action: plan.Update, Target: "webservice/edited", Fields: []plan.FieldDiff{
					{Path: "spec.image", From: new("registry.example.org/team/a\x1b[31m:1"), To: new("registry.example.org/team/a:2"), By: "kubectl-edit"},
					{Path: "spec.replicas", From: new("3"), To: new("2")},
					{Path: "spec.tier", From: new("dev"), To: new("dev"), By: "helm", Why: plan.FieldOwned},
					{Path: "metadata.labels[team]", From: new("a"), Why: plan.FieldDropped},
				}},
				{Kind: plan.StepDeleteChild, Action: plan.Delete, Target: "configmap/edited-desired", Reason: "the ConfigMap belongs to an earlier object of this name"},
			},
			shop("old"): {{
				Kind: plan.StepDelete, Action: plan.Delete, Target: "webservice/old", Reason: "its file is gone", After: 3 * time.Second,
			}},
			shop("waits"): {{
				Kind: plan.StepApply, Action: plan.Create, Target: "webservice/waits", Fields: []plan.FieldDiff{{Path: "spec.image", To: new("a:1")}},
			}},
		},
	}
}

func shop(name string) plan.Key { return plan.Key{Namespace: "shop", Name: name} }

func textOf(screen term.Screen, p *preview.Plan) string {
	t := planText{screen: screen}
	t.plan(p, true)
	t.problems(p.Report)
	return t.b.String()
}

const planAt80 = `+ namespace/shop will be created
    the namespace doesn't exist

~ shop/edited will be updated (edited.yaml:1)
    ~ webservice/edited
        ~ spec.image:
            "registry.example.org/team/a\x1b[31m:1" ->
            "registry.example.org/team/a:2"
            # set by kubectl-edit
        ~ spec.replicas:         3 -> 2
        ~ spec.tier:
            "dev" stays
            # ours from then on; so far helm owns it
        - metadata.labels[team]: "a"  # no longer in the file
    - configmap/edited-desired: the ConfigMap belongs to an earlier object of
        this name

! shop/fails fails (fails.yaml:1)
    a ConfigMap of that name belongs to someone else: remove or rename it, or
    rename the WebService

! shop/held stays: its deletion is held
    no file; held: 2 objects would be deleted, and that is all that this
    source owns: approve that, or bring the files back

+ shop/new will be created (new.yaml:1)
    + webservice/new
        + spec.image:    "registry.example.org/team/new:1.0"
        + spec.replicas: 1  # default
    + configmap/new-desired
        + data.replicas: "1"
    ~ status: Ready True, replicas 1

- shop/old would be deleted after prune.after (3s)
    - webservice/old: its file is gone

+ shop/waits will be created, then waits (waits.yaml:1)
    + webservice/waits
        + spec.image: "a:1"
    waits for shop/db: it doesn't exist, and no file asks for it

1 deletion is held. To allow exactly that:
    webservice-controller approve 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef --out /var/lib/out

Plan: 2 to create, 1 to update, 1 to delete, 1 held, 1 waiting, 1 failing, and
first 1 namespace to create; 1 unchanged
! bad.yaml:3:9: spec.image is a number: write it in quotes
! new.yaml:7:1: warning: the label webservice.labhub.io/source is left out
`

func TestPlanText(t *testing.T) {
	t.Parallel()
	if got := textOf(term.Screen{Terminal: true, Width: 80}, somePlan()); got != planAt80 {
		t.Errorf("at 80 columns:\n%s", got)
	}
	wide := textOf(term.Screen{Terminal: true, Width: 200}, somePlan())
	for _, line := range []string{
		`        ~ spec.image:            "registry.example.org/team/a\x1b[31m:1" -> "registry.example.org/team/a:2"  # set by kubectl-edit`,
		`        ~ spec.tier:             "dev" stays  # ours from then on; so far helm owns it`,
		"Plan: 2 to create, 1 to update, 1 to delete, 1 held, 1 waiting, 1 failing, and first 1 namespace to create; 1 unchanged",
	} {
		if !strings.Contains(wide, line+"\n") {
			t.Errorf("at 200 columns there is no line\n%s\nin\n%s", line, wide)
		}
	}
	if piped := textOf(term.Screen{}, somePlan()); piped != wide {
		t.Errorf("where nobody looks on:\n%s", piped)
	}
}

// Nothing but the command to be copied is wider than the terminal, and what comes from
// files or the cluster is harmless.
func TestPlanTextFits(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 100, 200} {
		for line := range strings.Lines(textOf(term.Screen{Terminal: true, Width: width}, somePlan())) {
			if line = strings.TrimSuffix(line, "\n"); term.Columns(line) > width && !strings.Contains(line, "approve 0123") {
				t.Errorf("at %d columns: %s", width, line)
			}
			if term.Line(line) != line {
				t.Errorf("a line that a terminal would obey: %q", line)
			}
		}
	}
}

func TestPlanTextInColour(t *testing.T) {
	t.Parallel()
	got := textOf(term.Screen{Terminal: true, Width: 80, Colour: true}, somePlan())
	for _, part := range []string{
		"\x1b[32m+\x1b[0m \x1b[1mshop/new will be created (new.yaml:1)\x1b[0m\n",
		"        \x1b[31m-\x1b[0m metadata.labels[team]: \"a\"  # no longer in the file\n",
		"\x1b[31m!\x1b[0m \x1b[1mshop/held stays",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q isn't in\n%q", part, got)
		}
	}
}

// The last line says what it comes to.
func TestPlanSums(t *testing.T) {
	t.Parallel()
	same := report.Item{Namespace: "shop", Name: "same", Action: report.ActionNoop}
	asleep := report.Item{Namespace: "shop", Name: "asleep", Action: report.ActionNoop, Suspended: true, Reason: "suspended by the annotation"}
	definition := preview.Step{Action: plan.Create, Target: "customresourcedefinition/x", Tried: true}
	for _, c := range []struct {
		name string
		plan preview.Plan
		want string
	}{
		{"nothing at all", preview.Plan{Report: &report.Report{}}, "No changes: there is no object, and no file asks for one."},
		{"all as it should be", preview.Plan{Report: &report.Report{Items: []report.Item{same}}}, "No changes: 1 object is as it should be."},
		{"something suspended", preview.Plan{Report: &report.Report{Items: []report.Item{same, asleep}}},
			". shop/asleep is left alone\n    suspended by the annotation\n\nNo changes: 1 object is as it should be, 1 suspended."},
		{"a problem", preview.Plan{Report: &report.Report{Items: []report.Item{same}, Problems: []report.Problem{{Path: "a.yaml", Message: "bad"}}}},
			"No changes: 1 object stays as it is, 1 problem in the files to mend.\n! a.yaml: bad"},
		{"the definition alone", preview.Plan{Report: &report.Report{Items: []report.Item{same}}, First: []preview.Step{definition}},
			"Plan: the CRD to install; 1 unchanged\nThe API server has judged every write as a dry run."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := textOf(term.Screen{}, &c.plan); !strings.HasSuffix(got, c.want+"\n") {
				t.Errorf("it ends in\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
