package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/plan"
)

// item is the account of one object.
type item struct {
	// ready: something has happened to the object; its turn has come or will.
	ready bool
	// due is when an object that waits is looked at again; zero if it doesn't wait.
	due time.Time
	// failures counts the failures in a row.
	failures int
	// memory is of what was sent; nil if nothing was since the last good verdict.
	memory *plan.Memory
	// met: at the last try there was a ConfigMap where ours should have been created.
	met bool
	// forget: memory doesn't hold any more at the object's next turn.
	forget bool

	// contests counts the fields that were taken back from others, last at fought and
	// of the object with the uid contested; nil if none was for a long time. It
	// outlives memory: between two takings back all is as it should be.
	contests  *plan.Contests
	fought    time.Time
	contested types.UID
	// applied is the digest of the file that was last applied, and childOf the state
	// of the object at the last write to its ConfigMap.
	applied string
	childOf generation

	// removal is what the guard last said of the object, and blocked: it isn't
	// created while deletions are held.
	removal plan.RemovalState
	blocked bool
	// guarded: the verdict is the guard's word.
	guarded bool
	// follows are the objects that it depends on.
	follows []plan.Key

	// rested is the object and the spec of it that were as they should be at the end of
	// the last turn; zero where they weren't. heldTold: an event says that its deletion
	// is held.
	rested   generation
	heldTold bool

	// removed is the ConfigMap that was deleted since its object is being deleted,
	// while the object is still there.
	removed string

	// judged: there is a verdict, which the next fields are of; of is the digest of the
	// file that it was made by, "" where there was none that can be used.
	judged    bool
	of        string
	action    plan.Action
	reason    string
	target    plan.Target
	failing   bool
	suspended bool
	// unanswered: the last step got no good answer from the server.
	unanswered bool
	// listed says whether the object belongs into the report.
	listed bool

	// told is what the log has last said of the object's rest; "" is nothing.
	told string

	// cycle is the one that wrote and before are of.
	cycle  int64
	wrote  bool // something of its own was written in that cycle
	first  written
	before versions
	after  versions

	generation, observed int64

	measured measured
	// decisions are the last ones, good is how the object last stood as it should, and
	// healed the last cycle in which it was brought back there.
	decisions decisions
	good      good
	healed    int64
}

// backsOff: the object failed, and its next try isn't due yet.
func (it *item) backsOff() bool {
	return !it.ready && it.failures > 0 && time.Until(it.due) > 0
}

// written is the first write to an object in a cycle.
type written struct {
	action plan.Action
	reason string
	target plan.Target
}

// generation is a spec that an object has had.
type generation struct {
	uid    types.UID
	number int64
}

// versions are the resourceVersions of an object and its ConfigMap.
type versions struct{ webservice, configmap string }

func versionsOf(in *plan.Input) versions {
	var v versions
	if in.Live.Exists() {
		v.webservice = in.Live.ResourceVersion
	}
	v.configmap = in.Child.ResourceVersion
	return v
}
