package cli

import (
	"context"
	"time"

	"labhub.io/webservice-controller/internal/kube"
)

// How long a command may take to send its last events: one that has done its work,
// and one that is being stopped.
const (
	lastEvents    = 10 * time.Second
	stoppedEvents = 2 * time.Second
)

// eventOptions let events be sent for as long as the lease is ours. None takes it:
// where nothing is written, nothing has happened that was our doing.
func (a *app) eventOptions() kube.EventOptions {
	opts := kube.EventOptions{
		Instance: func() string { return a.out.Identity() },
		Leave:    func() bool { return a.lease.Ours() },
		Log:      a.log,
	}
	if a.metrics != nil {
		opts.Observer = a.metrics
	}
	return opts
}

// lead leads until ctx ends, and sends events meanwhile. What is left of them is
// sent before the lease is let go of.
func (a *app) lead(ctx context.Context) {
	stop := background(ctx, a.events.Run)
	a.engine.Lead(ctx)
	stop()
	a.flushEvents(ctx)
}

// flushEvents sends the events that are left. ctx has ended where the command is
// being stopped: then there is less time for it.
func (a *app) flushEvents(ctx context.Context) {
	if a.events == nil {
		return
	}
	limit := lastEvents
	if ctx.Err() != nil {
		limit = stoppedEvents
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	a.events.Flush(limited)
}
