package cli

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/engine"
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
	standing  standing
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

// close lets go of the out directory.
func (a *app) close() {
	if err := a.out.Close(); err != nil {
		a.log.Warn("closing the out directory", "err", err)
	}
}
