// Command bareloop does the work of the controller with no thought: for each of
// so many WebServices it sends an apply, a ConfigMap, a status and an Event, and it
// holds the two watches that the controller holds. It is the measure of what the
// server and the machine can do.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedevents "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

const workers = 16

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: bareloop KUBECONFIG NAMESPACE COUNT")
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	l, err := newLoop(cfg, args[1])
	if err != nil {
		return err
	}
	return l.run(ctx, count)
}

type loop struct {
	webservices *gentype.ClientWithList[*v1.WebService, *v1.WebServiceList]
	configmaps  typedcore.ConfigMapInterface
	events      typedevents.EventInterface
	namespace   string

	seenWebServices, seenConfigMaps *store
}

func newLoop(cfg *rest.Config, namespace string) (*loop, error) {
	cfg.QPS = -1
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	web, gv := rest.CopyConfig(cfg), v1.GroupVersion()
	web.GroupVersion, web.APIPath = &gv, "/apis"
	web.ContentType = runtime.ContentTypeJSON
	web.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(web)
	if err != nil {
		return nil, err
	}
	binary := rest.CopyConfig(cfg)
	binary.ContentType = runtime.ContentTypeProtobuf
	core, err := typedcore.NewForConfig(binary)
	if err != nil {
		return nil, err
	}
	events, err := typedevents.NewForConfig(binary)
	if err != nil {
		return nil, err
	}
	return &loop{
		namespace:  namespace,
		events:     events.Events(namespace),
		configmaps: core.ConfigMaps(namespace),
		webservices: gentype.NewClientWithList[*v1.WebService, *v1.WebServiceList](v1.Resource, client,
			runtime.NewParameterCodec(scheme), namespace,
			func() *v1.WebService { return &v1.WebService{} }, func() *v1.WebServiceList { return &v1.WebServiceList{} }),
	}, nil
}

// run writes everything, and ends when the watches have told of it.
func (l *loop) run(ctx context.Context, count int) error {
	ctx, cancel := context.WithCancel(ctx)
	var watches sync.WaitGroup
	defer watches.Wait()
	defer cancel()
	l.seenWebServices = l.watch(ctx, &watches, "webservices", cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return l.webservices.List(ctx, o)
		},
		WatchFuncWithContext: l.webservices.Watch,
	})
	l.seenConfigMaps = l.watch(ctx, &watches, "configmaps", cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return l.configmaps.List(ctx, o)
		},
		WatchFuncWithContext: l.configmaps.Watch,
	})
	if err := l.writeAll(ctx, count); err != nil {
		return err
	}
	if err := l.seenWebServices.wait(ctx); err != nil {
		return err
	}
	return l.seenConfigMaps.wait(ctx)
}

func (l *loop) writeAll(ctx context.Context, count int) error {
	var next atomic.Int64
	var writers sync.WaitGroup
	failed := make(chan error, workers)
	for range workers {
		writers.Go(func() {
			for i := next.Add(1); i <= int64(count); i = next.Add(1) {
				if err := l.write(ctx, fmt.Sprintf("web-%04d", i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	writers.Wait()
	close(failed)
	return <-failed
}

// write sends what the controller sends for a new WebService, its Event last.
func (l *loop) write(ctx context.Context, name string) error {
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"labels":{%q:"bare"}},"spec":{"image":"nginx:1.27","replicas":3,"tier":"dev"}}`,
		v1.APIVersion, v1.Kind, name, l.namespace, v1.SourceLabel)
	force, controller := true, true
	ws, err := l.webservices.Patch(ctx, name, types.ApplyPatchType, []byte(body), metav1.PatchOptions{
		FieldManager: v1.Manager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		return err
	}
	cm, err := l.configmaps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: v1.ChildName(name), Labels: map[string]string{v1.ManagedByLabel: v1.Manager},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.APIVersion, Kind: v1.Kind, Name: name, UID: ws.UID, Controller: &controller}},
		},
		Data: map[string]string{"image": "nginx:1.27", "replicas": "3", "tier": "dev"},
	}, metav1.CreateOptions{FieldManager: v1.Manager})
	if err != nil {
		return err
	}
	status := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"replicas":3,"observedGeneration":1,"conditions":[{"type":"Ready","status":"True","reason":"Reconciled","message":"The ConfigMap says what the spec says","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, ws.ResourceVersion)
	ws, err = l.webservices.Patch(ctx, name, types.MergePatchType, []byte(status), metav1.PatchOptions{FieldManager: v1.Manager}, "status")
	if err != nil {
		return err
	}
	l.seenWebServices.wrote(ws)
	l.seenConfigMaps.wrote(cm)
	return l.tell(ctx, ws)
}

// tell sends the Event that the controller sends of a new WebService.
func (l *loop) tell(ctx context.Context, ws *v1.WebService) error {
	_, err := l.events.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: ws.Name + ".0123456789abcdef"},
		EventTime:  metav1.NowMicro(), ReportingController: v1.Manager, ReportingInstance: "bare",
		Action: "Reconcile", Reason: string(v1.EventCreated), Type: corev1.EventTypeNormal,
		Note: "created webservice/" + ws.Name + ": the file asks for it and the cluster doesn't have it",
		Regarding: corev1.ObjectReference{
			APIVersion: v1.APIVersion, Kind: v1.Kind, Namespace: l.namespace, Name: ws.Name, UID: ws.UID,
		},
	}, metav1.CreateOptions{FieldManager: v1.Manager})
	return err
}

// watch keeps a store filled.
func (l *loop) watch(ctx context.Context, watches *sync.WaitGroup, name string, lw cache.ListWatch) *store {
	s := &store{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), changed: make(chan struct{}, 1)}
	reflector := cache.NewReflectorWithOptions(&lw, nil, s, cache.ReflectorOptions{Name: name, TypeDescription: name})
	watches.Go(func() { reflector.RunWithContext(ctx) })
	return s
}

// store signals every change, and remembers what was written to it from here.
type store struct {
	cache.Store
	changed chan struct{}

	mu      sync.Mutex
	written []metav1.Object
}

func (s *store) Add(obj any) error    { return s.then(s.Store.Add(obj)) }
func (s *store) Update(obj any) error { return s.then(s.Store.Update(obj)) }

func (s *store) Replace(list []any, version string) error {
	return s.then(s.Store.Replace(list, version))
}

func (s *store) then(err error) error {
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return err
}

func (s *store) wrote(obj metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, obj)
}

// wait waits until the watch has told of all that was written.
func (s *store) wait(ctx context.Context) error {
	for _, obj := range s.written {
		for !s.has(obj) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-s.changed:
			}
		}
	}
	return nil
}

func (s *store) has(obj metav1.Object) bool {
	got, ok, _ := s.GetByKey(obj.GetNamespace() + "/" + obj.GetName())
	if !ok {
		return false
	}
	live, ok := got.(metav1.Object)
	return ok && live.GetResourceVersion() == obj.GetResourceVersion()
}
