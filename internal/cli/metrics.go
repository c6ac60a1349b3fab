package cli

import (
	"time"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/metrics"
)

// newMetrics makes the metrics of an app whose engine may not be there yet: nobody
// scrapes before it is.
func newMetrics(a *app) *metrics.Metrics {
	return metrics.New(metrics.Options{
		Version: a.process.Version, Commit: a.process.Commit,
		ErrorClasses: engine.ErrorClasses(), HealedTargets: engine.HealedTargets(),
		Resources: kube.RequestResources(), Verbs: kube.RequestVerbs(),
		Queue: func() (int, time.Duration) { return a.engine.Queue() },
		Ready: func() bool { return a.engine.Ready() == nil },
	})
}
