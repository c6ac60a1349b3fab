package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	collectorWorkers = 20
	// syncPeriod is how soon the collector sees a new kind. Between changes of CRDs it is answered from memory.
	syncPeriod = 200 * time.Millisecond
	// settleTime is how long discovery may trail behind the last event of a CRD.
	settleTime = 5 * time.Second
	pollPeriod = 20 * time.Millisecond
)

// controllers are the two that make deletion work: without them a dependent or a namespace would stay for ever.
type controllers struct {
	collector *garbagecollector.GarbageCollector
	drain     *namespaceDrain
	informers metadataInformers
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func startControllers(ctx context.Context, admin *rest.Config) (*controllers, error) {
	config := rest.AddUserAgent(rest.CopyConfig(admin), "labcluster-controllers")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the controllers: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a metadata client for the controllers: %w", err)
	}
	// Their own life, so that stop() is what ends them, and in order.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	informers := metadataInformers{metadatainformer.NewSharedInformerFactory(meta, 0)}
	kinds := watchKinds(informers, client.Discovery())
	started := make(chan struct{})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(), informers, started)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("make the garbage collector: %w", err)
	}
	c := &controllers{collector: collector, drain: newNamespaceDrain(ctx, client, meta, informers), informers: informers, cancel: cancel}
	informers.Start(ctx.Done())
	close(started)
	c.running.Go(func() { collector.Run(ctx, collectorWorkers, readyTimeout) })
	c.running.Go(func() { collector.Sync(ctx, kinds, syncPeriod) })
	c.running.Go(func() { c.drain.run(ctx) })
	return c, nil
}

func (c *controllers) waitSynced(ctx context.Context) error {
	return poll(ctx, "the garbage collector", func(context.Context) error {
		if !c.collector.IsSynced(klog.Background()) || !c.drain.synced() {
			return errNotYet
		}
		return nil
	})
}

func (c *controllers) stop() {
	c.cancel()
	c.running.Wait()
	c.informers.Shutdown()
}

// metadataInformers gives the collector an informer for any kind; it needs nothing but metadata.
type metadataInformers struct {
	metadatainformer.SharedInformerFactory
}

func (m metadataInformers) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	return m.SharedInformerFactory.ForResource(gvr), nil
}

// kindDiscovery lists the server's kinds from memory, and asks again only for a while after a CRD has changed.
type kindDiscovery struct {
	discovery.CachedDiscoveryInterface
	changed atomic.Int64 // Unix nanoseconds
}

func watchKinds(informers metadataInformers, d discovery.DiscoveryInterface) *kindDiscovery {
	k := &kindDiscovery{CachedDiscoveryInterface: memory.NewMemCacheClient(d)}
	mark := func() { k.changed.Store(time.Now().UnixNano()) }
	mark()
	crds := informers.SharedInformerFactory.ForResource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	// The handler lives as long as its informer; there is nothing to remove.
	_, _ = crds.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { mark() },
		UpdateFunc: func(any, any) { mark() },
		DeleteFunc: func(any) { mark() },
	})
	return k
}

func (k *kindDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	if time.Since(time.Unix(0, k.changed.Load())) < settleTime {
		k.Invalidate()
	}
	return k.CachedDiscoveryInterface.ServerPreferredResources()
}
