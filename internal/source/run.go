package source

import (
	"context"
	"time"
)

// runner is the state of one Run.
type runner struct {
	*Source
	interval *time.Ticker
	notifier Notifier  // nil while polling
	tried    time.Time // when watching was last tried
	rested   time.Time // until when a hint should wait, for the last scan's work
}

// occasion is what a scan is for.
type occasion struct {
	cause Cause
	since time.Time // since when something wants to be read
}

// watch makes the notifier follow the directories of the last scan. It says whether
// another scan is due, because a directory is new to it.
func (r *runner) watch() (again bool) {
	if r.notifier == nil && !r.connect() {
		return false
	}
	grown, err := r.notifier.Watch(r.scanner.directories())
	if err != nil {
		r.unwatch(err.Error())
		return false
	}
	return grown
}

// connect makes a notifier, from time to time.
func (r *runner) connect() bool {
	if !r.tried.IsZero() && time.Since(r.tried) < watchRetry {
		return false
	}
	r.tried = time.Now()
	notifier, err := r.cfg.NewNotifier()
	if err != nil {
		r.unwatch(err.Error())
		return false
	}
	r.notifier = notifier
	r.mode(ModeWatch, "", r.cfg.ScanInterval)
	return true
}

// unwatch falls back to polling.
func (r *runner) unwatch(reason string) {
	if r.notifier != nil {
		_ = r.notifier.Close() // whatever it says, it isn't used any more
		r.notifier = nil
	}
	if reason != "" {
		r.mode(ModePoll, reason, min(PollInterval, r.cfg.ScanInterval))
	}
}

func (r *runner) mode(mode Mode, reason string, interval time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Mode, r.status.Reason, r.status.Interval = mode, reason, interval
}

func (r *runner) note(s *Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.LastScan = s.Scanned
}

// wait returns when the next scan is due: a hint came and things are quiet again,
// or it is time, or ctx is done. again says that a hint is there already.
func (r *runner) wait(ctx context.Context, again bool) occasion {
	if again {
		return r.coalesce(ctx)
	}
	var poll <-chan time.Time
	if r.notifier == nil {
		timer := time.NewTimer(PollInterval)
		defer timer.Stop()
		poll = timer.C
	}
	select {
	case <-ctx.Done():
		return occasion{}
	case <-r.interval.C:
		return occasion{CauseInterval, time.Now()}
	case <-poll:
		return occasion{CauseHint, time.Now()}
	case <-r.hints():
		return r.coalesce(ctx)
	case <-r.asked:
		return r.coalesce(ctx)
	}
}

// hints never has one while polling.
func (r *runner) hints() <-chan struct{} {
	if r.notifier == nil {
		return nil
	}
	return r.notifier.Hints()
}

// coalesce waits until no hint came for Quiet and the last scan's work is rested
// from, at most MaxWait after the first.
func (r *runner) coalesce(ctx context.Context) occasion {
	first := time.Now()
	most := time.NewTimer(r.cfg.MaxWait)
	defer most.Stop()
	quiet := time.NewTimer(max(r.cfg.Quiet, time.Until(r.rested)))
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return occasion{}
		case <-r.hints():
			quiet.Reset(max(r.cfg.Quiet, time.Until(r.rested)))
			continue
		case <-r.interval.C:
			return occasion{CauseInterval, first}
		case <-quiet.C:
		case <-most.C:
		}
		return occasion{CauseHint, first}
	}
}
