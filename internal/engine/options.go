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
	// Prepare does what must be done before objects can be: it installs the CRD.
	Prepare(ctx context.Context) error
	// State is nil when the cluster can be worked on.
	State() error
	// CaughtUp is true when the watches have told of all our own writes.
	CaughtUp() bool
	// Requests counts the requests sent so far, watches and the lease apart.
	Requests() (reads, writes int64)
}

// Options are an engine's settings. All fields but FirstTrigger must be set.
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
	// Publish takes each report. It is called from one goroutine, and may take
	// its time: meanwhile reconciling goes on.
	Publish func(*report.Report)
	Log     *slog.Logger
}
