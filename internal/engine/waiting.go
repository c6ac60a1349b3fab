package engine

import (
	"slices"
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

// follow notes what the object that comes to rest depends on, and how far that had
// come when it was looked at. Where that isn't so any more, the object has another
// turn. The engine is locked.
func (e *Engine) follow(r *run) {
	if !slices.EqualFunc(r.it.follows, r.in.Dependencies, func(key plan.Key, d plan.Dependency) bool { return key == d.Key }) {
		e.unfollow(r.key, r.it)
		for i := range r.in.Dependencies {
			r.it.follows = append(r.it.follows, r.in.Dependencies[i].Key)
		}
	}
	for i := range r.in.Dependencies {
		d := &r.in.Dependencies[i]
		if d.Key == r.key {
			continue
		}
		if e.followers[d.Key] == nil {
			e.followers[d.Key] = map[plan.Key]bool{}
		}
		if seen, known := e.followers[d.Key][r.key]; known && seen == d.Ready {
			continue // it would have been told
		}
		e.followers[d.Key][r.key] = d.Ready
		if e.dependency(d.Key).Ready != d.Ready {
			e.wake(r.key, report.TriggerCluster)
		}
	}
}

// unfollow forgets what an object depends on. The engine is locked.
func (e *Engine) unfollow(key plan.Key, it *item) {
	for _, on := range it.follows {
		delete(e.followers[on], key)
		if len(e.followers[on]) == 0 {
			delete(e.followers, on)
		}
	}
	it.follows = it.follows[:0]
}

// tellFollowers gives those a turn that depend on the object, where it has become
// ready since they looked at it, or isn't any more. The engine is locked.
func (e *Engine) tellFollowers(key plan.Key, live *plan.Live) {
	if len(e.followers[key]) == 0 {
		return
	}
	want := e.desired[key]
	ready := plan.DependencyOf(key, want.object, want.broken, live).Ready
	for follower, seen := range e.followers[key] {
		if seen != ready {
			e.wake(follower, report.TriggerCluster)
		}
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
