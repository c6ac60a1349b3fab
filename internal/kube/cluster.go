package kube

import (
	"context"
	"iter"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Listener is told what happens in the cluster. Its methods are called from the
// watches' goroutines and must return at once.
type Listener interface {
	// Changed: somebody else has changed the object, or its ConfigMap.
	Changed(key plan.Key)
	// NamespaceChanged: a namespace has come, begun to go, or gone.
	NamespaceChanged(namespace string)
	// StateChanged: the cluster's own state has changed: the CRD, a watch that
	// works again or doesn't any more.
	StateChanged()
	// CaughtUp: the watches have told of all our own writes.
	CaughtUp()
}

// nobody listens before Run.
type nobody struct{}

func (nobody) Changed(plan.Key)        {}
func (nobody) NamespaceChanged(string) {}
func (nobody) StateChanged()           {}
func (nobody) CaughtUp()               {}

// Options are a cluster's settings.
type Options struct {
	// Namespaces confines everything to these; empty is all.
	Namespaces []string
	// InstallCRD installs a missing CRD and upgrades our own older one.
	InstallCRD bool
	// CRD is the manifest of the CRD, as YAML.
	CRD []byte
	// Observer counts requests; nil is nobody.
	Observer Observer
}

// Gate is asked before every write of a step. An error of it keeps the write from
// being sent.
type Gate func(ctx context.Context, kind plan.StepKind) error

// Cluster is the mirrored cluster and the way to write to it.
type Cluster struct {
	opts     Options
	listener Listener
	gate     Gate

	// write carries reads and writes of steps, and is what Requests counts.
	// watch and lease have clients of their own, and so their own counters.
	write, watch, lease *clients
	// connections are shared by all of them.
	connections *connections
	// clock is read off the lease's answers.
	clock *serverClock

	webservices *mirror[plan.Live]
	children    *mirror[plan.Child]
	namespaces  *mirror[plan.NamespaceState]
	crds        *mirror[crdState]
	health      health

	// creating lets one worker at a time create a namespace.
	creating sync.Mutex
	// closed has what creations have found out about their namespaces, where we may
	// not watch those, and uncreated why we may not create namespaces.
	closed, uncreated findings
	// rewound tells Run that the server is at an earlier state than it was.
	rewound chan struct{}
	// crdNews wakes those that wait for the CRD.
	crdNews    broadcast
	definition definition
}

// New makes a Cluster. Nothing is sent before Run.
func New(cfg *rest.Config, opts Options) (*Cluster, error) {
	definition, err := newDefinition(opts.CRD)
	if err != nil {
		return nil, err
	}
	cfg = observing(cfg, opts.Observer)
	c := &Cluster{opts: opts, definition: definition, listener: nobody{}, clock: &serverClock{}, connections: newConnections(cfg), rewound: make(chan struct{}, 1)}
	if c.write, err = newClients(cfg, c.connections, writeTimeout); err != nil {
		return nil, err
	}
	if c.watch, err = newClients(cfg, c.connections, 0); err != nil {
		return nil, err
	}
	if c.lease, err = newClients(cfg, c.connections, leaseTimeout, c.clock.wrap); err != nil {
		return nil, err
	}
	caughtUp := func() { c.listener.CaughtUp() }
	c.health.changed = c.stateChanged
	c.webservices = newMirror(toLive, func(k plan.Key) { c.listener.Changed(k) }, caughtUp, c.stateChanged)
	c.children = newMirror(toChild, c.childChanged, caughtUp, c.stateChanged)
	c.namespaces = newMirror(toNamespace, func(k plan.Key) { c.listener.NamespaceChanged(k.Name) }, caughtUp, c.stateChanged)
	c.crds = newMirror(toCRD, func(plan.Key) { c.stateChanged() }, func() {}, c.stateChanged)
	return c, nil
}

func (c *Cluster) childChanged(key plan.Key) {
	if name, ok := strings.CutSuffix(key.Name, v1.ChildSuffix); ok {
		c.listener.Changed(plan.Key{Namespace: key.Namespace, Name: name})
	}
}

func (c *Cluster) stateChanged() {
	c.crdNews.fire()
	c.listener.StateChanged()
}

// Look fills in what is known of key's object. fresh is false while the watches
// haven't told of our own writes to it yet; what is filled in has them all the same.
func (c *Cluster) Look(key plan.Key, in *plan.Input) (fresh bool) {
	var freshLive, freshChild bool
	in.Live, freshLive = c.webservices.get(key)
	in.Child, freshChild = c.children.get(childKey(key))
	in.Namespace = c.namespaceState(key.Namespace)
	in.CRD = c.crd()
	return freshLive && freshChild
}

func (c *Cluster) namespaceState(name string) plan.NamespaceState {
	state, _ := c.namespaces.get(plan.Key{Name: name})
	switch {
	case state != plan.NamespaceUnknown:
		return state
	case c.namespaces.ready():
		return plan.NamespaceMissing
	}
	_, err := c.closed.last(name)
	switch {
	case err == nil:
		return plan.NamespaceUnknown
	case failure(err).Phrase == namespaceMissing:
		return plan.NamespaceMissing
	}
	return plan.NamespaceTerminating
}

// All goes over the live objects. It holds a lock: don't call the cluster meanwhile.
func (c *Cluster) All() iter.Seq2[plan.Key, plan.Live] { return c.webservices.all() }

// CaughtUp is true when the watches have told of all our own writes.
func (c *Cluster) CaughtUp() bool {
	return c.webservices.pending() == 0 && c.children.pending() == 0 && c.namespaces.pending() == 0
}

// Requests counts the requests of steps so far: neither watches nor the lease.
func (c *Cluster) Requests() (reads, writes int64) {
	return c.write.requests.reads.Load(), c.write.requests.writes.Load()
}
