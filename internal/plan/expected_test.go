package plan

// situation is one combination of inputs.
type situation struct {
	desired, live, status, child, namespace int
	crdAway, onlyLabelled                   bool
	extra, server                           int
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
	refusesAdopt
	refusesDelete
	mutatesSpec
	mutatesChild
	dropsStatus        // silently, as a webhook might
	dropsUnknownStatus // as a CRD does that doesn't declare all, and is known to
	keepsFinalizer     // silently
	keepsClientSide    // silently
	holdsDeleted       // by another tool's finalizer
	serverKinds
)

// ending is where a walk must end.
type ending struct {
	steps     []StepKind
	action    Action
	target    Target
	isError   bool
	suspended bool
	held      bool
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

// isForsaken: another source's, which isn't cleaned up there.
var isForsaken = both(is(cleaningOthers), among(overdue))

var isOthers = both(is(otherSources, cleaningOthers), not(isForsaken))

// Whose objects are never touched, not even to clean up.
var othersObjects = []row{
	{"another source's, named by our file", both(isOthers, not(says(unknown, removed))), ending{action: Requeue, isError: true}},
	{"another source's", isOthers, ending{action: Noop}},
	{"deleted by hand as it was made", both(both(is(cleaningUnlabelled), says(unknown, removed)), unlabelledOff), ending{action: Noop}},
}

// Where nothing may be written at all. What our finalizer holds isn't among them.
var untouchable = []row{
	{"deleted, and nothing of ours to clean up", is(terminating), ending{action: Requeue}},
	{"suspended on the object", is(suspendedLive), ending{action: Noop, suspended: true}},
	{"suspended in the file", says(suspendedByFile), ending{action: Noop, suspended: true}},
	{"nowhere", both(is(absent), says(unknown, removed, broken, brokenTwice)), ending{action: Noop}},
	{"nobody's and not asked for", both(both(is(unlabelled, labelOnly, handApplied, restored), says(unknown, removed, broken, brokenTwice)), unlabelledOff), ending{action: Noop}},
	{"before the first look at the files", among(unread), ending{action: Requeue}},
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
	unknownEqual: {
		absent: spec, inSync: none, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta,
		finalized: meta, clientSide: meta, handApplied: meta, pruneDisabled: none, restored: none,
	},
	unknownImage: {
		absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: spec, labelOnly: spec,
		finalized: spec, clientSide: spec, handApplied: spec, pruneDisabled: spec, restored: spec,
	},
	equal: {
		absent: spec, inSync: none, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta,
		finalized: meta, clientSide: meta, handApplied: meta, pruneDisabled: none, restored: none,
	},
	otherImage: {
		absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: spec, labelOnly: spec,
		finalized: spec, clientSide: spec, handApplied: spec, pruneDisabled: spec, restored: spec,
	},
	// What kubectl held alone goes once it is ours, and stays as long as it isn't.
	replicasGone: {
		absent: spec, inSync: spec, edited: spec, taken: spec, unlabelled: meta, labelOnly: meta,
		finalized: spec, clientSide: spec, handApplied: spec, pruneDisabled: spec, restored: spec,
	},
	labelDiffers: {
		absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta,
		finalized: meta, clientSide: meta, handApplied: meta, pruneDisabled: meta, restored: meta,
	},
	annotationDiffers: {
		absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta,
		finalized: meta, clientSide: meta, handApplied: meta, pruneDisabled: meta, restored: meta,
	},
	finalizerNamed: {
		absent: spec, inSync: meta, edited: spec, taken: meta, unlabelled: meta, labelOnly: meta,
		finalized: none, clientSide: meta, handApplied: meta, pruneDisabled: meta, restored: meta,
	},
}

// What each live object is like where kubectl's fields can't be adopted.
var unadopted = map[int]int{clientSide: inSync, handApplied: unlabelled}

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

func isCleaned(s situation) bool {
	return is(cleaning, cleaningShared, cleaningSuspended, cleaningUnlabelled)(s) || isForsaken(s)
}

// Live objects that are deleted when their file is gone, if nothing keeps them.
var ours = is(inSync, edited, taken, finalized, clientSide)

var isHeld = both(both(ours, says(removed)), among(held, heldUnready))

func among(extras ...int) condition {
	return func(s situation) bool { return in(s.extra, extras) }
}

// expected is where s must end, by the tables above.
func expected(s situation) ending {
	e := expectedAlone(s)
	e.held = isHeld(s)
	return e
}

func expectedAlone(s situation) ending {
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
	if both(both(ours, says(removed)), among(allowed))(s) {
		return expectedRemoval(s)
	}
	return expectedLive(s)
}

// expectedRemoval is the end of an object that may be deleted: its own or, where
// it can't be deleted, that of any live one, with the trouble told.
func expectedRemoval(s situation) ending {
	e := ending{steps: []StepKind{StepDelete}}
	if s.server == refusesDelete {
		live := expectedLive(s)
		live.steps = append(e.steps, live.steps...)
		live.action, live.target, live.isError = Requeue, WebService, true
		return live
	}
	switch {
	case s.live == finalized && s.server == holdsDeleted:
		s.live = cleaningShared
	case s.live == finalized:
		s.live = cleaning
	case s.server == holdsDeleted:
		return e.then(Requeue, WebService, false, "")
	default:
		return e.then(Noop, WebService, false, "")
	}
	end := expected(s)
	end.steps = append(e.steps, end.steps...)
	return end
}

// expectedLive is where an object must end that is to be made or to stay.
func expectedLive(s situation) ending {
	e, over := expectedNamespace(s)
	if over {
		return withStatus(s, e, none)
	}
	if isHeldBack(s) {
		return expectedHeldBack(s, e)
	}
	e, change, over := expectedSpec(s, e)
	if over {
		return e
	}
	return withStatus(s, expectedChild(s, e, change), change)
}

func expectedNamespace(s situation) (e ending, over bool) {
	creatable := !says(unknown, unknownEqual, unknownImage, removed, broken, brokenTwice)(s) && s.extra != creationHeld
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

// isHeldBack: a file asks for what is nobody's while nothing new may become ours.
var isHeldBack = both(both(is(unlabelled, labelOnly, handApplied, restored), among(creationHeld)), func(s situation) bool {
	_, named := applied[s.desired]
	return named
})

// expectedHeldBack is the end of an object that isn't taken over: it stays one that
// is made by hand, and waits.
func expectedHeldBack(s situation, e ending) ending {
	if s.onlyLabelled {
		return e.then(Requeue, WebService, false, "")
	}
	if e = expectedChild(s, e, none); !e.isError {
		e.action, e.target = Requeue, WebService
	}
	return withStatus(s, e, none)
}

// isContested: the image is among what an apply would change.
var isContested = both(among(specContested), func(s situation) bool {
	_, named := applied[s.desired]
	return named && (is(edited, taken, unlabelled, labelOnly, handApplied)(s) || says(otherImage, unknownImage)(s) && s.live != absent)
})

// expectedSpec leaves the end of an apply that isn't taken in e: the child is
// looked after all the same. It is over where there is no object at all.
func expectedSpec(s situation, e ending) (end ending, change int, over bool) {
	switch {
	case s.live == absent && s.extra == creationHeld:
		return e.then(Requeue, WebService, false, ""), none, true
	case isContested(s):
		return e.then(Requeue, WebService, true, "Contested"), none, false
	}
	e, s.live = expectedAdoption(s, e)
	if change = applied[s.desired][s.live]; change == none {
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

// expectedAdoption leaves the end of one that isn't taken in e: the file is
// applied all the same, to an object that is what it was.
func expectedAdoption(s situation, e ending) (end ending, live int) {
	_, named := applied[s.desired]
	before, adopts := unadopted[s.live]
	if !named || !adopts {
		return e, s.live
	}
	e.steps = append(e.steps, StepAdoptFields)
	switch s.server {
	case refusesAdopt:
		return e.then(Requeue, WebService, true, "Failed"), before
	case keepsClientSide:
		return e.then(Requeue, WebService, true, "NotAccepted"), before
	}
	return e, s.live
}

// isWell is the end of an object that has come as far as it can. Where it may still
// be deleted, that isn't the end.
func isWell(s situation) ending {
	action := Noop
	if both(both(ours, says(removed)), among(unjudged, due, held, heldUnready, childContested, overdue))(s) {
		action = Requeue
	}
	end := ending{}.then(action, WebService, false, "Reconciled")
	end.ready = "True"
	return end
}

func expectedChild(s situation, e ending, change int) ending {
	end := isWell(s)
	if among(dependencyUnready, heldUnready)(s) {
		end = end.then(Requeue, WebService, false, "DependencyNotReady")
	} else {
		e.steps, end = mended(s, e.steps, end, change)
	}
	if e.action != "" { // the apply wasn't taken
		return e
	}
	end.steps = e.steps
	return end
}

// mended adds the steps that mend the child and says how that ends.
func mended(s situation, steps []StepKind, end ending, change int) ([]StepKind, ending) {
	row := mending[s.child]
	todo := row.same
	if s.live == absent {
		todo = row.recreated
	} else if change == spec {
		todo = row.changed
	}
	for i, k := range todo {
		if k == conflict[0] {
			return steps, end.then(Requeue, ConfigMap, true, "NameConflict")
		}
		if k == waitingFor[0] {
			return steps, end.then(Requeue, ConfigMap, false, "Progressing")
		}
		if s.extra == childContested && takesBack(s, todo[i:], change) {
			return steps, end.then(Requeue, ConfigMap, true, "Contested")
		}
		steps = append(steps, k)
		if s.server == int(k)-int(StepCreateChild)+refusesCreateChild {
			return steps, end.then(Requeue, ConfigMap, true, "Failed")
		}
		if s.server == mutatesChild && k != StepDeleteChild {
			end = end.then(Requeue, ConfigMap, true, "NotAccepted")
		}
	}
	return steps, end
}

// takesBack says whether the steps begin by making a child or by changing the
// image or the replicas of one. A stale child is another's, and goes first.
func takesBack(s situation, steps []StepKind, change int) bool {
	stale := s.child == childStale || s.live == absent
	switch {
	case steps[0] == StepCreateChild:
		return true
	case steps[0] == StepDeleteChild:
		return !stale
	case s.live == absent: // a shared child of an earlier object, taken over
		return says(unknownImage, otherImage, replicasGone)(s) || s.server == mutatesSpec
	}
	return s.child == childDrifted || change == spec
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
