package engine

import "context"

// Rest waits until no key can act now and what is held has been looked for among the
// approvals. Unlike Wait it doesn't wait for what only time or another scan brings.
// The error is that of ctx alone.
func (e *Engine) Rest(ctx context.Context) error {
	for {
		state := e.cluster.State()
		e.mu.Lock()
		atRest := e.tracker.Settled() && e.tracker.Number() > 0 && !e.unanswered() && e.ready == (state == nil)
		changed := e.settled
		e.mu.Unlock()
		if atRest {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
