package preview

import (
	"context"
	"sync"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// look is what a look at the server itself has found.
type look struct {
	child plan.Child
	err   error
}

// lookAhead looks for ConfigMaps where steps will have to, several at once: later each
// object has its turn alone.
func (w *world) lookAhead(ctx context.Context, s *source.Snapshot, workers int) {
	keys := make(chan plan.Key)
	var looking sync.WaitGroup
	for range workers {
		looking.Go(func() {
			for key := range keys {
				child, err := w.base.Standing(ctx, key)
				w.mu.Lock()
				w.standing[key] = look{child, err}
				w.mu.Unlock()
			}
		})
	}
	for key := range s.Objects {
		if ctx.Err() == nil && w.looksLater(key, s) {
			keys <- key
		}
	}
	close(keys)
	looking.Wait()
}

// looksLater says whether the object will need a ConfigMap that the cluster, as it was
// read, doesn't have.
func (w *world) looksLater(key plan.Key, s *source.Snapshot) bool {
	var in plan.Input
	w.Look(key, &in)
	return in.CRD.Ready && !in.Child.Exists() && in.Namespace != plan.NamespaceMissing && !s.Objects[key].Suspended
}
