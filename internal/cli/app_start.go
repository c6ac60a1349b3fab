package cli

import (
	"context"
	"errors"
	"net"
	"sync"

	"labhub.io/webservice-controller/internal/web"
)

// listen starts to listen for HTTP. The default port may be taken by whatever
// else runs here; a port that the user chose may not.
func (a *app) listen(ctx context.Context) error {
	addr := a.cfg.HTTP.Addr
	if addr == "" {
		return nil
	}
	server, err := web.Listen(ctx, addr, a.engine.Ready, a.log)
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
