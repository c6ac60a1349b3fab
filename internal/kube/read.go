package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Read fills the mirrors once, with lists that are as fresh as the API server's
// store, and watches nothing: it is what a command needs that looks and writes
// nothing. A Cluster is either run or read.
//
// While nothing answers it asks again, for as long as patience. What may be done
// without and isn't allowed is done without, as in Run. The error says in one
// sentence what is wrong and what to do.
func (c *Cluster) Read(ctx context.Context, patience time.Duration) error {
	r := &Reader{clients: c.write, patience: patience}
	crds := c.write.dynamic.Resource(crdResource())
	if err := c.doWithout(watchCRD, fill(ctx, r, crds, onlyNamed(v1.CRDName), c.crds.newFeed(anyKey))); err != nil {
		return err
	}
	for _, s := range c.scopes() {
		if err := c.readScope(ctx, r, s); err != nil {
			return err
		}
	}
	return nil
}

// readScope reads ConfigMaps before WebServices: of an object that comes in between
// with its ConfigMap, the one that is missing is looked for once more before it is
// believed.
func (c *Cluster) readScope(ctx context.Context, r *Reader, s namespaceScope) error {
	if err := c.readNamespaces(ctx, r, s); err != nil {
		return err
	}
	if err := fill(ctx, r, c.write.core.ConfigMaps(string(s)), onlyManaged, c.children.newFeed(s.has)); err != nil {
		return err
	}
	if _, served := c.defined(); !served {
		return nil
	}
	return fill(ctx, r, c.write.webservices(string(s)), everything, c.webservices.newFeed(s.has))
}

func (c *Cluster) readNamespaces(ctx context.Context, r *Reader, s namespaceScope) error {
	client := c.write.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	narrow, covers := scope(everything), anyKey
	if s != "" {
		narrow, covers = onlyNamed(string(s)), func(k plan.Key) bool { return k.Name == string(s) }
	}
	return c.doWithout(s.name(watchNamespaces), fill(ctx, r, client, narrow, c.namespaces.newFeed(covers)))
}

// doWithout notes where that can't be read since it is forbidden, and passes every
// other error on.
func (c *Cluster) doWithout(what string, err error) error {
	if apierrors.IsForbidden(err) {
		c.health.set(what, &forbiddenError{err})
		return nil
	}
	return err
}

// fill makes a feed of what the server has now.
func fill[L runtime.Object, T any](ctx context.Context, r *Reader, c client[L], narrow scope, to *feed[T]) error {
	var list runtime.Object
	err := r.patiently(ctx, func(ctx context.Context, answered func()) (err error) {
		pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			narrow(&opts)
			page, err := c.List(ctx, opts)
			if err == nil {
				answered()
			}
			return page, err
		})
		list, _, err = pages.List(ctx, metav1.ListOptions{})
		return err
	})
	if err != nil {
		return err
	}
	var all []any
	err = meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o)
		return nil
	})
	if err != nil {
		return err
	}
	described, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	return to.Replace(all, described.GetResourceVersion())
}

// Preparation is what Prepare would do now: create the CRD, update it, or nothing.
func (c *Cluster) Preparation() plan.Action {
	if !c.unprepared() {
		return plan.Noop
	}
	if crd, _ := c.crds.get(crdKey()); crd.uid == "" {
		return plan.Create
	}
	return plan.Update
}

// Standing looks at the ConfigMap of the child's name on the server itself, whether
// it has our label or not. The error is a *plan.Failure.
func (c *Cluster) Standing(ctx context.Context, key plan.Key) (plan.Child, error) {
	child, err := c.standing(ctx, key)
	if err != nil {
		return plan.Child{}, failure(err)
	}
	return child, nil
}

// ChildWriters says who beside us has written which key of the data of the child, by
// the path of the field, as in data.image. The mirror doesn't keep that. The error is
// a *plan.Failure.
func (c *Cluster) ChildWriters(ctx context.Context, key plan.Key) (map[string]string, error) {
	cm, err := c.write.core.ConfigMaps(key.Namespace).Get(ctx, v1.ChildName(key.Name), metav1.GetOptions{})
	if err != nil {
		return nil, failure(err)
	}
	writers := map[string]string{}
	for i := range cm.ManagedFields {
		if e := &cm.ManagedFields[i]; !isOurs(*e) {
			for _, name := range dataOf(e) {
				writers["data."+name] = e.Manager
			}
		}
	}
	return writers, nil
}
