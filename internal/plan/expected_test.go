package plan

// situation is one combination of inputs.
type situation struct {
	desired, live, status, child, namespace int
	crdAway, onlyLabelled                   bool
	server                                  int
}

// The server's behaviours. Those that refuse stand in the order of the steps.
const (
	accepts = iota
	refusesNamespace
	refusesApply
	refusesCreateChild
	refusesUpdateChild
	refusesDeleteChild
	refusesStatus
	refusesDrop
	mutatesSpec
	mutatesChild
	dropsStatus        // silently, as a webhook might
	dropsUnknownStatus // as a CRD does that doesn't declare all, and is known to
	keepsFinalizer     // silently
	serverKinds
)

// ending is where a walk must end.
type ending struct {
	steps     []StepKind
	action    Action
	target    Target
	isError   bool
	suspended bool
	// ready and reason are what the condition Ready must say in the end; ready
	// is "" where the status must be the one of the start.
	ready, reason string
}

func (e ending) then(action Action, target Target, isError bool, reason string) ending {
	e.action, e.target, e.isError, e.reason = action, target, isError, reason
	if e.ready = "False"; reason == "" {
		e.ready = ""
	}
	return e
}

// row of a table: the first whose columns all hold counts.
type row struct {
	name string
	when condition
	end  ending
}

func first(table []row, s situation) (e ending, ok bool) {
	for _, r := range table {
		if r.when(s) {
			return r.end, true
		}
	}
	return ending{}, false
}

// Whose objects are never touched, not even to clean up.
var othersObjects = []row{
	{"another source's, named by our file", both(is(otherSources, cleaningOthers), not(says(unknown, removed))), ending{action: Requeue, isError: true}},
	{"another source's", is(otherSources, cleaningOthers), ending{action: Noop}},
	{"deleted by hand as it was made", both(both(is(cleaningUnlabelled), says(unknown, removed)), unlabelledOff), ending{action: Noop}},
}

// Where nothing may be written at all. What our finalizer holds isn't among them.
var untouchable = []row{
	{"deleted, and nothing of ours to clean up", is(terminating), ending{action: Requeue}},
	{"suspended on the object", is(suspendedLive), ending{action: Noop, suspended: true}},
	{"suspended in the file", says(suspendedByFile), ending{action: Noop, suspended: true}},
	{"nowhere", both(is(absent), says(unknown, removed, broken, brokenTwice)), ending{action: Noop}},
	{"nobody's and not asked for", both(both(is(unlabelled, labelOnly), says(unknown, removed, broken, brokenTwice)), unlabelledOff), ending{action: Noop}},
	{"no CRD", func(s situation) bool { return s.crdAway }, ending{action: Requeue}},
	{"not created before the source is known", both(is(absent), says(unknownEqual, unknownImage)), ending{action: Requeue}},
}

type condition = func(situation) bool

func is(kinds ...int) condition {
	return func(s situation) bool { return in(s.live, kinds) }
}

func says(kinds ...int) condition {
	return func(s situation) bool { return in(s.desired, kinds) }
}

func both(a, b condition) condition {
	return func(s situation) bool { return a(s) && b(s) }
}

func not(a condition) condition {
	return func(s situation) bool { return !a(s) }
}

func unlabelledOff(s situation) bool { return s.onlyLabelled }

func in(kind int, kinds []int) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// What an apply of the file does to each live object: nothing is sent, it is
// sent but changes metadata or ownership only, or it changes the spec.
const (
	none = iota
	meta
	spec
)

var applied = map[int][liveKinds]int{
	//                  absent       inSync       edited       taken        unlabelled        labelOnly
	unknownEqual:      {absent: spec, inSync: none, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta},
	unknownImage:      {absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: spec, labelOnly: spec},
	equal:             {absent: spec, inSync: none, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta},
	otherImage:        {absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: spec, labelOnly: spec},
	replicasGone:      {absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: meta, labelOnly: meta},
	labelDiffers:      {absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta},
	annotationDiffers: {absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta},
	finalizerNamed:    {absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta},
}

// What mends each child: under the same spec, under a changed spec, and under an
// object that was created in place of the one that had it. nil is nothing.
var (
	creating   = []StepKind{StepCreateChild}
	updating   = []StepKind{StepUpdateChild}
	remaking   = []StepKind{StepDeleteChild, StepCreateChild}
	conflict   = []StepKind{-1}
	waitingFor = []StepKind{-2}
)

var mending = [childKinds]struct{ same, changed, recreated []StepKind }{
	noChild:           {creating, creating, creating},
	childInSync:       {nil, updating, remaking},
	childDrifted:      {updating, updating, remaking},
	childExtraKey:     {updating, updating, remaking},
	childNoLabel:      {updating, updating, remaking},
	childByScript:     {updating, updating, remaking},
	childStale:        {remaking, remaking, remaking},
	childStaleShared:  {updating, updating, updating},
	childUnowned:      {updating, updating, updating},
	childImmutable:    {nil, remaking, remaking},
	childFrozen:       {remaking, remaking, remaking},
	childTerminating:  {waitingFor, waitingFor, waitingFor},
	foreignUnowned:    {conflict, conflict, conflict},
	foreignControlled: {conflict, conflict, conflict},
	foreignLabelled:   {conflict, conflict, conflict},
}

// What becomes of each child when its object is cleaned up, whatever the file
// says and whatever state the namespace and the CRD are in.
const (
	isAbsent = iota
	isRemoved
	isAwaited
	isSpared
)

var cleanup = [childKinds]int{
	noChild:           isAbsent,
	childInSync:       isRemoved,
	childDrifted:      isRemoved,
	childExtraKey:     isRemoved,
	childNoLabel:      isRemoved,
	childByScript:     isRemoved,
	childStale:        isRemoved,
	childStaleShared:  isRemoved,
	childUnowned:      isRemoved,
	childImmutable:    isRemoved,
	childFrozen:       isRemoved,
	childTerminating:  isAwaited,
	foreignUnowned:    isSpared,
	foreignControlled: isSpared,
	foreignLabelled:   isSpared,
}

// expectedCleanup is where a deleted object with our finalizer must end, without
// a status in any case. It isn't over where the object goes.
func expectedCleanup(s situation) (e ending, over bool) {
	switch cleanup[s.child] {
	case isAwaited:
		return e.then(Requeue, ConfigMap, false, ""), true
	case isRemoved:
		e.steps = append(e.steps, StepDeleteChild)
		if s.server == refusesDeleteChild {
			return e.then(Requeue, ConfigMap, true, ""), true
		}
	}
	e.steps = append(e.steps, StepDropFinalizer)
	if s.server == refusesDrop || s.server == keepsFinalizer {
		return e.then(Requeue, WebService, true, ""), true
	}
	return e.then(Requeue, WebService, false, ""), s.live == cleaningShared
}

// cleaned is s when the object has been cleaned up and has gone.
func cleaned(s situation) situation {
	if s.live = absent; cleanup[s.child] != isSpared {
		s.child = noChild
	}
	return s
}

var isCleaned = is(cleaning, cleaningShared, cleaningSuspended, cleaningUnlabelled)

// expected is where s must end, by the tables above.
func expected(s situation) ending {
	if e, ok := first(othersObjects, s); ok {
		return e
	}
	if isCleaned(s) {
		e, over := expectedCleanup(s)
		if over {
			return e
		}
		next := expected(cleaned(s))
		next.steps = append(e.steps, next.steps...)
		return next
	}
	if e, ok := first(untouchable, s); ok {
		return e
	}
	e, over := expectedNamespace(s)
	if over {
		return withStatus(s, e, none)
	}
	e, change, over := expectedSpec(s, e)
	if over {
		return e
	}
	return withStatus(s, expectedChild(s, e, change), change)
}

func expectedNamespace(s situation) (e ending, over bool) {
	creatable := !says(unknown, unknownEqual, unknownImage, removed, broken, brokenTwice)(s)
	switch {
	case s.namespace == nsTerminating, s.namespace == nsMissing, s.namespace == nsMissingCreate && !creatable:
		return e.then(Requeue, Namespace, false, "Progressing"), true
	case s.namespace != nsMissingCreate:
		return e, false
	}
	e.steps = append(e.steps, StepCreateNamespace)
	if s.server == refusesNamespace {
		return e.then(Requeue, Namespace, true, "Failed"), true
	}
	return e, false
}

// expectedSpec leaves the end of an apply that isn't taken in e: the child is
// looked after all the same. It is over where there is no object at all.
func expectedSpec(s situation, e ending) (end ending, change int, over bool) {
	change = applied[s.desired][s.live]
	if change == none {
		return e, none, false
	}
	e.steps = append(e.steps, StepApply)
	switch {
	case s.server == refusesApply && s.live == absent:
		return e.then(Requeue, WebService, true, ""), none, true
	case s.server == refusesApply:
		return e.then(Requeue, WebService, true, "Failed"), none, false
	case s.server == mutatesSpec:
		return e.then(Requeue, WebService, true, "NotAccepted"), spec, false
	}
	return e, change, false
}

func expectedChild(s situation, e ending, change int) ending {
	row := mending[s.child]
	steps := row.same
	if s.live == absent {
		steps = row.recreated
	} else if change == spec {
		steps = row.changed
	}
	end := ending{}.then(Noop, WebService, false, "Reconciled")
	end.ready = "True"
	for _, k := range steps {
		if k == conflict[0] {
			end = end.then(Requeue, ConfigMap, true, "NameConflict")
			continue
		}
		if k == waitingFor[0] {
			end = end.then(Requeue, ConfigMap, false, "Progressing")
			continue
		}
		e.steps = append(e.steps, k)
		if s.server == int(k)-int(StepCreateChild)+refusesCreateChild {
			end = end.then(Requeue, ConfigMap, true, "Failed")
			break
		}
		if s.server == mutatesChild && k != StepDeleteChild {
			end = end.then(Requeue, ConfigMap, true, "NotAccepted")
		}
	}
	if e.action != "" { // the apply wasn't taken
		return e
	}
	end.steps = e.steps
	return end
}

// withStatus adds the write of the status where there is an object and its
// status doesn't say already what e says.
func withStatus(s situation, e ending, change int) ending {
	exists := s.live != absent || in(int(StepApply), ints(e.steps))
	if !exists {
		e.ready, e.reason = "", ""
		return e
	}
	says := map[int]string{currentStatus: "Reconciled", foreignStatus: "Reconciled", conflictStatus: "NameConflict"}
	if s.live != absent && change != spec && says[s.status] == e.reason {
		return e
	}
	e.steps = append(e.steps, StepWriteStatus)
	if s.server != refusesStatus && s.server != dropsStatus && s.server != dropsUnknownStatus {
		return e
	}
	if !e.isError {
		e.action, e.target, e.isError = Requeue, WebService, true
	}
	e.reason = ""
	if s.server == refusesStatus {
		e.ready = ""
	}
	return e
}

func ints(kinds []StepKind) []int {
	out := make([]int, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, int(k))
	}
	return out
}
