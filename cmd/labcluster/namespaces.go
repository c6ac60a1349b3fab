package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

const (
	drainWorkers = 10
	// drainDelay lets admission see that the namespace is going, so that nothing is created behind the drain.
	// The stock controller waits 5 s here, for the sake of several servers; there is one.
	drainDelay    = 200 * time.Millisecond
	drainRetry    = 50 * time.Millisecond
	drainRetryMax = time.Second
)

// namespaceDrain drives the namespace controller's own deleter. Only the queue is ours, for its shorter waits.
type namespaceDrain struct {
	queue   workqueue.TypedRateLimitingInterface[string]
	deleter deletion.NamespacedResourcesDeleterInterface
	synced  cache.InformerSynced
}

func newNamespaceDrain(ctx context.Context, client kubernetes.Interface, meta metadata.Interface, informers metadataInformers) *namespaceDrain {
	d := &namespaceDrain{
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](drainRetry, drainRetryMax)),
		deleter: deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), meta, client.CoreV1(),
			client.Discovery().ServerPreferredNamespacedResources, corev1.FinalizerKubernetes),
	}
	informer := informers.SharedInformerFactory.ForResource(corev1.SchemeGroupVersion.WithResource("namespaces")).Informer()
	// The handler lives as long as its informer; there is nothing to remove.
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    d.enqueue,
		UpdateFunc: func(_, now any) { d.enqueue(now) },
	})
	d.synced = func() bool { return err == nil && registration.HasSynced() }
	return d
}

func (d *namespaceDrain) enqueue(obj any) {
	if ns, ok := obj.(*metav1.PartialObjectMetadata); ok && ns.DeletionTimestamp != nil {
		d.queue.AddAfter(ns.Name, drainDelay)
	}
}

func (d *namespaceDrain) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range drainWorkers {
		workers.Go(func() {
			for d.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	d.queue.ShutDown()
	workers.Wait()
}

func (d *namespaceDrain) next(ctx context.Context) bool {
	name, quit := d.queue.Get()
	if quit {
		return false
	}
	defer d.queue.Done(name)
	// An error is the usual case while finalizers hold objects back; it says what remains.
	if err := d.deleter.Delete(ctx, name); err != nil {
		klog.FromContext(ctx).V(2).Info("namespace not empty yet", "namespace", name, "reason", err)
		d.queue.AddRateLimited(name)
		return true
	}
	d.queue.Forget(name)
	return true
}
