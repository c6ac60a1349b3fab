package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

func onceCommand(p *Process) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "once",
		Short: "Converge, write the report and stop",
		Example: "  webservice-controller once --source desired\n" +
			"  webservice-controller once --timeout 30s",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return usagef("--timeout %s isn't greater than 0: write a duration such as 2m", timeout)
			}
			return once(cmd, p, timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait for what isn't ready yet")
	return cmd
}

// once converges, as far as it can within the timeout.
func once(cmd *cobra.Command, p *Process, timeout time.Duration) error {
	ctx := cmd.Context()
	a, err := newApp(cmd, p, purpose{trigger: report.TriggerOnce})
	if err != nil {
		return err
	}
	defer a.close()
	lease := a.cluster.NewLazyLease(a.cfg.Lease.Namespace, a.cfg.Source.Name, a.out.Identity())
	a.lease = lease
	outcome := a.converge(ctx, timeout, lease.Close)
	r := a.engine.Report()
	if err := verdict(&outcome); err != nil {
		a.tellHeldBeside(&outcome, r)
		return interrupted(ctx, a.delivered(err))
	}
	if err := a.delivered(nil); err != nil {
		return err
	}
	line := fmt.Sprintf("converged: %s; %d created, %d updated, %d deleted, %d unchanged; %s",
		plural(r.Summary.Total, "object"), r.Summary.Create, r.Summary.Update, r.Summary.Delete, r.Summary.Noop,
		plural(int(r.Requests.Writes), "write"))
	if err := p.printLine(term.Green, line); err != nil {
		return failed(err)
	}
	return nil
}

// converge brings all as far as it comes within the timeout, and ends the parts.
// release lets go of the lease, once nothing is written any more.
func (a *app) converge(ctx context.Context, timeout time.Duration, release func()) engine.Outcome {
	a.engine.SetHolder("", false)
	running := a.start(ctx)
	stopLeading := background(ctx, a.engine.Lead)
	stopShowing := func() {}
	if a.progress != nil {
		stopShowing = background(ctx, a.progress.run)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	outcome := a.engine.Wait(waiting)
	cancel()

	running.stopSource()
	stopLeading()
	a.flushEvents(ctx)
	release()
	running.stopWatching()
	running.stopPublishing()
	running.stopEvidence()
	stopShowing()
	return outcome
}

// interrupted is err, which says so where it was the user who ended the command.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &exitError{codeOf(err), fmt.Errorf("interrupted: %w", err)}
}

// verdict is the error in which the outcome ends, with its exit code.
func verdict(o *engine.Outcome) error {
	why := advised(errors.New("not converged: "+o.WaitingFor), o.Command)
	switch {
	case o.Fatal != nil:
		return failed(o.Fatal)
	case o.Failing > 0, isDenied(o.Cluster):
		return failed(why)
	case o.Problems > 0 && o.Waiting == 0 && o.Source == nil && o.Cluster == nil && !o.Unsettled:
		return &exitError{exitInvalid, why}
	case o.Source != nil, o.Cluster != nil, o.Waiting > 0, o.Unsettled:
		return &exitError{exitWaiting, why}
	case o.Held > 0:
		return &exitError{exitHeld, why}
	case !o.Converged:
		return &exitError{exitWaiting, why}
	}
	return nil
}

// tellHeldBeside tells of held deletions where the verdict is about something else.
func (a *app) tellHeldBeside(o *engine.Outcome, r *report.Report) {
	if len(r.Held) == 0 || saysWhatIsHeld(o) {
		return
	}
	first := r.Held[0]
	log := a.log
	if r.HeldCommand != "" {
		log = log.With("approve", r.HeldCommand)
	}
	log.Warn("deletions are held", "count", len(r.Held), "first", first.Namespace+"/"+first.Name, "reason", first.Reason)
}

// delivered is err, or that the report couldn't be written, which is a failure: what
// it says is what the command is called for.
func (a *app) delivered(err error) error {
	switch {
	case a.unwritten == "":
		return err
	case err == nil:
		return failed(errors.New("the report can't be written; the old one stays: " + a.unwritten))
	}
	return failed(fmt.Errorf("%w; and the report can't be written: %s", err, a.unwritten))
}

// saysWhatIsHeld says whether that is what a person should look at first.
func saysWhatIsHeld(o *engine.Outcome) bool {
	switch {
	case o.Fatal != nil, o.Cluster != nil, o.Failing > 0:
		return false
	case o.Source != nil:
		return o.Command != ""
	}
	return o.Problems == 0
}

// isDenied says whether the cluster won't let us do our work: waiting doesn't
// change that, a person does.
func isDenied(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }
