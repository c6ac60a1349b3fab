package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

func approveCommand(p *Process) *cobra.Command {
	return &cobra.Command{
		Use:   "approve DIGEST",
		Short: "Allow exactly the held deletions with that digest, once",
		Long: "approve allows the deletions that are held, as the report in the out directory lists\n" +
			"them under held. DIGEST is its held_digest, and held_command the whole command. What\n" +
			"is allowed is exactly that set of objects: where another object is going as well, or\n" +
			"one of them isn't any more, the digest is another one and this approval counts no more.",
		Example: "  webservice-controller approve DIGEST\n" +
			"  webservice-controller approve DIGEST --out /var/lib/webservice-controller",
		Args: oneDigest,
		RunE: func(cmd *cobra.Command, args []string) error { return approve(cmd, p, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeDigest(cmd, p, args)
		},
	}
}

func oneDigest(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("approve takes one DIGEST, and %d were given: it is the held_digest of the report", len(args))
	}
	return nil
}

// approve allows what the report holds under that digest. The out directory isn't
// locked: a daemon has it.
func approve(cmd *cobra.Command, p *Process, digest string) error {
	out, err := outDir(cmd, p)
	if err != nil {
		return usage(err)
	}
	if !report.ValidDigest(digest) {
		return usagef("%s isn't a digest: write held_digest as the report has it, all of its 64 digits", strconv.Quote(digest))
	}
	r, err := report.Read(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed(fmt.Errorf("%w: start run, or name the out directory of the one that runs with --out", err))
	case err != nil:
		return failed(fmt.Errorf("%w: name the running controller's out directory with --out", err))
	}
	words := newApprovals(p, out)
	if r.HeldDigest != digest {
		return failed(unknownDigest(r, words))
	}
	err = words.Approve(&report.Approval{Digest: digest, Approved: time.Now(), Source: r.Source.Name, Held: r.Held})
	if err != nil {
		return failed(err)
	}
	return p.tellApproved(r)
}

// outDir is the out directory. Where a flag names it, settings aren't read: the
// command that the report tells is typed anywhere, also where another program's
// config.yaml is.
func outDir(cmd *cobra.Command, p *Process) (string, error) {
	if flag := cmd.Flags().Lookup("out"); flag != nil && flag.Changed && flag.Value.String() != "" {
		return flag.Value.String(), nil
	}
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	return cfg.Out, err
}

// unknownDigest says what can be approved instead, and where nothing can, why.
func unknownDigest(r *report.Report, words *approvals) error {
	nothing := "nothing is held by the report in " + words.Dir + " (of another controller, name its directory with --out)"
	switch n := len(r.Held); {
	case r.HeldDigest != "":
		command := words.Command(r.HeldDigest)
		return advised(fmt.Errorf("no deletions are held under that digest: what is held now, %s, is approved by: %s",
			plural(n, "deletion"), command), command)
	case n > 0:
		return fmt.Errorf("%s held, and approval can't help: they go on when the reason is gone, which for %s/%s is: %s",
			are(n, "deletion"), r.Held[0].Namespace, r.Held[0].Name, r.Held[0].Reason)
	case r.Role == report.RoleStandby:
		return fmt.Errorf("this controller stands by and holds nothing: approve with the out directory of %s", r.Holder)
	case r.WaitingFor != "":
		return fmt.Errorf("%s, so there is nothing to approve; the controller waits for: %s", nothing, r.WaitingFor)
	}
	return errors.New(nothing + ", so there is nothing to approve")
}

// tellApproved says what was allowed, each reason once.
func (p *Process) tellApproved(r *report.Report) error {
	errs := []error{p.printLine(term.Plain, fmt.Sprintf("approved: %s of the source %s", plural(len(r.Held), "deletion"), r.Source.Name))}
	said := ""
	for _, held := range r.Held {
		text := "  " + held.Namespace + "/" + held.Name
		if held.Reason != said {
			text += ": " + held.Reason
		}
		said = held.Reason
		errs = append(errs, p.printItem(text))
	}
	errs = append(errs, p.printLine(term.Plain,
		"It is done when the controller next looks, and void where anything about this set changes before."))
	if err := errors.Join(errs...); err != nil {
		return failed(err)
	}
	return nil
}

// completeDigest offers the one digest that there is.
func completeDigest(cmd *cobra.Command, p *Process, args []string) ([]string, cobra.ShellCompDirective) {
	out, err := outDir(cmd, p)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, err := report.Read(out)
	if err != nil || r.HeldDigest == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{r.HeldDigest + "\t" + plural(len(r.Held), "held deletion")}, cobra.ShellCompDirectiveNoFileComp
}
