package cli

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/preview"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/internal/term"
	"labhub.io/webservice-controller/manifests"
)

// exitChanges: plan has found something to do.
const exitChanges = 2

// planPatience is how long plan waits for an API server that gives no answer.
const planPatience = 10 * time.Second

func planCommand(p *Process) *cobra.Command {
	var output string
	var server bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what a pass would do, without doing it",
		Long: "plan reads the files and the cluster once and lists every write that a pass would send:\n" +
			"fields as they are and as they would be, with whose they are; deletions; what is held or\n" +
			"waits, and why. It writes nothing, and needs neither the lease nor the out directory.\n\n" +
			"With --server, the API server judges every write as a dry run, so that its defaults, and\n" +
			"webhooks and policies that change or refuse something, are in the plan.",
		Example: "  webservice-controller plan --source desired\n" +
			"  webservice-controller plan --server\n" +
			"  webservice-controller plan -o json | jq '.items[] | select(.action != \"noop\")'",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usagef("--output %s isn't known: write text or json", strconv.Quote(output))
			}
			return planned(cmd, p, server, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&server, "server", false, "have the API server judge every write as a dry run")
	return cmd
}

// planned works out the plan and prints it.
func planned(cmd *cobra.Command, p *Process, server, asJSON bool) error {
	ctx := cmd.Context()
	t, err := newPlanner(cmd, p, server)
	if err != nil {
		return err
	}
	made, err := t.plan(ctx)
	if ctx.Err() != nil {
		return failed(errors.New("interrupted: nothing was planned, and nothing changed"))
	}
	if err != nil {
		return failed(err)
	}
	write := t.writeText
	if asJSON {
		write = t.writeJSON
	}
	if err := write(p.Stdout, made); err != nil {
		return failed(err)
	}
	return t.verdict(made)
}

// planner is what a plan is made of.
type planner struct {
	process  *Process
	cfg      config.Config
	server   bool
	cluster  *kube.Cluster
	approval *approvals
	// snapshot is the one look at the files.
	snapshot *source.Snapshot
}

func newPlanner(cmd *cobra.Command, p *Process, server bool) (*planner, error) {
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	if err != nil {
		return nil, usage(err)
	}
	if err := checkPaths(&cfg); err != nil {
		return nil, err
	}
	rc, err := kube.LoadConfig(cfg.Kubeconfig, cfg.Context, p.Version)
	if err != nil {
		return nil, badKubeconfig(err)
	}
	cluster, err := kube.New(rc, kube.Options{
		Namespaces: cfg.Namespaces.Only, InstallCRD: cfg.CRD.Install, CRD: manifests.CRD(),
	})
	if err != nil {
		return nil, usage(err)
	}
	p.bridge(newLogger(newConsole(p), cfg.Log))
	return &planner{process: p, cfg: cfg, server: server, cluster: cluster, approval: newApprovals(p, cfg.Out)}, nil
}

// plan reads files and cluster and works out the plan. Of a source that can't be read
// as a whole nothing follows, so the cluster isn't asked then.
func (t *planner) plan(ctx context.Context) (*preview.Plan, error) {
	var err error
	if t.snapshot, err = source.NewScanner(sourceConfig(&t.cfg)).Scan(ctx); err != nil {
		return nil, err
	}
	if !t.snapshot.Complete {
		return t.nothing(), nil
	}
	if err := t.cluster.Read(ctx, planPatience); err != nil {
		return nil, err
	}
	opts := t.options()
	opts.TakenOver = t.cluster.TakenOver(ctx, t.cfg.Lease.Namespace, t.cfg.Source.Name, report.PeekIdentity(t.cfg.Out))
	return preview.Make(ctx, t.cluster, t.snapshot, opts)
}

func (t *planner) options() preview.Options {
	cfg := &t.cfg
	return preview.Options{
		Policy:       policyOf(cfg),
		Workers:      cfg.Reconcile.Workers,
		Backoff:      backoffOf(cfg),
		ScanInterval: cfg.Source.ScanInterval,
		AllowEmpty:   cfg.Source.AllowEmpty,
		SourcePath:   cfg.Source.Path,
		Version:      t.process.Version,
		Approvals:    t.approval,
		Server:       t.server,
	}
}

// nothing is the plan where nothing can be planned.
func (t *planner) nothing() *preview.Plan {
	s := t.snapshot
	return &preview.Plan{Report: &report.Report{
		ControllerVersion: t.process.Version,
		Source:            report.Source{Path: t.cfg.Source.Path, Name: t.cfg.Source.Name, Revision: s.Revision, Digest: s.Digest},
		Problems:          engine.Problems(s.Problems), Warnings: engine.Problems(s.Warnings),
	}}
}

// verdict is the error in which the plan ends, with its exit code.
func (t *planner) verdict(made *preview.Plan) error {
	r := made.Report
	switch fault := t.fault(); {
	case r.Summary.Errors > 0:
		return failed(errors.New("the plan doesn't get everything to what the files say: " + plural(r.Summary.Errors, "object") + " would fail"))
	case preparingFails(made) != "":
		return failed(errors.New("the CRD can't be installed: " + preparingFails(made)))
	case isDenied(made.Cluster):
		return failed(made.Cluster)
	case len(r.Problems) > 0 && t.snapshot.Complete:
		return &exitError{exitInvalid, errors.New(plural(len(r.Problems), "problem") + " in the files")}
	case fault != nil:
		return &exitError{exitWaiting, fault}
	case t.pending(made):
		return &exitError{exitChanges, pending{}}
	}
	return nil
}

// fault is what is wrong with the source as a whole, or nil.
func (t *planner) fault() error {
	s := t.snapshot
	switch {
	case s.Err != nil && s.Complete && t.cfg.Source.AllowEmpty:
		return nil
	case errors.Is(s.Err, source.ErrEmpty):
		return errors.New(s.Err.Error() + ": put the files back, mend source.path, or set source.allowEmpty")
	case s.Err != nil:
		return errors.New(s.Doubt()) // which says what to do, too
	case !s.Complete:
		return errors.New("the source couldn't be read whole")
	case len(s.Unsettled) > 0:
		return errors.New(s.Unsettled[0] + " still changes: let it rest, and plan again")
	}
	return nil
}

// pending says whether there is anything to do, or to wait for.
func (t *planner) pending(made *preview.Plan) bool {
	r := made.Report
	return len(made.First)+len(made.Steps)+len(r.Held)+r.Summary.Requeue > 0 || made.Cluster != nil
}

// preparingFails is why what comes before all objects can't be done; "" where it can.
func preparingFails(made *preview.Plan) string {
	for i := range made.First {
		if made.First[i].Failed != "" {
			return made.First[i].Failed
		}
	}
	return ""
}

// pending is the end of a plan with something to do: no error to tell of, but an exit
// code of its own.
type pending struct{}

func (pending) Error() string { return "there are changes" }

// Unwrap gives no errors, so that none is told.
func (pending) Unwrap() []error { return nil }

// reported says whether the out directory's report holds what the plan does, so that
// the command which approves it works now.
func (t *planner) reported(digest string) bool {
	r, err := report.Read(t.cfg.Out)
	return err == nil && r.HeldDigest == digest
}

func (t *planner) writeText(w io.Writer, made *preview.Plan) error {
	text := planText{screen: term.ScreenOf(w, t.process.Environ)}
	if t.snapshot.Complete {
		text.plan(made, made.Report.HeldDigest == "" || t.reported(made.Report.HeldDigest))
	}
	text.problems(made.Report)
	_, err := io.WriteString(w, text.b.String())
	return err
}
