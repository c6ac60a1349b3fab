package engine

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"labhub.io/webservice-controller/internal/cycle"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// Engine reconciles every key that something has happened to. It is a
// kube.Listener. Its methods may be called from any goroutine.
type Engine struct {
	cluster Cluster
	opts    Options
	// news tells the publisher that something it reports has changed.
	news chan struct{}
	// state tells Lead that the cluster's state has changed.
	state chan struct{}
	// question tells Lead that there may be something to ask Approvals.
	question chan struct{}

	mu      sync.Mutex
	queue   workqueue.TypedDelayingInterface[plan.Key] // nil while not leading
	desired map[plan.Key]desired
	items   map[plan.Key]*item
	tracker cycle.Tracker[plan.Key]
	pace    pace
	current account
	// gone are the accounts of objects that were deleted in the current cycle.
	gone map[plan.Key]*item
	// ledger is kept up while leading, and stays as it was after that.
	ledger *ledger
	// look is for looks at objects beside the one that has its turn.
	look plan.Input
	// ruled is what the guard said of all deletions when it was last asked.
	ruled ruled
	// rescanning: the source was asked for another look.
	rescanning bool
	// told is what the log has last said of held deletions.
	told hold
	// untold are the objects that rest in another way than the log has last said.
	untold map[plan.Key]bool
	// answered is the digest of which it was last found out whether it is approved,
	// and answeredOf the ledger's version then. begun: that was done since we lead, or
	// it is certain that there was nothing to approve.
	answered   string
	answeredOf int64
	begun      bool
	// tidy: approvals that are about no set at present are to be removed.
	tidy bool
	// followers has, by object, those that depend on it, and whether it was ready when
	// they last looked.
	followers map[plan.Key]map[plan.Key]bool
	// snapshot is the last one; known is true once one was complete.
	snapshot *source.Snapshot
	known    bool
	// usable is true once a snapshot was one to work with: read whole, and with a
	// WebService where there must be one.
	usable bool
	// holder is who holds the lease, by the last word; standby is true while
	// that isn't us.
	holder  string
	standby bool
	// ready: the cluster's state was good when it was last looked at.
	ready bool
	// missing is what the CRD lacked when it was last looked at, if it was.
	missing []string
	looked  bool
	// fatal is an error that only a person can end: the lease is held elsewhere.
	fatal error
	// over: Wait has seen the end, and what happens after it is another's business.
	over bool
	// prepared is the last error of Prepare.
	prepared error
	// eventsReported counts the events that reports have told of.
	eventsReported int64
	// history is what the last cycles came to.
	history history
	// settled is closed and made anew whenever something changes that Wait waits for.
	settled chan struct{}
}

// account is what a cycle as a whole has come to.
type account struct {
	// number counts the accounts from 1; 0 is the one before the first cycle.
	number            int64
	started, finished time.Time
	trigger           report.Trigger
	reads, writes     int64 // the counters when the cycle began
	sentReads         int64 // what the cycle has sent, once it has ended
	sentWrites        int64
	healed            int // objects
}

// New makes an engine that stands by until Lead is called.
func New(cluster Cluster, opts Options) *Engine {
	e := &Engine{
		cluster: cluster, opts: opts,
		news: make(chan struct{}, 1), state: make(chan struct{}, 1), question: make(chan struct{}, 1),
		desired: map[plan.Key]desired{}, items: map[plan.Key]*item{},
		gone: map[plan.Key]*item{}, followers: map[plan.Key]map[plan.Key]bool{}, untold: map[plan.Key]bool{},
		current: account{started: time.Now(), trigger: report.TriggerStart},
		standby: true, settled: make(chan struct{}),
	}
	e.ledger = newLedger(opts.Policy.SourceName, &e.opts.Policy.Prune)
	return e
}

// Changed makes a key runnable, since its object has changed in the cluster. Of an
// object that is gone, and that nobody asks for, there is nothing to be done: so
// the end of what we have deleted begins no cycle of its own.
func (e *Engine) Changed(key plan.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil || e.over {
		return
	}
	e.ledger.touch(key)
	if _, named := e.desired[key]; !named && e.items[key] == nil {
		if e.lookAgain(key); !e.lists(&e.look) {
			e.tellFollowers(key, &e.look.Live)
			return
		}
	}
	e.wake(key, report.TriggerCluster)
}

// NamespaceChanged makes the keys of a namespace runnable.
func (e *Engine) NamespaceChanged(namespace string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.items {
		if key.Namespace == namespace {
			e.wake(key, report.TriggerCluster)
		}
	}
}

// StateChanged notes that the cluster's state may have changed.
func (e *Engine) StateChanged() { signal(e.state); signal(e.news) }

// CaughtUp ends the cycle if nothing else is left to be done.
func (e *Engine) CaughtUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settle()
}

// SetHolder notes who holds the lease, and whether that is somebody else.
func (e *Engine) SetHolder(holder string, standby bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holder, e.standby = holder, standby
	e.tellChange()
}

// tellChange wakes the publisher and those who wait. The engine is locked.
func (e *Engine) tellChange() {
	signal(e.news)
	close(e.settled)
	e.settled = make(chan struct{})
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wake makes key runnable. A key that waits doesn't any more. The engine is locked.
func (e *Engine) wake(key plan.Key, trigger report.Trigger) {
	if e.queue == nil || e.over || e.opts.Only != nil && !e.opts.Only(key) {
		return
	}
	e.itemOf(key).wakened()
	if e.tracker.Wake(key, string(trigger)) {
		e.begin(trigger)
	}
	e.queue.Add(key)
}

// itemOf is the account of an object, made where there is none. The engine is locked.
func (e *Engine) itemOf(key plan.Key) *item {
	it := e.items[key]
	if it == nil {
		it = &item{}
		e.items[key] = it
	}
	return it
}

// begin opens the account of a cycle that has just begun. Where cycles aren't to
// be told apart, all of them have one account: what a command did as a whole is
// what its report shall say. The engine is locked.
func (e *Engine) begin(trigger report.Trigger) {
	signal(e.news)
	if e.opts.Trigger != "" {
		trigger = e.opts.Trigger
		if e.current.number > 0 {
			e.current.finished = time.Time{}
			return
		}
	}
	clear(e.gone)
	a := account{number: e.current.number + 1, started: time.Now(), trigger: trigger}
	a.reads, a.writes = e.cluster.Requests()
	e.current = a
}

// settle ends the cycle if it is over. The engine is locked.
func (e *Engine) settle() {
	if !e.tracker.End(e.cluster.CaughtUp()) {
		return
	}
	reads, writes := e.cluster.Requests()
	e.current.finished = time.Now()
	e.current.sentReads, e.current.sentWrites = reads-e.current.reads, writes-e.current.writes
	e.tellRests()
	if !e.unanswered() {
		e.tellHold()
	}
	e.release()
	e.observeCycle()
	e.noteCycle()
	signal(e.question)
	e.tellChange()
}
