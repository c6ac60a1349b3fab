package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/metrics"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/internal/web"
	"labhub.io/webservice-controller/manifests"
)

// app is everything that a command which reconciles is made of.
type app struct {
	process *Process
	cfg     config.Config
	console *console
	log     *slog.Logger
	out     *report.Out
	// writer is nil where no report is written.
	writer *report.Writer
	// evidence is nil where none is kept.
	evidence *report.Evidence
	web      *web.Server      // nil where there is none
	metrics  *metrics.Metrics // nil where nobody can ask for them
	// newCluster makes a cluster that has seen nothing yet.
	newCluster func() (*kube.Cluster, error)
	// newEvents makes what sends events.
	newEvents func() (*kube.Events, error)

	parts
	// progress is nil where nobody looks on, or there is no end to come closer to.
	progress *progress
	// lease is set before anything is started.
	lease lease

	// leaseNews lets one goroutine at a time pass on who holds the lease, of which
	// standing is the last word of the log.
	leaseNews sync.Mutex
	standing  string
	// unwritten is the last error of writing the report, so that it is told once.
	unwritten string
	// published: there was a report. unready is why we couldn't work then, and
	// complained says whether the log has told of such a thing.
	published  bool
	unready    string
	complained bool
	// stays: the command goes on until it is stopped.
	stays bool
}

// parts are those that know something of the files and of the cluster.
type parts struct {
	source  *source.Source
	cluster *kube.Cluster
	engine  *engine.Engine
	// events is nil where none are sent.
	events *kube.Events
	// snapshot is the last one of the source; nil before the first.
	snapshot atomic.Pointer[source.Snapshot]
}

// purpose is what a command has the parts do.
type purpose struct {
	// trigger is what reports say of this command's cycles; "" tells them apart.
	trigger report.Trigger
	// title goes before what is shown of the progress.
	title string
	// only confines the work to some objects; nil doesn't.
	only func(plan.Key) bool
	// aside: it isn't what users look for in the out directory. There is neither
	// report nor evidence, and approvals are left for whoever does all the work.
	aside bool
	// silent: no events are sent.
	silent bool
	// witness is told of every decision; nil is nobody.
	witness engine.Evidence
	// served: it listens for HTTP, and is measured.
	served bool
}

// newApp reads the settings, takes the out directory and puts the parts
// together. Nothing is started.
func newApp(cmd *cobra.Command, p *Process, why purpose) (*app, error) {
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
	c := newConsole(p)
	a := &app{process: p, cfg: cfg, console: c, log: newLogger(c, cfg.Log), stays: why.trigger == ""}
	p.bridge(a.log)
	if why.served && cfg.HTTP.Addr != "" {
		a.metrics = newMetrics(a)
	}
	a.newCluster = func() (*kube.Cluster, error) {
		opts := kube.Options{Namespaces: cfg.Namespaces.Only, InstallCRD: cfg.CRD.Install, CRD: manifests.CRD()}
		if a.metrics != nil {
			opts.Observer = a.metrics
		}
		return kube.New(rc, opts)
	}
	a.newEvents = func() (*kube.Events, error) { return kube.NewEvents(rc, a.eventOptions()) }
	if err := a.assemble(why); err != nil {
		return nil, usage(err)
	}
	if a.out, err = report.OpenOut(cfg.Out); err != nil {
		return nil, badOut(err)
	}
	a.tellStart(rc.Host)
	return a, nil
}

// assemble makes the parts anew. They have seen nothing yet.
func (a *app) assemble(why purpose) (err error) {
	if a.cluster, err = a.newCluster(); err != nil {
		return err
	}
	a.writer, a.evidence, a.progress, a.events = nil, nil, nil, nil
	if !why.silent {
		if a.events, err = a.newEvents(); err != nil {
			return err
		}
	}
	if !why.aside {
		a.writer = &report.Writer{Dir: a.cfg.Out}
	}
	if a.cfg.Evidence && !why.aside {
		a.evidence = report.NewEvidence(a.cfg.Out, a.log)
	}
	a.source = source.New(sourceConfig(&a.cfg))
	a.snapshot.Store(nil)
	if why.trigger != "" && a.console.forPeople(a.cfg.Log) {
		a.progress = &progress{title: why.title, show: a.console.Show, ready: func() error { return a.engine.Ready() }}
	}
	a.engine = engine.New(a.cluster, a.engineOptions(why))
	return nil
}

// take hands a snapshot of the source on.
func (a *app) take(s *source.Snapshot) {
	a.snapshot.Store(s)
	if a.progress != nil {
		a.progress.expect(s)
	}
	a.engine.Take(s)
}

// tellStart says what the command works with.
func (a *app) tellStart(cluster string) {
	version := a.process.Version
	if a.console.forPeople(a.cfg.Log) {
		s := startSummary{version: version, cluster: cluster, cfg: &a.cfg}
		s.tell(a.console, a.console.screen())
		return
	}
	a.log.Info("starting", "version", version, "source", a.cfg.Source.Path, "name", a.cfg.Source.Name,
		"out", a.cfg.Out, "cluster", cluster, "settings", a.cfg.NonDefault())
}

func sourceConfig(cfg *config.Config) source.Config {
	return source.Config{
		Path: cfg.Source.Path, Quiet: cfg.Source.Quiet, MaxWait: cfg.Source.MaxWait, ScanInterval: cfg.Source.ScanInterval,
		Options: source.Options{DefaultNamespace: cfg.Source.Namespace, Namespaces: cfg.Namespaces.Only},
	}
}

// policyOf is what the settings say about decisions: plan must decide as run does.
func policyOf(cfg *config.Config) plan.Policy {
	return plan.Policy{
		SourceName: cfg.Source.Name, Unlabelled: cfg.Reconcile.Unlabelled, CreateNamespaces: cfg.Namespaces.Create,
		Prune: plan.PrunePolicy{
			Enabled: cfg.Prune.Enabled, After: cfg.Prune.After, AfterTakeover: cfg.Prune.AfterTakeover,
			Recheck: cfg.Source.ScanInterval,
		},
	}
}

func backoffOf(cfg *config.Config) engine.Backoff {
	return engine.Backoff{Initial: cfg.Reconcile.Backoff.Initial, Max: cfg.Reconcile.Backoff.Max}
}

func (a *app) engineOptions(why purpose) engine.Options {
	cfg := &a.cfg
	opts := engine.Options{
		Policy:       policyOf(cfg),
		Workers:      cfg.Reconcile.Workers,
		Backoff:      backoffOf(cfg),
		ScanInterval: cfg.Source.ScanInterval,
		AllowEmpty:   cfg.Source.AllowEmpty,
		SourcePath:   cfg.Source.Path,
		SourceStatus: a.source.Status,
		Version:      a.process.Version,
		Trigger:      why.trigger,
		QuietHolds:   why.trigger == report.TriggerOnce,
		Only:         why.only,
		TakenOver:    func() time.Time { return a.lease.TakenOver() },
		Rescan:       a.source.Rescan,
		Approvals:    newApprovals(a.process, cfg.Out),
		Publish:      a.publish,
		Log:          a.log,
	}
	if a.events != nil {
		opts.Events = a.events
	}
	if a.metrics != nil {
		opts.Observer = a.metrics
	}
	if why.aside {
		opts.Approvals = noApprovals{opts.Approvals}
	}
	var told witnesses
	if a.progress != nil {
		told = append(told, a.progress)
	}
	if a.evidence != nil {
		told = append(told, evidence.New(a.evidence))
	}
	if why.witness != nil {
		told = append(told, why.witness)
	}
	if len(told) > 0 {
		opts.Evidence = told
	}
	return opts
}

// publish writes the report. An error doesn't stop reconciling: it is told when
// it is new, and the next report is another try.
func (a *app) publish(r *report.Report) {
	if a.web != nil {
		a.web.Publish(r)
	}
	if a.metrics != nil {
		a.metrics.Publish(r)
	}
	err := a.write(r)
	switch {
	case err == nil && a.unwritten != "":
		a.unwritten = ""
		a.log.Info("the report is written again")
	case err != nil && err.Error() != a.unwritten:
		a.unwritten = err.Error()
		a.log.Error("the report can't be written; the old one stays", "err", err)
	}
	a.tellReadiness(r.Role == report.RoleStandby)
}

// write writes the report, into the directory that is ours alone.
func (a *app) write(r *report.Report) error {
	if a.writer == nil {
		return nil
	}
	made, err := a.out.Retake()
	if err != nil {
		return err
	}
	if made {
		a.log.Warn("the out directory was removed; it is made anew and locked", "out", a.cfg.Out)
	}
	return a.writer.Write(r)
}

// tellReadiness logs why we can't work when that is new, and that we can again.
// What only takes its time at a start isn't worth a warning, and that nobody has
// answered yet not even a line.
func (a *app) tellReadiness(standby bool) {
	err := a.engine.Ready()
	why := ""
	if err != nil {
		why = err.Error()
	}
	switch {
	case why == a.unready:
	case err == nil && !a.stays && !a.complained:
		// What matters of a command that ends is how.
	case err == nil && standby:
		a.log.Info("ready to take over")
	case err == nil:
		a.log.Info("ready")
	case errors.Unwrap(err) != nil:
		a.complained = true
		a.log.Warn("not ready", "why", why)
	case a.published && a.stays:
		a.complained = true
		a.log.Info("not ready", "why", why)
	}
	a.published, a.unready = true, why
}

// listen starts to listen for HTTP. The default port may be taken by whatever
// else runs here; a port that the user chose may not.
func (a *app) listen(ctx context.Context) error {
	addr := a.cfg.HTTP.Addr
	if addr == "" {
		return nil
	}
	server, err := web.Listen(ctx, addr, a.engine.Ready)
	var taken *net.OpError
	switch {
	case err == nil:
		server.Show(a.engine)
		a.web = server
		a.web.ServeMetrics(a.metrics.Handler(a.log))
		a.log.Info("serving http", "addr", server.Addr())
		return nil
	case a.cfg.HTTP.Chosen || !errors.As(err, &taken):
		return failed(err)
	}
	a.log.Warn("going on without http", "err", err)
	return nil
}

// started is the parts that run beside the reconciling itself, and how they end.
type started struct {
	stopSource, stopWatching, stopPublishing, stopEvidence, stopWeb func()
}

// start starts the parts: what serves first, and what makes work last.
func (a *app) start(ctx context.Context) *started {
	s := &started{stopWeb: func() {}, stopEvidence: func() {}}
	if a.web != nil {
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := a.web.Serve(); err != nil {
				a.log.Error("http has ended", "err", err)
			}
		})
		s.stopWeb = func() {
			if err := a.web.Shutdown(ctx); err != nil {
				a.log.Warn("ending http", "err", err)
			}
			serving.Wait()
		}
	}
	if a.evidence != nil {
		s.stopEvidence = background(ctx, a.evidence.Run)
	}
	s.stopPublishing = background(ctx, a.engine.Publishing)
	s.stopWatching = background(ctx, func(ctx context.Context) { a.cluster.Run(ctx, a.engine, a.gate) })
	s.stopSource = background(ctx, func(ctx context.Context) {
		if err := a.source.Run(ctx, a.take); err != nil {
			a.log.Error("reading the source has ended", "err", err)
		}
	})
	return s
}

// background runs f until the function that it returns is called, which waits
// for f to return. The end of ctx alone doesn't stop f: parts stop in order.
func background(ctx context.Context, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// close lets go of the out directory.
func (a *app) close() {
	if err := a.out.Close(); err != nil {
		a.log.Warn("closing the out directory", "err", err)
	}
}
