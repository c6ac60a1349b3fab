package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/manifests"
)

// recovery is how soon all must be well again after what kept us from working
// has gone.
const recovery = 15 * time.Second

// soon is how soon drift comes back, on a machine that is busy with other tests.
const soon = 5 * time.Second

// shipped is a kubeconfig with the rights that the product ships.
func shipped(t *testing.T) string {
	t.Helper()
	shared.Apply(t, manifests.RBAC())
	return shared.ServiceAccount(t, "webservice-controller", "webservice-controller")
}

// agent is how the audit log knows the requests of a test's cluster.
func agent(t *testing.T) string { return "webservice-controller/" + t.Name() }

// connect makes a cluster that isn't running yet.
func connect(t *testing.T, kubeconfig string, change ...func(*Options)) *Cluster {
	t.Helper()
	opts := Options{InstallCRD: true, CRD: manifests.CRD()}
	for _, f := range change {
		f(&opts)
	}
	cfg := labtest.ConfigFrom(t, kubeconfig)
	cfg.UserAgent = agent(t)
	c, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rig is a cluster and the engine that works on it.
type rig struct {
	*engine.Engine
	t       *testing.T
	cluster *Cluster
}

func allowed(context.Context, plan.StepKind) error { return nil }

// approvals are those of an out directory of the test's own.
type approvals struct{ report.Approvals }

func (*approvals) Command(digest string) string { return "approve " + digest }

// work makes an engine lead on the cluster until the test's end. It prunes nothing.
func work(t *testing.T, c *Cluster, change ...func(*engine.Options)) *rig {
	t.Helper()
	opts := engine.Options{
		Policy:  plan.Policy{SourceName: "default", Unlabelled: true, CreateNamespaces: true},
		Workers: 4, Backoff: engine.Backoff{Initial: 200 * time.Millisecond, Max: time.Minute},
		ScanInterval: 30 * time.Second, SourcePath: "desired", Version: "test",
		SourceStatus: func() source.Status { return source.Status{} },
		TakenOver:    func() time.Time { return time.Time{} },
		Rescan:       func() {},
		Approvals:    &approvals{report.Approvals{Dir: t.TempDir()}},
		Publish:      func(*report.Report) {},
		Log:          slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&opts)
	}
	r := &rig{Engine: engine.New(c, opts), t: t, cluster: c}
	r.SetHolder("me", false)
	background(t, func(ctx context.Context) { c.Run(ctx, r.Engine, allowed) })
	background(t, r.Lead)
	return r
}

// look runs a cluster without an engine until the test's end, once it can be worked on.
func look(t *testing.T, kubeconfig string) *Cluster {
	t.Helper()
	c := connect(t, kubeconfig)
	background(t, func(ctx context.Context) { c.Run(ctx, &deaf{}, allowed) })
	labtest.Eventually(t, recovery, c.State)
	return c
}

// is fails the test unless err is a failure of that class.
func is(t *testing.T, err error, class plan.FailureClass) {
	t.Helper()
	var f *plan.Failure
	if !errors.As(err, &f) || f.Class != class {
		t.Errorf("class %d is wanted of %v", class, err)
	}
}

// background runs f until the test's end, or until stop is called.
func background(t *testing.T, f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// take is a source with one file for each key.
func (r *rig) take(image string, keys ...plan.Key) {
	s := &source.Snapshot{Complete: true, Digest: image, Objects: map[plan.Key]source.Object{}}
	for _, key := range keys {
		s.Objects[key] = source.Object{Key: key, Image: image, File: key.Name + ".yaml", Line: 1, Digest: image}
	}
	r.Take(s)
}

// converges waits until all is as it should be.
func (r *rig) converges() {
	r.t.Helper()
	labtest.Eventually(r.t, recovery, func() error {
		if rep := r.Report(); !rep.Converged {
			return errors.New(rep.WaitingFor)
		}
		return nil
	})
}

// item is what the report says of key.
func (r *rig) item(key plan.Key) (report.Item, error) {
	for _, it := range r.Report().Items {
		if it.Namespace == key.Namespace && it.Name == key.Name {
			return it, nil
		}
	}
	return report.Item{}, fmt.Errorf("%s isn't in the report", key)
}

// fails waits until the object is one that fails, and returns its item.
func (r *rig) fails(key plan.Key) report.Item {
	r.t.Helper()
	var it report.Item
	labtest.Eventually(r.t, recovery, func() (err error) {
		if it, err = r.item(key); err != nil {
			return err
		}
		if it.Requeue == nil || !it.Requeue.IsError {
			return fmt.Errorf("%s: %s", it.Action, it.Reason)
		}
		return nil
	})
	return it
}

// writes are the writes of the test's cluster since a mark, as the server counts.
func writes(t *testing.T, since labtest.Mark) []labtest.Request {
	t.Helper()
	var out []labtest.Request
	for _, req := range shared.Audit().Requests(t, agent(t), since) {
		if req.IsWrite() && req.Resource != "leases" {
			out = append(out, req)
		}
	}
	return out
}

// quiet fails the test if anything is written for so long.
func quiet(t *testing.T, d time.Duration) {
	t.Helper()
	mark := shared.Audit().Mark(t)
	<-time.After(d)
	if w := writes(t, mark); len(w) > 0 {
		t.Errorf("%d writes in %v, the first: %+v", len(w), d, w[0])
	}
}

func admin(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(shared.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// onlyCRD leaves the server with this CRD alone and no objects; nil: with none.
func onlyCRD(t *testing.T, manifest []byte) {
	t.Helper()
	crds := admin(t).Resource(crdResource())
	if err := crds.Delete(t.Context(), v1.CRDName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	labtest.Eventually(t, recovery, func() error {
		_, err := crds.Get(t.Context(), v1.CRDName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		free(t)
		return errors.New("the CRD is still there")
	})
	if manifest != nil {
		shared.Apply(t, manifest)
	}
}

// free takes all finalizers off all WebServices: whoever put them there has gone.
func free(t *testing.T) {
	t.Helper()
	objects := admin(t).Resource(v1.GroupVersionResource())
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return // they aren't served any more
	}
	for i := range list.Items {
		if o := &list.Items[i]; len(o.GetFinalizers()) > 0 {
			_, err := objects.Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
		}
	}
}

// edit is a merge patch by somebody else.
func edit(t *testing.T, key plan.Key, patch string, subresources ...string) {
	t.Helper()
	_, err := admin(t).Resource(v1.GroupVersionResource()).Namespace(key.Namespace).
		Patch(t.Context(), key.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		t.Fatal(err)
	}
}
