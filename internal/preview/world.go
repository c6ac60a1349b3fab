package preview

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// Cluster is a cluster that was read and stays as it was then.
type Cluster interface {
	// Look fills in what is known of key's object.
	Look(key plan.Key, in *plan.Input) (fresh bool)
	// All goes over the live objects.
	All() iter.Seq2[plan.Key, plan.Live]
	// State is nil when the cluster can be worked on.
	State() error
	// Preparation is what has to be done about the CRD.
	Preparation() plan.Action
	// Standing looks at the ConfigMap of the child's name on the server itself.
	Standing(ctx context.Context, key plan.Key) (plan.Child, error)
	// ChildWriters says who has written which field of the child, by its path.
	ChildWriters(ctx context.Context, key plan.Key) (map[string]string, error)
	// Try and TryPrepare ask the server about a step, and about preparing, as dry runs.
	Try(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error)
	TryPrepare(ctx context.Context) error
}

// world is a cluster with steps laid over it. It is the engine's Cluster, and its
// Evidence, to know the decision that each step comes of.
type world struct {
	base   Cluster
	server bool
	// after is prune.after.
	after time.Duration

	// naming lets one worker at a time ask about a namespace.
	naming sync.Mutex

	mu      sync.Mutex
	serial  int
	objects map[plan.Key]object
	made    map[string]bool // namespaces
	crd     *plan.CRD       // in the place of the real one, where that changes
	// standing are looks at ConfigMaps on the server itself.
	standing map[plan.Key]look
	decided  map[plan.Key]plan.Decision
	first    []Step
	steps    map[plan.Key][]Step
	// late are the objects that were deleted, so that what follows is late too.
	late map[plan.Key]bool
}

// object is what has become of an object.
type object struct {
	live  plan.Live
	child plan.Child
}

func newWorld(base Cluster, opts *Options) *world {
	return &world{
		base: base, server: opts.Server, after: opts.Policy.Prune.After,
		objects: map[plan.Key]object{}, standing: map[plan.Key]look{}, made: map[string]bool{}, decided: map[plan.Key]plan.Decision{},
		steps: map[plan.Key][]Step{}, late: map[plan.Key]bool{},
	}
}

// prepare lays the CRD over the cluster that a pass would install. What the server
// says against it is part of the plan; the error is that of ctx alone.
func (w *world) prepare(ctx context.Context) error {
	step := Step{Action: w.base.Preparation(), Target: "customresourcedefinition/" + v1.CRDName}
	switch step.Action {
	case plan.Create:
		step.Reason = "the cluster doesn't have the definition of WebServices"
	case plan.Update:
		step.Reason = "this version brings a newer definition of WebServices"
	default:
		return nil
	}
	if w.server {
		err := w.base.TryPrepare(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		step.Tried = true
		if err != nil {
			step.Failed = err.Error()
		}
	}
	if step.Failed == "" {
		w.crd = &plan.CRD{Ready: true}
	}
	w.first = append(w.first, step)
	return nil
}

// Look fills in what is known of key's object, with all steps that were taken.
func (w *world) Look(key plan.Key, in *plan.Input) (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(key, in)
	return true
}

func (w *world) look(key plan.Key, in *plan.Input) {
	w.base.Look(key, in)
	if o, ok := w.objects[key]; ok {
		in.Live, in.Child = o.live, o.child
	}
	if w.made[key.Namespace] {
		in.Namespace = plan.NamespaceActive
	}
	if w.crd != nil {
		in.CRD = *w.crd
	}
}

// All goes over the live objects. The world is locked meanwhile.
func (w *world) All() iter.Seq2[plan.Key, plan.Live] {
	return func(yield func(plan.Key, plan.Live) bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for key, live := range w.base.All() {
			if _, changed := w.objects[key]; !changed && !yield(key, live) {
				return
			}
		}
		for key, o := range w.objects {
			if o.live.Exists() && !yield(key, o.live) {
				return
			}
		}
	}
}

// Prepare has nothing to do any more.
func (w *world) Prepare(context.Context) (plan.Action, error) { return plan.Noop, nil }

// State is nil when the cluster can be worked on, or could be once it is prepared.
func (w *world) State() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crd != nil {
		return nil
	}
	return w.base.State()
}

// CaughtUp is true: there is nothing to catch up with.
func (w *world) CaughtUp() bool { return true }

// Requests counts none.
func (w *world) Requests() (reads, writes int64) { return 0, 0 }

// Decided keeps the decision that the next step on the object comes of.
func (w *world) Decided(in *plan.Input, d *plan.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decided[in.Key] = *d
}

// Cleaned and Gone tell nothing that steps don't.
func (w *world) Cleaned(plan.Key, plan.Live, string, []string) {}

// Gone tells nothing that steps don't.
func (w *world) Gone(plan.Key) {}

// Do carries out a step in this world.
func (w *world) Do(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	if step.Kind == plan.StepCreateNamespace {
		return w.createNamespace(ctx, key, step)
	}
	before := plan.Input{Key: key, Now: time.Now()}
	w.mu.Lock()
	w.look(key, &before)
	w.serial++
	serial := strconv.Itoa(w.serial)
	w.mu.Unlock()
	if found, err := w.unseen(ctx, &before, step); err != nil || found.Exists() {
		if err == nil {
			w.keep(key, before.Live, found)
		}
		return plan.Answer{Child: found, Found: true}, err
	}
	after := plan.Simulate(&before, step, serial)
	tried, err := w.try(ctx, &before, &after, step)
	if err != nil {
		return plan.Answer{}, err
	}
	writers := w.writers(ctx, &before, step)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[key] = object{after.Live, after.Child}
	w.note(&before, &after, tried, writers)
	return plan.Answer{}, nil
}

func (w *world) keep(key plan.Key, live plan.Live, child plan.Child) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[key] = object{live, child}
}

// unseen is a ConfigMap that stands in the way of a step and that Look doesn't know,
// since it lacks the label by which ConfigMaps are read.
func (w *world) unseen(ctx context.Context, in *plan.Input, step *plan.Step) (plan.Child, error) {
	looks := step.Kind == plan.StepCreateChild || step.Kind == plan.StepDropFinalizer && step.Spared == ""
	if !looks || in.Child.Exists() || w.removed(in.Key) || w.isMade(in.Key.Namespace) {
		return plan.Child{}, nil
	}
	w.mu.Lock()
	seen, ok := w.standing[in.Key]
	w.mu.Unlock()
	if !ok {
		seen.child, seen.err = w.base.Standing(ctx, in.Key)
	}
	return seen.child, seen.err
}

// removed says of an object without a ConfigMap in this world whether the server has
// that one still.
func (w *world) removed(key plan.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deletedChild(key)
}

// deletedChild is removed where the world is locked.
func (w *world) deletedChild(key plan.Key) bool {
	var there plan.Input
	w.base.Look(key, &there)
	return there.Child.Exists() || slices.ContainsFunc(w.steps[key], func(s Step) bool { return s.Kind == plan.StepDeleteChild })
}

func (w *world) isMade(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made[namespace]
}

// writers says who else has written the fields that a step mends. Not to know takes
// nothing from the plan but a name.
func (w *world) writers(ctx context.Context, in *plan.Input, step *plan.Step) map[string]string {
	if step.Kind != plan.StepUpdateChild || plan.IsSimulated(in.Child.ResourceVersion) {
		return nil
	}
	writers, err := w.base.ChildWriters(ctx, in.Key)
	if err != nil {
		return nil
	}
	return writers
}

// note keeps a step that was taken. The world is locked.
func (w *world) note(in, after *plan.Input, tried bool, writers map[string]string) {
	d := w.decided[in.Key]
	step := Step{
		Kind: d.Step.Kind, Action: d.Action, Target: d.Target.Name(in.Key), Reason: d.Reason,
		Fields: plan.Diff(&d, in, after), Tried: tried,
	}
	for i := range step.Fields {
		f := &step.Fields[i]
		if f.By == "" && f.From != nil {
			f.By = writers[f.Path]
		}
	}
	if step.Kind == plan.StepDelete {
		w.late[in.Key] = true
	}
	if w.late[in.Key] {
		step.After = w.after
	}
	w.steps[in.Key] = append(w.steps[in.Key], step)
}

// createNamespace makes a namespace for the first object that asks for it.
func (w *world) createNamespace(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	w.naming.Lock()
	defer w.naming.Unlock()
	if w.isMade(key.Namespace) {
		return plan.Answer{Unsent: true}, nil
	}
	if w.server {
		if _, err := w.base.Try(ctx, key, step); err != nil {
			return plan.Answer{}, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[key.Namespace] = true
	d := w.decided[key]
	w.first = append(w.first, Step{
		Kind: d.Step.Kind, Action: d.Action, Target: d.Target.Name(key), Reason: d.Reason, Tried: w.server,
	})
	return plan.Answer{}, nil
}
