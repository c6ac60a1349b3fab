package cli

import (
	"time"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

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
