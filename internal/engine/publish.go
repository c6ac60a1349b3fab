package engine

import (
	"context"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// Publishing hands reports to Options.Publish until ctx ends: one at once, one
// when a cycle ends, one whenever what it says changes otherwise, and one every
// so often while a cycle lasts. The last one is made when ctx has ended.
func (e *Engine) Publishing(ctx context.Context) {
	var p pacer
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			e.publish()
			return
		case <-e.news:
			p.news = true
		case <-timer.C:
		}
		lasting, converged := e.standing()
		now := time.Now()
		wait := p.wait(now, lasting, converged)
		if wait <= 0 {
			r := e.publish()
			p.wrote(now, r.Converged)
			// Who stands by isn't to make anything converge.
			e.noteConverged(now, r.Converged || r.Role == report.RoleStandby)
			wait = p.wait(now, lasting, r.Converged)
		}
		timer.Reset(wait)
	}
}

func (e *Engine) publish() *report.Report {
	r := e.Report()
	e.noteReported(r.Requests.Events)
	e.opts.Publish(r)
	return r
}

// standing says whether a cycle lasts, and whether all is converged. One that
// was cut off, since we don't lead any more, doesn't last: it rests.
func (e *Engine) standing() (lasting, converged bool) {
	state := e.cluster.State()
	e.mu.Lock()
	defer e.mu.Unlock()
	lasting = !e.tracker.Settled() && e.queue != nil
	if !lasting {
		converged = e.converged(state)
	}
	return lasting, converged
}

// How often reports are written at the most, and while a cycle lasts.
const (
	reportLeast   = time.Second
	reportLasting = 2 * time.Second
	// reportLook is how often it is looked whether all is still converged, beside the
	// news that tells: of a git command that has begun there is none.
	reportLook = 2 * time.Second
)

// pacer decides when the next report is due.
type pacer struct {
	// news: something has changed since the last report.
	news      bool
	last      time.Time
	converged bool
}

// wait is how long until the next report; 0 or less is now.
func (p *pacer) wait(now time.Time, lasting, converged bool) time.Duration {
	switch {
	case p.last.IsZero():
		return 0
	case lasting:
		return p.last.Add(reportLasting).Sub(now)
	case converged != p.converged:
		return 0
	case !p.news:
		return reportLook
	}
	return p.last.Add(reportLeast).Sub(now)
}

func (p *pacer) wrote(now time.Time, converged bool) {
	p.news, p.last, p.converged = false, now, converged
}
