package engine

import (
	"time"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// fillDependencies says how far the objects have come that must be ready first. The
// engine is locked.
func (e *Engine) fillDependencies(r *run) {
	keys := r.in.DependsOn()
	if len(keys) == 0 {
		return
	}
	r.dependencies = r.dependencies[:0]
	for _, key := range keys {
		r.dependencies = append(r.dependencies, e.dependency(key))
	}
	r.in.Dependencies = r.dependencies
}

func (e *Engine) dependency(key plan.Key) plan.Dependency {
	e.cluster.Look(key, &e.look)
	want := e.desired[key]
	return plan.DependencyOf(key, want.object, want.broken, &e.look.Live)
}

// waitFor notes which objects the one that comes to rest waits for. One that has
// become ready meanwhile gives it another turn. The engine is locked.
func (e *Engine) waitFor(r *run, standing cycle.Standing) {
	if standing == cycle.Done {
		return
	}
	for i := range r.in.Dependencies {
		d := &r.in.Dependencies[i]
		if d.Ready || d.Key == r.key {
			continue
		}
		if e.waiting[d.Key] == nil {
			e.waiting[d.Key] = map[plan.Key]struct{}{}
		}
		e.waiting[d.Key][r.key] = struct{}{}
		r.it.waitsFor = append(r.it.waitsFor, d.Key)
		if e.dependency(d.Key).Ready {
			e.wake(r.key, report.TriggerCluster)
		}
	}
}

// waitNoMore forgets what an object waited for: it has its turn. The engine is locked.
func (e *Engine) waitNoMore(key plan.Key, it *item) {
	for _, on := range it.waitsFor {
		delete(e.waiting[on], key)
		if len(e.waiting[on]) == 0 {
			delete(e.waiting, on)
		}
	}
	it.waitsFor = it.waitsFor[:0]
}

// wakeWaiting gives those a turn that wait for the object that comes to rest, where
// it is ready now. The engine is locked.
func (e *Engine) wakeWaiting(key plan.Key) {
	if len(e.waiting[key]) == 0 || !e.dependency(key).Ready {
		return
	}
	for waiting := range e.waiting[key] {
		e.wake(waiting, report.TriggerCluster)
	}
}

// recheck is when an object that waits has its next turn unless something happens.
// What waits for others of ours is woken by them, so there is no hurry, unless it is
// to be deleted when some time is over: nobody tells of that.
func (e *Engine) recheck(r *run, d *plan.Decision, standing cycle.Standing) time.Duration {
	after := d.After
	if standing == cycle.Blocked || standing == cycle.Waiting && e.waitsForOthers(r) {
		after = max(after, e.opts.ScanInterval)
	}
	if removal := &r.in.Removal; removal.State == plan.RemovalDue {
		after = min(after, max(removal.After, time.Second))
	}
	return after
}

func (e *Engine) waitsForOthers(r *run) bool {
	for i := range r.in.Dependencies {
		if d := &r.in.Dependencies[i]; !d.Ready && d.Key != r.key {
			return true
		}
	}
	return false
}
