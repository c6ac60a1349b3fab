package cli

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/preview"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

// planSchema names the format of plan -o json; it changes when a reader would break.
const planSchema = "webservice-controller/plan/v1"

// planFile is what plan prints as JSON. What it shares with the report has the
// report's shape.
type planFile struct {
	Schema            string `json:"schema"`
	ControllerVersion string `json:"controller_version"`
	// Server: the API server was asked, by dry runs.
	Server bool          `json:"server"`
	Source report.Source `json:"source"`
	// ClusterProblem is what keeps the cluster from being worked on.
	ClusterProblem string `json:"cluster_problem,omitempty"`
	// First is what is done before any object.
	First    []planChange     `json:"first"`
	Summary  report.Summary   `json:"summary"`
	Items    []planItem       `json:"items"`
	Problems []report.Problem `json:"problems"`
	Warnings []report.Problem `json:"warnings"`
	Held     []report.Held    `json:"held"`

	HeldDigest  string `json:"held_digest,omitempty"`
	HeldCommand string `json:"held_command,omitempty"`
}

// planItem is an item of the report, with the writes that it comes of.
type planItem struct {
	report.Item
	Changes []planChange `json:"changes"`
}

// planChange is one write.
type planChange struct {
	Action plan.Action `json:"action"`
	Target string      `json:"target"`
	// Step says in words what is written.
	Step   string `json:"step,omitempty"`
	Reason string `json:"reason"`
	// AfterSeconds is how long the files must stay as they are before.
	AfterSeconds float64 `json:"after_seconds,omitempty"`
	// DryRun: the API server has judged this write.
	DryRun bool        `json:"dry_run,omitempty"`
	Error  string      `json:"error,omitempty"`
	Fields []planField `json:"fields,omitempty"`
}

// planField is a field that changes; a side that isn't there is absent.
type planField struct {
	Path string           `json:"path"`
	From *string          `json:"from,omitempty"`
	To   *string          `json:"to,omitempty"`
	By   string           `json:"by,omitempty"`
	Why  plan.FieldReason `json:"why,omitempty"`
}

func (t *planner) writeJSON(w io.Writer, made *preview.Plan) error {
	r := made.Report
	file := planFile{
		Schema: planSchema, ControllerVersion: r.ControllerVersion, Server: t.server, Source: r.Source,
		First: planChanges(made.First), Summary: r.Summary, Items: []planItem{},
		Problems: r.Problems, Warnings: r.Warnings, Held: r.Held, HeldDigest: r.HeldDigest, HeldCommand: r.HeldCommand,
	}
	file.Source.LastScan = file.Source.LastScan.UTC().Truncate(time.Millisecond)
	if made.Cluster != nil {
		file.ClusterProblem = made.Cluster.Error()
	}
	if file.Held == nil {
		file.Held = []report.Held{}
	}
	for _, item := range r.Items {
		key := plan.Key{Namespace: item.Namespace, Name: item.Name}
		file.Items = append(file.Items, planItem{Item: item, Changes: planChanges(made.Steps[key])})
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(file); err != nil {
		return err
	}
	_, err := io.WriteString(w, term.JSON(text.String()))
	return err
}

func planChanges(steps []preview.Step) []planChange {
	out := make([]planChange, 0, len(steps))
	for i := range steps {
		s := &steps[i]
		c := planChange{
			Action: s.Action, Target: s.Target, Reason: s.Reason, AfterSeconds: s.After.Seconds(), DryRun: s.Tried, Error: s.Failed,
		}
		if s.Kind != plan.StepNone {
			c.Step = s.Kind.String()
		}
		for _, f := range s.Fields {
			c.Fields = append(c.Fields, planField{Path: f.Path, From: f.From, To: f.To, By: f.By, Why: f.Why})
		}
		out = append(out, c)
	}
	return out
}
