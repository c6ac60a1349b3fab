package preview

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
)

const (
	allNew  = " apply the WebService, create the ConfigMap, write the status, create, the file asks for it and the cluster doesn't have it"
	asItIs  = " noop, spec, ConfigMap and status are as they should be"
	allGone = " delete the WebService, delete, its file is gone"
)

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	p := made(t, cluster("a", "b"), files("a", "b"))
	want(t, p, "a:"+asItIs, "b:"+asItIs)
	if len(p.First)+len(p.Steps) > 0 || p.Cluster != nil {
		t.Errorf("the plan is %+v", p)
	}
}

func TestAFreshCluster(t *testing.T) {
	t.Parallel()
	f := cluster()
	f.namespaces, f.crd, f.preparation = nil, plan.CRD{Reason: "the CRD isn't there yet"}, plan.Create
	f.state = errors.New("the CRD isn't there yet")
	p := made(t, f, files("a", "b", "there/c"))
	slices.SortFunc(p.First, func(a, b Step) int { return strings.Compare(a.Target, b.Target) })
	want(t, p, "create customresourcedefinition/"+v1.CRDName, "create namespace/lab", "create namespace/there",
		"a:"+allNew, "b:"+allNew, "c:"+allNew)
	for _, item := range p.Report.Items {
		if v := item.ResourceVersions; v.WebService.After != "" || v.ConfigMap.After != "" || item.Generation != 1 || item.ObservedGeneration != 1 {
			t.Errorf("the item %+v has what only the server can give", item)
		}
	}
}

func TestADefinitionThatNobodyInstalls(t *testing.T) {
	t.Parallel()
	f := cluster()
	f.crd, f.state = plan.CRD{Reason: "the CRD is missing"}, errors.New("the CRD is missing: install it")
	p := made(t, f, files("a"))
	want(t, p, "a: requeue, the CRD is missing: install it")
	if p.Cluster == nil || len(p.Steps) > 0 {
		t.Errorf("the plan is %+v", p)
	}
}

// Deletions come after prune.after, and after what is created.
func TestAMove(t *testing.T) {
	t.Parallel()
	p := made(t, cluster("a", "b", "c"), files("a", "b", "there/c"))
	want(t, p, "create namespace/there", "a:"+asItIs, "b:"+asItIs, "c:"+allGone, "c:"+allNew)
	if s := p.Steps[lab("c")][0]; s.After != 3*time.Second || s.Action != plan.Delete || s.Target != "webservice/c" {
		t.Errorf("the deletion is %+v", s)
	}
	if s := p.Steps[plan.Key{Namespace: "there", Name: "c"}][0]; s.After != 0 {
		t.Errorf("the creation is %+v", s)
	}
}

func TestHeldDeletions(t *testing.T) {
	t.Parallel()
	const reason = "no file; held: 2 objects would be deleted, and that is all that this source owns: approve that, or bring the files back"
	f := cluster("a", "b")
	p := made(t, f, files("new"))
	want(t, p, "a: requeue, "+reason, "b: requeue, "+reason, "new: requeue, waits for held deletions")
	if r := p.Report; len(r.Held) != 2 || r.HeldCommand != "approve "+r.HeldDigest || r.HeldDigest == "" {
		t.Errorf("held %+v, %q", r.Held, r.HeldCommand)
	}

	given := &approvals{given: []string{p.Report.HeldDigest}}
	p = made(t, f, files("new"), func(o *Options) { o.Approvals = given })
	want(t, p, "a:"+allGone, "b:"+allGone, "new:"+allNew)
	if given.used > 0 {
		t.Error("a plan has used up an approval")
	}
}

// Whoever takes the lease from another holder deletes nothing for a while.
func TestALeaseThatWouldBeTakenOver(t *testing.T) {
	t.Parallel()
	p := made(t, cluster("a", "b"), files("a"), func(o *Options) { o.TakenOver = time.Now() })
	want(t, p, "a:"+asItIs, "b: requeue, no file; held: the lease was taken from another holder a short time ago")
	if len(p.Report.Held) != 1 || p.Report.HeldCommand != "" {
		t.Errorf("held %+v, %q", p.Report.Held, p.Report.HeldCommand)
	}
}

func TestAnEmptySource(t *testing.T) {
	t.Parallel()
	p := made(t, cluster("a", "b"), files())
	if len(p.Report.Held) != 2 || len(p.Steps) > 0 {
		t.Errorf("held %+v, steps %+v", p.Report.Held, p.Steps)
	}
}

// What the files don't name has our finalizer: its ConfigMap and the finalizer go
// as late as it does.
func TestADeletionThatIsCleanedUp(t *testing.T) {
	t.Parallel()
	f := cluster("a", "b", "c")
	f.objects[lab("c")].live.Finalizers = []string{v1.CleanupFinalizer}
	p := made(t, f, files("a", "b"))
	want(t, p, "a:"+asItIs, "b:"+asItIs, "c: delete the WebService, delete the ConfigMap, drop the finalizer, delete, its file is gone")
	for _, s := range p.Steps[lab("c")] {
		if s.After != 3*time.Second {
			t.Errorf("%s comes after %s", s.Kind, s.After)
		}
	}
}

// An object that somebody else has deleted goes for good, and is told of all the same.
func TestWhatSomebodyElseHasDeleted(t *testing.T) {
	t.Parallel()
	f := cluster("a", "b")
	f.objects[lab("a")].live.Finalizers = []string{v1.CleanupFinalizer}
	deleted := f.objects[lab("b")].live.CreationTimestamp
	f.objects[lab("a")].live.DeletionTimestamp = &deleted
	p := made(t, f, files("b"))
	want(t, p, "a: delete the ConfigMap, drop the finalizer, delete, the object is being deleted, and its ConfigMap goes first", "b:"+asItIs)
	if s := p.Report.Summary; s.Total != 2 || s.Delete != 1 {
		t.Errorf("summary %+v", s)
	}
	if v := p.Report.Items[0].ResourceVersions; v.WebService.Before != "1a" || v.ConfigMap.Before != "2a" {
		t.Errorf("versions %+v", v)
	}

	p = made(t, f, files("a", "b"))
	want(t, p, "a: delete the ConfigMap, drop the finalizer, apply the WebService, create the ConfigMap, write the status, "+
		"delete, the object is being deleted, and its ConfigMap goes first", "b:"+asItIs)
}

// A ConfigMap without our label isn't read; it is looked for before one is made.
func TestAConfigMapInTheWay(t *testing.T) {
	t.Parallel()
	f := cluster()
	f.standing[lab("a")] = plan.Child{UID: "theirs", ResourceVersion: "9"}
	p := made(t, f, files("a"))
	if got := says(p); len(got) != 1 || !strings.Contains(got[0], "apply the WebService, write the status, requeue, a ConfigMap of that name belongs to someone else") {
		t.Errorf("the plan is %q", got)
	}

	ours := cluster("a")
	stripped := ours.objects[lab("a")]
	ours.standing[lab("a")] = plan.Child{UID: stripped.child.UID, ResourceVersion: "9", Owners: stripped.child.Owners, Data: stripped.child.Data, Managed: true}
	stripped.child = plan.Child{}
	ours.objects[lab("a")] = stripped
	p = made(t, ours, files("a"))
	if got := says(p); len(got) != 1 || !strings.HasPrefix(got[0], "a: update the ConfigMap,") {
		t.Errorf("the plan is %q", got)
	}
}

func TestWhoHasWrittenTheConfigMap(t *testing.T) {
	t.Parallel()
	f := cluster("a")
	f.objects[lab("a")].child.Data["image"] = "drifted"
	f.writers = map[string]string{"data.image": "kubectl-edit"}
	p := made(t, f, files("a"))
	fields := p.Steps[lab("a")][0].Fields
	if len(fields) != 1 || fields[0].Path != "data.image" || fields[0].By != "kubectl-edit" || *fields[0].From != "drifted" || *fields[0].To != "a:1" {
		t.Errorf("fields %+v", fields)
	}
}

// One that depends on another is done in the same plan, and waits where that one can't
// be done.
func TestDependencies(t *testing.T) {
	t.Parallel()
	s := files("a", "b")
	a := s.Objects[lab("a")]
	a.DependsOn = []plan.Key{lab("b")}
	s.Objects[lab("a")] = a
	p := made(t, cluster(), s)
	if got := says(p); !strings.HasSuffix(got[0], "write the status, create, the file asks for it and the cluster doesn't have it") || got[1] != "b:"+allNew {
		t.Errorf("the plan is %q", got)
	}
	delete(s.Objects, lab("b"))
	p = made(t, cluster(), s)
	want(t, p, "a: apply the WebService, write the status, requeue, waits for lab/b: it doesn't exist, and no file asks for it")
}

func TestTheServersWord(t *testing.T) {
	t.Parallel()
	f := cluster("a", "b")
	f.namespaces["there"] = plan.NamespaceMissing
	f.answer = func(key plan.Key, step *plan.Step) (plan.Answer, error) {
		if key.Name == "b" && step.Kind == plan.StepApply {
			return plan.Answer{}, &plan.Failure{Class: plan.Refused, Phrase: "Forbidden", Err: errors.New("a policy says no")}
		}
		return plan.Answer{}, nil
	}
	s := files("a", "b", "new", "there/far")
	for _, name := range []string{"a", "b"} {
		o := s.Objects[lab(name)]
		o.Image, o.Digest = "a:2", name+"2"
		s.Objects[lab(name)] = o
	}
	p := made(t, f, s, func(o *Options) { o.Server = true })
	got := strings.Join(says(p), "\n")
	if !strings.Contains(got, "the API server refused to apply the WebService: a policy says no") || p.Report.Summary.Errors != 1 {
		t.Errorf("the plan is\n%s", got)
	}
	slices.Sort(f.tried)
	// What builds on something that isn't there yet can't be tried; a ConfigMap can
	// before its owner is there.
	wantTried := []string{"apply the WebService a", "apply the WebService b", "apply the WebService new",
		"create the ConfigMap new", "create the namespace far", "update the ConfigMap a", "write the status b"}
	if !slices.Equal(f.tried, wantTried) {
		t.Errorf("tried %q, want %q", f.tried, wantTried)
	}
	for key, steps := range p.Steps {
		for _, step := range steps {
			if tried := slices.Contains(wantTried, step.Kind.String()+" "+key.Name); step.Tried != tried {
				t.Errorf("%s %s: tried %t", step.Kind, key.Name, step.Tried)
			}
		}
	}
}

// What the server makes of a write is what the plan goes on from.
func TestTheServersDefaults(t *testing.T) {
	t.Parallel()
	f := cluster()
	f.answer = func(key plan.Key, step *plan.Step) (plan.Answer, error) {
		if step.Kind != plan.StepApply {
			return plan.Answer{}, nil
		}
		live := converged(key).live
		live.Spec.Tier, live.Fields = "gold", plan.Fields{Image: true, Labels: []string{v1.SourceLabel}}
		return plan.Answer{Live: live}, nil
	}
	p := made(t, f, files("a"), func(o *Options) { o.Server = true })
	var tier, data string
	for _, s := range p.Steps[lab("a")] {
		for _, field := range s.Fields {
			switch field.Path {
			case "spec.tier":
				tier = *field.To + " " + string(field.Why)
			case "data.tier":
				data = *field.To
			}
		}
	}
	if tier != "gold default" || data != "gold" {
		t.Errorf("tier %q, in the ConfigMap %q", tier, data)
	}
}

func TestADefinitionThatIsRefused(t *testing.T) {
	t.Parallel()
	f := cluster()
	f.preparation, f.crd, f.state = plan.Create, plan.CRD{Reason: "the CRD isn't there yet"}, errors.New("the CRD isn't there yet")
	f.answer = func(plan.Key, *plan.Step) (plan.Answer, error) { return plan.Answer{}, errors.New("no") }
	p := made(t, f, files("a"), func(o *Options) { o.Server = true })
	if len(p.First) != 1 || p.First[0].Failed != "no" || p.Cluster == nil {
		t.Errorf("the plan is %+v", p)
	}
}

func TestAPlanThatIsCutShort(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ctx, cluster("a"), files("a", "b"), options()); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestASourceWithAProblem(t *testing.T) {
	t.Parallel()
	s := files("a")
	s.Problems = []source.Problem{{Path: "b.yaml", Line: 1, Message: "broken"}}
	s.Broken[lab("b")] = s.Problems[0]
	p := made(t, cluster("a", "b", "c"), s)
	want(t, p, "a:"+asItIs, "b: noop, its file can't be used, so the object is kept as it is",
		"c: requeue, no file; held: a problem in the source: b.yaml:1: mend it")
}
