package preview

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

// fake is a cluster in memory that was read.
type fake struct {
	objects     map[plan.Key]object
	namespaces  map[string]plan.NamespaceState
	crd         plan.CRD
	state       error
	preparation plan.Action
	// standing are ConfigMaps without our label.
	standing map[plan.Key]plan.Child
	writers  map[string]string
	// answer is what the server has to say about a step.
	answer func(key plan.Key, step *plan.Step) (plan.Answer, error)

	mu    sync.Mutex
	tried []string
}

// cluster is a fake with the namespace lab and these objects in it, all as they
// should be.
func cluster(names ...string) *fake {
	f := &fake{
		objects: map[plan.Key]object{}, standing: map[plan.Key]plan.Child{},
		namespaces:  map[string]plan.NamespaceState{"lab": plan.NamespaceActive},
		crd:         plan.CRD{Ready: true},
		preparation: plan.Noop,
		answer:      func(plan.Key, *plan.Step) (plan.Answer, error) { return plan.Answer{}, nil },
	}
	for _, name := range names {
		f.objects[lab(name)] = converged(lab(name))
	}
	return f
}

func lab(name string) plan.Key { return plan.Key{Namespace: "lab", Name: name} }

// converged is the object that a file of the image a:1 asks for, done.
func converged(key plan.Key) object {
	uid := types.UID("uid-" + key.Name)
	ws := &v1.WebService{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: uid, Generation: 1, ResourceVersion: "1" + key.Name,
		Labels: map[string]string{v1.SourceLabel: "default"},
	}}
	ws.Spec = v1.WebServiceSpec{Image: "a:1", Replicas: new(int32(1)), Tier: "dev"}
	ws.Status = v1.WebServiceStatus{Replicas: 1, ObservedGeneration: 1, Conditions: []metav1.Condition{{
		Type: "Ready", Status: "True", Reason: "Reconciled", Message: "The ConfigMap says what the spec says",
		ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}}}
	child := plan.Child{
		UID: "child-" + uid, ResourceVersion: "2" + key.Name, Managed: true,
		Labels: map[string]string{v1.ManagedByLabel: v1.Manager},
		Data:   map[string]string{"image": "a:1", "replicas": "1", "tier": "dev"},
		Owners: []metav1.OwnerReference{{APIVersion: v1.APIVersion, Kind: v1.Kind, Name: key.Name, UID: uid, Controller: new(true)}},
	}
	return object{live: plan.Live{WebService: ws, Fields: plan.Fields{Image: true, Labels: []string{v1.SourceLabel}}}, child: child}
}

func (f *fake) Look(key plan.Key, in *plan.Input) bool {
	o := f.objects[key]
	in.Live, in.Child, in.CRD = o.live, o.child, f.crd
	if in.Namespace = f.namespaces[key.Namespace]; in.Namespace == plan.NamespaceUnknown {
		in.Namespace = plan.NamespaceMissing
	}
	return true
}

func (f *fake) All() iter.Seq2[plan.Key, plan.Live] {
	return func(yield func(plan.Key, plan.Live) bool) {
		for key, o := range f.objects {
			if o.live.Exists() && !yield(key, o.live) {
				return
			}
		}
	}
}

func (f *fake) State() error             { return f.state }
func (f *fake) Preparation() plan.Action { return f.preparation }

func (f *fake) Standing(_ context.Context, key plan.Key) (plan.Child, error) {
	return f.standing[key], nil
}

func (f *fake) ChildWriters(context.Context, plan.Key) (map[string]string, error) {
	return f.writers, nil
}

func (f *fake) Try(_ context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried = append(f.tried, step.Kind.String()+" "+key.Name)
	return f.answer(key, step)
}

func (f *fake) TryPrepare(ctx context.Context) error {
	_, err := f.Try(ctx, plan.Key{Name: "CRD"}, &plan.Step{})
	return err
}

// files are documents of the image a:1 with these names, in the namespace lab; a name
// with a slash is in another.
func files(names ...string) *source.Snapshot {
	s := &source.Snapshot{Complete: true, Files: len(names), Objects: map[plan.Key]source.Object{}, Broken: map[plan.Key]source.Problem{}}
	for _, name := range names {
		key := lab(name)
		if namespace, rest, ok := strings.Cut(name, "/"); ok {
			key = plan.Key{Namespace: namespace, Name: rest}
		}
		s.Objects[key] = source.Object{Key: key, Image: "a:1", File: name + ".yaml", Line: 1, Digest: name}
		s.Digest += name
	}
	if len(names) == 0 {
		s.Err = &source.RootError{Path: "desired", Reason: source.ErrEmpty}
	}
	return s
}

// approvals allow what is in the list, and count how often one is used up.
type approvals struct {
	given []string
	used  int
}

func (a *approvals) Approved(digest string) (bool, error) {
	return slices.Contains(a.given, digest) || slices.Contains(a.given, "all"), nil
}
func (a *approvals) Retain(string) error          { a.used++; return nil }
func (a *approvals) Command(digest string) string { return "approve " + digest }

func options() Options {
	return Options{
		Policy: plan.Policy{
			SourceName: "default", Unlabelled: true, CreateNamespaces: true,
			Prune: plan.PrunePolicy{Enabled: true, After: 3 * time.Second, AfterTakeover: time.Minute, Recheck: 30 * time.Second},
		},
		Workers: 4, Backoff: engine.Backoff{Initial: 200 * time.Millisecond, Max: time.Minute}, ScanInterval: 30 * time.Second,
		SourcePath: "desired", Version: "test", Approvals: &approvals{},
	}
}

// made is the plan for the cluster.
func made(t *testing.T, f *fake, s *source.Snapshot, change ...func(*Options)) *Plan {
	t.Helper()
	opts := options()
	for _, c := range change {
		c(&opts)
	}
	p, err := Make(t.Context(), f, s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// says writes down the steps on each object, and what it comes to rest with.
func says(p *Plan) []string {
	var out []string
	for i := range p.First {
		out = append(out, string(p.First[i].Action)+" "+p.First[i].Target)
	}
	for i := range p.Report.Items {
		item := &p.Report.Items[i]
		key := plan.Key{Namespace: item.Namespace, Name: item.Name}
		line := item.Name + ":"
		for _, s := range p.Steps[key] {
			line += " " + s.Kind.String() + ","
		}
		out = append(out, line+" "+string(item.Action)+", "+item.Reason)
	}
	return out
}

func want(t *testing.T, p *Plan, lines ...string) {
	t.Helper()
	if got := says(p); !slices.Equal(got, lines) {
		t.Errorf("the plan is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}
