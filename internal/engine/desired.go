package engine

import (
	"maps"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// desired is what the source says of one key.
type desired struct {
	// object is nil where no usable document names the key.
	object *plan.Desired
	broken bool
	file   string
	line   int
}

func (d desired) same(other desired) bool {
	if d.broken != other.broken || (d.object == nil) != (other.object == nil) {
		return false
	}
	return d.object == nil || d.object.Digest == other.object.Digest
}

// asks says whether the object shall be there.
func (d desired) asks() bool { return d.object != nil && !d.object.Suspended }

// Take makes s the picture of the source. Keys that it changes become runnable,
// and every key where the scan interval has led to it. It is called from one
// goroutine.
func (e *Engine) Take(s *source.Snapshot) {
	e.mu.Lock()
	before := e.snapshot
	first := before == nil || s.Complete && !e.known
	e.mu.Unlock()
	if !s.SameReading(before) {
		e.logSource(before, s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.tellChange()
	e.snapshot, e.known = s, e.known || s.Complete
	e.usable = e.usable || s.Complete && e.sourceFault() == ""
	var changed []plan.Key
	if !s.SameReading(before) {
		changed = e.replaceDesired(s)
	}
	if e.queue == nil || e.over {
		return
	}
	switch {
	case first:
		e.wakeAll(report.TriggerStart)
	case s.Cause == source.CauseInterval:
		e.tidy = true
		e.wakeAll(report.TriggerInterval)
	}
	for _, key := range changed {
		e.wake(key, report.TriggerFiles)
	}
	if !first {
		e.observeChanges(changed, s.Noticed)
	}
	if !s.Same(before) && e.tracker.Begin(string(report.TriggerFiles)) {
		e.begin(report.TriggerFiles)
	}
	e.countScan()
	e.settle()
}

// replaceDesired takes over what s says and returns the keys for which that is
// something new. The engine is locked.
func (e *Engine) replaceDesired(s *source.Snapshot) []plan.Key {
	next := make(map[plan.Key]desired, len(s.Objects)+len(s.Broken))
	for key := range s.Broken {
		next[key] = desired{broken: true}
	}
	for key := range s.Objects {
		object := s.Objects[key]
		d := desired{file: object.File, line: object.Line}
		if old := e.desired[key]; old.object != nil && old.object.Digest == object.Digest {
			d.object = old.object
		} else {
			d.object = e.toDesired(&object)
		}
		next[key] = d
	}
	var changed []plan.Key
	for key, d := range next {
		old, ok := e.desired[key]
		if !ok || !d.same(old) {
			changed = append(changed, key)
		}
		if !ok || d.asks() != old.asks() {
			e.touch(key)
		}
	}
	for key := range e.desired {
		if _, ok := next[key]; !ok {
			changed = append(changed, key)
			e.touch(key)
		}
	}
	e.desired = next
	return changed
}

// toDesired adds to what the file states who it comes from.
func (e *Engine) toDesired(o *source.Object) *plan.Desired {
	labels := make(map[string]string, len(o.Labels)+1)
	maps.Copy(labels, o.Labels)
	labels[v1.SourceLabel] = e.opts.Policy.SourceName
	return &plan.Desired{
		Image: o.Image, Replicas: o.Replicas, Tier: o.Tier,
		Labels: labels, Annotations: o.Annotations, Finalizers: o.Finalizers,
		Suspended: o.Suspended, DependsOn: o.DependsOn, Digest: o.Digest,
	}
}

// wakeAll makes every key runnable that a file names or that is live, each once,
// and counts all of them anew. What is neither and was has an account that has to
// be closed. The engine is locked.
func (e *Engine) wakeAll(trigger report.Trigger) {
	e.survey()
	for key := range e.items {
		e.wakeOne(key, trigger)
	}
}

// survey looks at every live object. Each that is live or that a file names has an
// account from then on. The engine is locked.
func (e *Engine) survey() {
	e.ledger.begin()
	for key, live := range e.cluster.All() {
		e.itemOf(key)
		e.count(key, &live)
	}
	e.ledger.sweep()
	for key := range e.desired {
		e.itemOf(key)
		if !e.ledger.seen(key) {
			e.ledger.touch(key)
		}
	}
}

// count has the ledger take over how things stand with an object. The engine is
// locked.
func (e *Engine) count(key plan.Key, live *plan.Live) {
	d, isNamed := e.desired[key]
	e.ledger.set(key, live, isNamed || !e.known, e.known && d.asks())
}

// touch has the object counted anew before the ledger is asked; while we don't lead,
// nobody asks. The engine is locked.
func (e *Engine) touch(key plan.Key) {
	if e.queue != nil {
		e.ledger.touch(key)
	}
}

// lookAgain looks at an object beside the one that has its turn; e.look has it
// then. The engine is locked.
func (e *Engine) lookAgain(key plan.Key) {
	e.cluster.Look(key, &e.look)
	e.count(key, &e.look.Live)
}

// refresh looks at all objects that may have changed since they were counted. The
// engine is locked.
func (e *Engine) refresh() {
	for key := range e.ledger.stale {
		e.lookAgain(key)
	}
}

// wakeOne makes a key runnable as one of all. That the scan interval is over is
// nothing that has happened to an object, so it doesn't cut a backoff short.
func (e *Engine) wakeOne(key plan.Key, trigger report.Trigger) {
	if it := e.items[key]; it != nil && trigger == report.TriggerInterval && it.backsOff() {
		return
	}
	e.wake(key, trigger)
}
