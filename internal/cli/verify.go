package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

func verifyCommand(p *Process) *cobra.Command {
	var timeout time.Duration
	var namespace, output string
	cmd := &cobra.Command{
		Use:   "verify [NAME]",
		Short: "Prove that a second pass changes nothing",
		Long: "verify converges as once does, and then looks at everything again: files and cluster\n" +
			"are read anew, and nothing may be written. It lists the resourceVersion of every object\n" +
			"before and after that second pass. The proof fails, with exit code 1, where the second\n" +
			"pass would write, or where an object has moved meanwhile.\n\n" +
			"With NAME, only that WebService is worked on, and observe.json, decision-1.json,\n" +
			"decision-2.json, rv-before.txt and rv-after.txt in the out directory tell of its ConfigMap.",
		Example: "  webservice-controller verify --source desired\n" +
			"  webservice-controller verify -o json | jq .proven\n" +
			"  webservice-controller verify checkout -n crd-lab --out out",
		Args: oneNameAtMost,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return usagef("--timeout %s isn't greater than 0: write a duration such as 2m", timeout)
			}
			if output != "text" && output != "json" {
				return usagef("--output %s isn't known: write text or json", strconv.Quote(output))
			}
			key, err := objectOf(cmd, p, args, namespace)
			if err != nil {
				return err
			}
			return verify(cmd, p, key, timeout, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "the namespace of NAME (default source.namespace)")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long each pass may wait for what isn't ready yet")
	return cmd
}

func oneNameAtMost(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("verify takes one NAME, and %d were given: leave NAME away to verify all", len(args))
	}
	return nil
}

// objectOf is the one object that is asked for; the zero key is all of them.
func objectOf(cmd *cobra.Command, p *Process, args []string, namespace string) (plan.Key, error) {
	switch {
	case len(args) == 0 && namespace != "":
		return plan.Key{}, usagef("-n %s is the namespace of a NAME, and none is given: write verify NAME -n %[1]s, or leave -n away to verify all", namespace)
	case len(args) == 0:
		return plan.Key{}, nil
	case args[0] == "":
		return plan.Key{}, usagef("NAME is empty: name a WebService, or leave it away to verify all")
	}
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	if err != nil {
		return plan.Key{}, usage(err)
	}
	return plan.Key{Namespace: cmp.Or(namespace, cfg.Source.Namespace), Name: args[0]}, nil
}

// verify proves that a second pass has nothing to write, or tells why it doesn't.
func verify(cmd *cobra.Command, p *Process, key plan.Key, timeout time.Duration, asJSON bool) error {
	ctx := cmd.Context()
	v := &verification{key: key, timeout: timeout, asJSON: asJSON, first: newWitness(key), second: newWitness(key)}
	var err error
	if v.app, err = newApp(cmd, p, v.purpose(v.first)); err != nil {
		return err
	}
	defer v.app.close()
	return interrupted(ctx, v.run(ctx))
}

// verification is two passes, the second of which may not write.
type verification struct {
	*app
	// key is the one object that is verified; the zero key is all.
	key           plan.Key
	timeout       time.Duration
	asJSON        bool
	first, second *witness
	// before and after are the accounts of the two passes.
	before, after *report.Report
}

func (v *verification) all() bool { return v.key == plan.Key{} }

// purpose is what both passes are for. The report of a part of the work would hide
// the one of all of it.
func (v *verification) purpose(w *witness) purpose {
	why := purpose{trigger: report.TriggerOnce, witness: w, aside: !v.all()}
	if !v.all() {
		why.only = func(key plan.Key) bool { return key == v.key }
	}
	return why
}

// run takes both passes and tells what they came to. The lease, where the first
// pass needed it, is kept until the end: nobody else shall write in between.
func (v *verification) run(ctx context.Context) error {
	if err := v.dropFiles(); err != nil {
		return failed(err)
	}
	lease := v.cluster.NewLazyLease(v.cfg.Lease.Namespace, v.cfg.Source.Name, v.out.Identity())
	defer lease.Close()
	v.lease = lease
	rest, err := v.firstPass(ctx)
	if err == nil {
		err = aMoment(ctx)
	}
	if err != nil {
		return err
	}
	if err := v.secondPass(ctx); err != nil {
		return err
	}
	proof := v.prove()
	if err := v.keepSecond(proof); err != nil {
		return failed(err)
	}
	if err := v.tell(proof); err != nil {
		return failed(err)
	}
	if err := proof.err(); err != nil {
		return failed(err)
	}
	return rest
}

// tell writes a row for each object, what was sent, and the verdict.
func (v *verification) tell(p *proof) error {
	out := v.process
	if v.asJSON {
		return p.json(out.Stdout)
	}
	if err := p.table(term.ScreenOf(out.Stdout, out.Environ)).Write(out.Stdout); err != nil {
		return err
	}
	text, colour := p.verdict()
	return errors.Join(out.printLine(term.Plain, ""), out.printLine(term.Plain, p.sent()), out.printLine(colour, text))
}

// clockStep is more than the step of the times that the server keeps of each
// write: a second write within the same second may move nothing at all, and a
// proof that doesn't wait for longer would not see it.
const clockStep = 1100 * time.Millisecond

// aMoment waits until a write would show.
func aMoment(ctx context.Context) error {
	timer := time.NewTimer(clockStep)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return failed(errors.New("not proven: there was no second pass"))
	case <-timer.C:
		return nil
	}
}
