package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// world is what an API server holds.
type world struct {
	live       map[plan.Key]plan.Live
	children   map[plan.Key]plan.Child
	namespaces map[string]plan.NamespaceState
}

func (w *world) clone() *world {
	return &world{maps.Clone(w.live), maps.Clone(w.children), maps.Clone(w.namespaces)}
}

// fakeCluster is a cluster in memory, as far as the engine can tell one from
// another: it counts versions and checks preconditions, and events tell of what
// others do and not of the engine's own writes.
type fakeCluster struct {
	// fail is asked before each step; an error of it is the step's.
	fail func(context.Context, plan.Key, *plan.Step) error
	// mutate changes what an apply writes, as a webhook does.
	mutate func(*v1.WebService)

	mu      sync.Mutex
	engine  *Engine
	world   world
	seen    *world // what Look sees, where that isn't the world
	unseen  map[plan.Key]plan.Child
	version int
	steps   []string
	state   error
	prepare error
	behind  bool
	looks   int
	missing []string // what the CRD doesn't declare
	prunes  bool     // the server drops the reasons of conditions
	holds   bool     // others' finalizers keep ConfigMaps that are deleted
}

func newFake() *fakeCluster {
	return &fakeCluster{
		world: world{
			live: map[plan.Key]plan.Live{}, children: map[plan.Key]plan.Child{},
			namespaces: map[string]plan.NamespaceState{"lab": plan.NamespaceActive},
		},
		unseen: map[plan.Key]plan.Child{},
	}
}

func (c *fakeCluster) Look(key plan.Key, in *plan.Input) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key != (plan.Key{}) {
		c.looks++
	}
	w := &c.world
	if c.seen != nil {
		w = c.seen
	}
	in.Live, in.Child, in.CRD = w.live[key], w.children[key], plan.CRD{Ready: true, Missing: c.missing}
	if in.Namespace = w.namespaces[key.Namespace]; in.Namespace == plan.NamespaceUnknown {
		in.Namespace = plan.NamespaceMissing
	}
	return !c.behind
}

func (c *fakeCluster) All() iter.Seq2[plan.Key, plan.Live] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.All(maps.Clone(c.world.live))
}

func (c *fakeCluster) Prepare(context.Context) (plan.Action, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return plan.Noop, c.prepare
}

func (c *fakeCluster) State() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *fakeCluster) CaughtUp() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.behind
}

func (c *fakeCluster) Requests() (reads, writes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 0, int64(len(c.steps))
}

func (c *fakeCluster) Do(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error) {
	found, err := c.do(ctx, key, step)
	if err != nil || found.Exists() {
		return plan.Answer{Child: found, Found: true}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch step.Kind {
	case plan.StepApply, plan.StepWriteStatus, plan.StepDropFinalizer, plan.StepDelete:
		return plan.Answer{Live: c.world.live[key]}, nil
	default:
		return plan.Answer{Child: c.world.children[key]}, nil
	}
}

// do carries out a step. found is what stands where a ConfigMap should be created,
// or shouldn't be any more.
func (c *fakeCluster) do(ctx context.Context, key plan.Key, step *plan.Step) (found plan.Child, err error) {
	c.mu.Lock()
	c.steps = append(c.steps, step.Kind.String()+" "+key.Name)
	fail := c.fail
	c.mu.Unlock()
	if fail != nil {
		if err := fail(ctx, key, step); err != nil {
			return plan.Child{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch step.Kind {
	case plan.StepCreateNamespace:
		c.world.namespaces[key.Namespace] = plan.NamespaceActive
		return plan.Child{}, nil
	case plan.StepApply:
		return plan.Child{}, c.apply(key, step)
	case plan.StepWriteStatus:
		return plan.Child{}, c.writeStatus(key, step)
	case plan.StepCreateChild:
		return c.createChild(key, step)
	case plan.StepUpdateChild:
		child := c.world.children[key]
		if child.UID != step.UID || child.ResourceVersion != step.ResourceVersion {
			return plan.Child{}, outdated()
		}
		c.putChild(key, child.UID, step)
	case plan.StepDeleteChild:
		c.deleteChild(key)
	case plan.StepDropFinalizer:
		return c.dropFinalizer(key, step)
	case plan.StepDelete:
		return plan.Child{}, c.delete(key, step)
	case plan.StepNone, plan.StepAdoptFields:
		return plan.Child{}, errors.New("no step")
	}
	return plan.Child{}, nil
}

func outdated() error {
	return &plan.Failure{Class: plan.Outdated, Phrase: "the object has changed meanwhile", Err: errors.New("409")}
}

func (c *fakeCluster) nextVersion() string {
	c.version++
	return strconv.Itoa(c.version)
}

func (c *fakeCluster) apply(key plan.Key, step *plan.Step) error {
	live, d := c.world.live[key], step.Desired
	ws := &v1.WebService{}
	if live.Exists() {
		ws = live.DeepCopy()
	}
	if step.ResourceVersion != "" && step.ResourceVersion != ws.ResourceVersion {
		return outdated()
	}
	before := ws.Spec
	ws.Namespace, ws.Name, ws.Labels, ws.Annotations = key.Namespace, key.Name, d.Labels, d.Annotations
	ws.Spec = v1.WebServiceSpec{Image: d.Image, Replicas: d.Replicas, Tier: "dev"}
	if d.Tier != nil {
		ws.Spec.Tier = *d.Tier
	}
	if c.mutate != nil {
		c.mutate(ws)
	}
	if !live.Exists() {
		ws.UID = types.UID("uid-" + c.nextVersion())
	}
	if !live.Exists() || before.Image != ws.Spec.Image || before.Tier != ws.Spec.Tier {
		ws.Generation++
	}
	ws.ResourceVersion = c.nextVersion()
	c.world.live[key] = plan.Live{WebService: ws, Fields: plan.Fields{
		Image: true, Replicas: d.Replicas != nil, Tier: d.Tier != nil,
		Labels: slices.Sorted(maps.Keys(d.Labels)), Annotations: slices.Sorted(maps.Keys(d.Annotations)),
	}}
	return nil
}

func (c *fakeCluster) writeStatus(key plan.Key, step *plan.Step) error {
	live := c.world.live[key]
	if !live.Exists() || step.ResourceVersion != live.ResourceVersion {
		return outdated()
	}
	ws := live.DeepCopy()
	ws.Status = v1.WebServiceStatus{
		Replicas: step.Status.Replicas, ObservedGeneration: step.Status.ObservedGeneration,
		Conditions: slices.Clone(step.Status.Conditions),
	}
	for i := range ws.Status.Conditions {
		if c.prunes {
			ws.Status.Conditions[i].Reason = ""
		}
	}
	ws.ResourceVersion = c.nextVersion()
	c.world.live[key] = plan.Live{WebService: ws, Fields: live.Fields}
	return nil
}

func (c *fakeCluster) deleteChild(key plan.Key) {
	delete(c.unseen, key)
	delete(c.world.children, key)
	if c.holds {
		c.world.children[key] = plan.Child{UID: "held", ResourceVersion: c.nextVersion(), Terminating: true, Managed: true,
			Labels: map[string]string{v1.ManagedByLabel: v1.Manager}}
	}
}

func (c *fakeCluster) dropFinalizer(key plan.Key, step *plan.Step) (plan.Child, error) {
	found, ok := c.unseen[key]
	if !ok {
		found = c.world.children[key]
	}
	if found.UID != step.Spared {
		return found, nil
	}
	live := c.world.live[key]
	if step.ResourceVersion != live.ResourceVersion {
		return plan.Child{}, outdated()
	}
	if len(step.Finalizers) == 0 {
		delete(c.world.live, key)
		return plan.Child{}, nil
	}
	ws := live.DeepCopy()
	ws.Finalizers, ws.ResourceVersion = step.Finalizers, c.nextVersion()
	c.world.live[key] = plan.Live{WebService: ws, Fields: live.Fields}
	return plan.Child{}, nil
}

// delete ends an object without finalizers, and its ConfigMap, as the collector does.
func (c *fakeCluster) delete(key plan.Key, step *plan.Step) error {
	live := c.world.live[key]
	if !live.Exists() || step.UID != live.UID || step.ResourceVersion != live.ResourceVersion {
		return outdated()
	}
	if len(live.Finalizers) == 0 {
		delete(c.world.live, key)
		delete(c.world.children, key)
		return nil
	}
	ws, now := live.DeepCopy(), metav1.Now()
	ws.DeletionTimestamp, ws.ResourceVersion = &now, c.nextVersion()
	c.world.live[key] = plan.Live{WebService: ws, Fields: live.Fields}
	return nil
}

func (c *fakeCluster) createChild(key plan.Key, step *plan.Step) (plan.Child, error) {
	if found, ok := c.unseen[key]; ok {
		return found, nil
	}
	if found, ok := c.world.children[key]; ok {
		return found, nil
	}
	c.putChild(key, types.UID("uid-"+c.nextVersion()), step)
	return plan.Child{}, nil
}

func (c *fakeCluster) putChild(key plan.Key, uid types.UID, step *plan.Step) {
	c.world.children[key] = plan.Child{
		UID: uid, ResourceVersion: c.nextVersion(), Managed: true,
		Labels: step.Child.Labels, Owners: step.Child.Owners, Data: step.Child.Data,
	}
}

// handMade is an object that somebody has made without a file.
func (c *fakeCluster) handMade(key plan.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ws := &v1.WebService{}
	ws.Namespace, ws.Name, ws.UID, ws.ResourceVersion = key.Namespace, key.Name, types.UID("hand-"+c.nextVersion()), c.nextVersion()
	ws.Generation, ws.Spec = 1, v1.WebServiceSpec{Image: "by-hand:1", Replicas: new(int32(1)), Tier: "dev"}
	c.world.live[key] = plan.Live{WebService: ws}
}

// edit is what somebody else does to a live object, and the event of it.
func (c *fakeCluster) edit(key plan.Key, change func(*v1.WebService)) {
	c.mu.Lock()
	live := c.world.live[key]
	ws := live.DeepCopy()
	change(ws)
	ws.Generation++
	ws.ResourceVersion = c.nextVersion()
	c.world.live[key] = plan.Live{WebService: ws, Fields: live.Fields}
	c.mu.Unlock()
	c.engine.Changed(key)
}

// set changes how the cluster behaves from now on.
func (c *fakeCluster) set(change func(*fakeCluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// setState is a change of the cluster's state, told only where tell is true.
func (c *fakeCluster) setState(err error, tell bool) {
	c.mu.Lock()
	c.state = err
	c.mu.Unlock()
	if tell {
		c.engine.StateChanged()
	}
}

// freeze makes every Look see the world as it is now, until thaw.
func (c *fakeCluster) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.behind = c.world.clone(), true
}

// thaw is the watch telling of everything that has happened since freeze.
func (c *fakeCluster) thaw() {
	c.mu.Lock()
	c.seen, c.behind = nil, false
	keys := slices.Collect(maps.Keys(c.world.live))
	c.mu.Unlock()
	for _, key := range keys {
		c.engine.Changed(key)
	}
	c.engine.CaughtUp()
}

// lag makes the watch fall behind our own writes, or catch up.
func (c *fakeCluster) lag(behind bool) {
	c.mu.Lock()
	c.behind = behind
	c.mu.Unlock()
	if !behind {
		c.engine.CaughtUp()
	}
}

// taken returns the steps since the last call, in the order of their beginning.
func (c *fakeCluster) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	steps := c.steps
	c.steps = nil
	return steps
}

func (c *fakeCluster) lookedAt() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

func (c *fakeCluster) ready(key plan.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.world.live[key]
	if !live.Exists() {
		return "absent"
	}
	for _, cond := range live.Status.Conditions {
		if cond.Type == v1.ReadyCondition {
			return fmt.Sprintf("%s %s", cond.Status, cond.Reason)
		}
	}
	return "none"
}

// fakeApprovals are people's words in memory.
type fakeApprovals struct {
	mu    sync.Mutex
	given map[string]bool
	err   error
	// stuck is said of an approval that can't be removed, of another set.
	stuck error
	asked int
}

func (a *fakeApprovals) Approved(digest string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	return a.given[digest], a.err
}

func (a *fakeApprovals) Retain(digest string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		maps.DeleteFunc(a.given, func(known string, _ bool) bool { return known != digest })
	}
	return errors.Join(a.err, a.stuck)
}

func (a *fakeApprovals) Command(digest string) string { return "approve " + digest }

func (a *fakeApprovals) give(digest string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given[digest] = true
}

func (a *fakeApprovals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func (a *fakeApprovals) left() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.given))
}

// crashAfter lets so many steps be done and none after.
func crashAfter(n int, taken *int) func(context.Context, plan.Key, *plan.Step) error {
	return func(context.Context, plan.Key, *plan.Step) error {
		if *taken == n {
			return errors.New("the process is dead")
		}
		*taken++
		return nil
	}
}
