package kube

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Names of the watches, as health keeps them and logs call them.
const (
	watchCRD         = "customresourcedefinitions"
	watchConfigMaps  = "configmaps"
	watchNamespaces  = "namespaces"
	watchWebServices = "webservices"
)

// Run watches until ctx ends, and returns when every watch has ended. It tells
// listener what happens, and asks gate before every write. Run is called once,
// and before any step.
func (c *Cluster) Run(ctx context.Context, listener Listener, gate Gate) {
	c.listener, c.gate = listener, gate
	for ctx.Err() == nil {
		watching, stop := context.WithCancel(ctx)
		var watches sync.WaitGroup
		c.watchAll(watching, &watches)
		select {
		case <-ctx.Done():
		case <-c.rewound:
		}
		stop()
		watches.Wait()
		if ctx.Err() == nil {
			c.forgetAll()
		}
	}
}

func (c *Cluster) watchAll(ctx context.Context, watches *sync.WaitGroup) {
	crd := newWatcher(watchCRD, c.watch.dynamic.Resource(crdResource()), onlyNamed(v1.CRDName), c.crds.newFeed(anyKey), &c.health)
	crd.optional = true
	watches.Go(func() { crd.run(ctx) })
	for _, scope := range c.scopes() {
		c.watchNamespaces(ctx, watches, scope)
		configmaps := newWatcher(scope.name(watchConfigMaps), c.watch.core.ConfigMaps(string(scope)), onlyManaged,
			c.children.newFeed(scope.has), &c.health)
		watches.Go(func() { configmaps.run(ctx) })
		feed := c.webservices.newFeed(scope.has)
		webservices := newWatcher(scope.name(watchWebServices), c.watch.webservices(string(scope)), everything, feed, &c.health)
		watches.Go(func() { c.whileDefined(ctx, webservices, feed) })
	}
}

func (c *Cluster) watchNamespaces(ctx context.Context, watches *sync.WaitGroup, s namespaceScope) {
	client := c.watch.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	narrow, covers := scope(everything), anyKey
	if s != "" {
		narrow, covers = onlyNamed(string(s)), func(k plan.Key) bool { return k.Name == string(s) }
	}
	w := newWatcher(s.name(watchNamespaces), client, narrow, c.namespaces.newFeed(covers), &c.health)
	w.optional = true
	watches.Go(func() { w.run(ctx) })
}

// namespaceScope is a namespace to watch; "" stands for all of them.
type namespaceScope string

func (s namespaceScope) has(key plan.Key) bool { return s == "" || key.Namespace == string(s) }

func (s namespaceScope) name(resource string) string {
	if s == "" {
		return resource
	}
	return resource + " in " + string(s)
}

func anyKey(plan.Key) bool { return true }

func (c *Cluster) scopes() []namespaceScope {
	if len(c.opts.Namespaces) == 0 {
		return []namespaceScope{""}
	}
	scopes := make([]namespaceScope, 0, len(c.opts.Namespaces))
	for _, namespace := range c.opts.Namespaces {
		scopes = append(scopes, namespaceScope(namespace))
	}
	return scopes
}

// WaitAble waits until the cluster can be worked on, or could if the CRD were
// installed, which Prepare may do. It returns early when ctx ends.
func (c *Cluster) WaitAble(ctx context.Context) {
	for {
		news := c.crdNews.wait()
		if c.State() == nil || c.unprepared() {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

// whileDefined watches WebServices for as long as there is one and the same CRD
// that serves them. When it goes, so do all that it defined.
func (c *Cluster) whileDefined(ctx context.Context, w *watcher, feed *feed[plan.Live]) {
	for ctx.Err() == nil {
		uid, ok := c.waitDefined(ctx)
		if !ok {
			return
		}
		defined, undefine := context.WithCancel(ctx)
		var watching sync.WaitGroup
		watching.Go(func() { w.run(defined) })
		c.waitRedefined(ctx, uid)
		undefine()
		watching.Wait()
		if ctx.Err() == nil {
			feed.reset()
			c.health.forget(w.what)
		}
	}
}

// waitDefined waits until WebServices are served. ok is false when ctx is done.
func (c *Cluster) waitDefined(ctx context.Context) (uid types.UID, ok bool) {
	for {
		news := c.crdNews.wait()
		if uid, ok := c.defined(); ok {
			return uid, true
		}
		select {
		case <-ctx.Done():
			return "", false
		case <-news:
		}
	}
}

// waitRedefined waits until the CRD with that uid doesn't serve any more, or ctx ends.
func (c *Cluster) waitRedefined(ctx context.Context, uid types.UID) {
	for {
		news := c.crdNews.wait()
		if now, ok := c.defined(); !ok || now != uid {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

// defined says whether WebServices are served, and by which CRD. Where we may
// not look at CRDs, it takes for granted that they are.
func (c *Cluster) defined() (types.UID, bool) {
	if forbidden(c.health.err(watchCRD)) {
		return "", true
	}
	crd, _ := c.crds.get(crdKey())
	return crd.uid, crd.established && crd.served
}
