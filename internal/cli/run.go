package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/kube"
)

func runCommand(p *Process) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Watch the source and the cluster, and keep the one as the other says",
		Example: "  webservice-controller run --source desired\n" +
			"  webservice-controller run --kubeconfig ~/.kube/config --context lab",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, p) },
	}
}

// run is the daemon. It ends when the command's context does.
func run(cmd *cobra.Command, p *Process) error {
	ctx := cmd.Context()
	a, err := newApp(cmd, p, purpose{served: true})
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.listen(ctx); err != nil {
		return err
	}
	var lease *kube.Lease
	lease = a.cluster.NewLease(a.cfg.Lease.Namespace, a.cfg.Source.Name, a.out.Identity(), func() { a.leaseChanged(ctx, lease) })
	a.lease = lease
	running := a.start(ctx)
	a.cluster.WaitAble(ctx)
	lease.Hold(ctx, a.lead)
	running.stopSource()
	running.stopWatching()
	running.stopPublishing()
	running.stopEvidence()
	running.stopWeb()
	a.log.Info("stopped")
	return nil
}

// leaseChanged passes on who holds the lease. While we are stopping, how things
// stood before is what the last report shall say.
func (a *app) leaseChanged(ctx context.Context, l *kube.Lease) {
	if ctx.Err() != nil {
		return
	}
	// The news come from several goroutines: the last to speak must be the last to
	// have looked.
	a.leaseNews.Lock()
	defer a.leaseNews.Unlock()
	holder, leading := l.Holder(), l.Leading()
	if !leading && holder == a.out.Identity() {
		holder = "" // it was ours, and isn't renewed
	}
	a.engine.SetHolder(holder, !leading)
	before := a.standing
	a.standing = standing{leading, holder}
	switch until := l.TakenOver().Add(a.cfg.Prune.AfterTakeover); {
	case before == a.standing, leading && before.leading:
	case leading && time.Now().Before(until):
		a.log.Info("active: the lease was taken from another holder, and nothing is deleted for a while", "until", until.Format(time.TimeOnly))
	case leading:
		a.log.Info("active: the lease is ours")
	case holder != "":
		a.log.Info("standing by", "holder", holder)
	case before.leading:
		a.log.Warn("the lease couldn't be renewed: nothing is written until it is ours again")
	}
}

// standing is whether we lead, and who holds the lease.
type standing struct {
	leading bool
	holder  string
}
