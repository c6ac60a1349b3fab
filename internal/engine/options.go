package engine

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/source"
)

// Cluster is what the engine needs of a cluster. Reads come from memory.
type Cluster interface {
	// Look fills in what is known of key's object, our own writes included. fresh
	// is false while the watches haven't told of those yet.
	Look(key plan.Key, in *plan.Input) (fresh bool)
	// All goes over the live objects. Nothing of the cluster may be called meanwhile.
	All() iter.Seq2[plan.Key, plan.Live]
	// Do carries out a step; its effect is seen by the next Look. The error is a
	// *plan.Failure.
	Do(ctx context.Context, key plan.Key, step *plan.Step) (plan.Answer, error)
	// Prepare does what must be done before objects can be: it installs or upgrades
	// the CRD. It returns what it has done to it, Noop for nothing.
	Prepare(ctx context.Context) (plan.Action, error)
	// State is nil when the cluster can be worked on.
	State() error
	// CaughtUp is true when the watches have told of all our own writes.
	CaughtUp() bool
	// Requests counts the requests sent so far, watches and the lease apart.
	Requests() (reads, writes int64)
}

// Options are an engine's settings. All fields but Trigger, QuietHolds, Only,
// Evidence, Events and Observer must be set.
type Options struct {
	Policy  plan.Policy
	Workers int
	Backoff Backoff
	// ScanInterval is the time between passes.
	ScanInterval time.Duration
	// AllowEmpty makes a source without WebServices a valid one.
	AllowEmpty bool
	// SourcePath is named in the report.
	SourcePath string
	// SourceStatus tells how the source does.
	SourceStatus func() source.Status
	// Version is ours, for the report.
	Version string
	// Trigger is what the report says of the cycles of this process, where they
	// aren't to be told apart: all of them then have one account, number 1. ""
	// tells them apart.
	Trigger report.Trigger
	// QuietHolds leaves held deletions out of the log: who waits for the outcome is
	// going to tell of them.
	QuietHolds bool
	// Only says which objects are worked on; nil is all. The others are known, since
	// deletions are judged and dependencies looked up among all, but they get no turn
	// and aren't in the report.
	Only func(plan.Key) bool
	// TakenOver is when the lease was last taken from another holder, by us or by who
	// had it before us; zero where it wasn't, or isn't ours. It is asked from any goroutine and returns at once.
	TakenOver func() time.Time
	// Rescan asks the source for another look soon. It returns at once.
	Rescan func()
	// Approvals are people's words about held deletions.
	Approvals Approvals
	// Evidence takes what was seen and decided; nil keeps none.
	Evidence Evidence
	// Events tells people in the cluster; nil tells nobody.
	Events Events
	// Observer measures what is done; nil is nobody.
	Observer Observer
	// Publish takes each report. It is called from one goroutine, and may take
	// its time: meanwhile reconciling goes on.
	Publish func(*report.Report)
	Log     *slog.Logger
}

// Approvals are people's words about held deletions, by the digest of the set
// that they are about. An error is told and counts as no approval.
type Approvals interface {
	// Approved says whether the set with that digest is approved.
	Approved(digest string) (bool, error)
	// Retain removes every approval but the one of that digest; "" removes all.
	Retain(digest string) error
	// Command is what a person types to approve that digest.
	Command(digest string) string
}

// Evidence keeps what was seen and decided of each object. Its methods are called
// with every verdict and step, from any goroutine, and must return at once.
type Evidence interface {
	// Decided tells a decision and what it was made from. In a requeue, After is how
	// long it really waits, by the object's backoff too; a step that failed is told
	// of as the requeue that follows from it.
	Decided(in *plan.Input, d *plan.Decision)
	// Cleaned tells what was removed of an object that was deleted, once our
	// finalizer is off it.
	Cleaned(key plan.Key, live plan.Live, removed string, left []string)
	// Gone tells that the object neither exists nor is asked for any more.
	Gone(key plan.Key)
}
