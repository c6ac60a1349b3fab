package report

import "time"

// Schema names the report's format; it changes when a reader would break.
const Schema = "webservice-controller/report/v1"

// Trigger is what began a cycle.
type Trigger string

// The triggers of a cycle.
const (
	TriggerStart    Trigger = "start"
	TriggerFiles    Trigger = "files"
	TriggerCluster  Trigger = "cluster"
	TriggerInterval Trigger = "interval"
	TriggerRetry    Trigger = "retry"
	TriggerApproval Trigger = "approval"
	TriggerLease    Trigger = "lease"
	TriggerOnce     Trigger = "once"
)

// Role is whether this process holds the source's lease.
type Role string

// The roles of a process.
const (
	RoleActive  Role = "active"
	RoleStandby Role = "standby"
)

// Action is what was decided for one object.
type Action string

// The actions of an item.
const (
	ActionCreate  Action = "create"
	ActionUpdate  Action = "update"
	ActionDelete  Action = "delete"
	ActionNoop    Action = "noop"
	ActionRequeue Action = "requeue"
)

// Report is the state of one cycle, as written to reconcile-report.json. Its
// fields stand in the order of the file. Times are written in UTC to the
// millisecond and nil lists as []; Schema is filled in by the writer.
type Report struct {
	Schema string `json:"schema"`
	// Cycle counts from 1 per process; 0 is the report at start.
	Cycle   int64     `json:"cycle"`
	Trigger Trigger   `json:"trigger"`
	Started time.Time `json:"started"`
	// Finished is zero, and absent from the file, while the cycle lasts.
	Finished time.Time `json:"finished,omitzero"`
	// DurationSeconds is nil while the cycle lasts; Finish sets it.
	DurationSeconds   *float64 `json:"duration_seconds,omitempty"`
	ControllerVersion string   `json:"controller_version"`
	Role              Role     `json:"role"`
	// Holder is the identity that holds the lease, "" when unknown.
	Holder    string `json:"holder"`
	Converged bool   `json:"converged"`
	// WaitingFor is one sentence, "" (and absent) when converged.
	WaitingFor string `json:"waiting_for,omitempty"`
	// SourceFailed: the source as a whole can't be read or is empty. WaitingFor says
	// so in the file.
	SourceFailed bool `json:"-"`
	// Source is the state of the directory of files.
	Source Source `json:"source"`
	// Requests counts what was sent to the API server.
	Requests Requests `json:"requests"`
	// Summary counts the items; see Summarize.
	Summary Summary `json:"summary"`
	// Items are the objects, sorted by namespace, then name.
	Items []Item `json:"items"`
	// Problems prevent convergence, Warnings don't.
	Problems []Problem `json:"problems"`
	Warnings []Problem `json:"warnings"`
	// Held are the deletions that wait for an approval or a remedy.
	Held []Held `json:"held"`
	// HeldDigest and HeldCommand are "" (and absent) where approval can't help.
	HeldDigest  string `json:"held_digest,omitempty"`
	HeldCommand string `json:"held_command,omitempty"`
}

// Finish marks the cycle as ended at the given time. Its length is rounded to
// the millisecond.
func (r *Report) Finish(at time.Time) {
	seconds := at.Sub(r.Started).Round(time.Millisecond).Seconds()
	r.Finished, r.DurationSeconds = at, &seconds
}

// Source is the state of the directory of files at its last scan.
type Source struct {
	Path string `json:"path"`
	Name string `json:"name"`
	// Revision is the git HEAD at scan time, or "".
	Revision string `json:"revision"`
	// Digest stands for the content of all files.
	Digest string `json:"digest"`
	// Complete is false when the directory couldn't be read whole.
	Complete bool `json:"complete"`
	// Files were read, Objects found in them, and Skipped are their
	// documents of other kinds.
	Files   int `json:"files"`
	Objects int `json:"objects"`
	Skipped int `json:"skipped"`
	// WatchMode is how changes are noticed, WatchReason why it isn't better.
	WatchMode   string `json:"watch_mode"`
	WatchReason string `json:"watch_reason"`
	// LastScan is zero, and absent from the file, before the first scan.
	LastScan            time.Time `json:"last_scan,omitzero"`
	ScanIntervalSeconds float64   `json:"scan_interval_seconds"`
}

// Requests counts API requests; watches and the lease's are left out.
type Requests struct {
	// Reads and Writes were sent by this cycle.
	Reads  int64 `json:"reads"`
	Writes int64 `json:"writes"`
	// Events were sent since the previous report.
	Events int64 `json:"events"`
}

// Summary counts items by action (these five add up to Total) and by what
// else a reader asks for first.
type Summary struct {
	Total     int `json:"total"`
	Create    int `json:"create"`
	Update    int `json:"update"`
	Delete    int `json:"delete"`
	Noop      int `json:"noop"`
	Requeue   int `json:"requeue"`
	Errors    int `json:"errors"`
	Suspended int `json:"suspended"`
	Held      int `json:"held"`
	Problems  int `json:"problems"`
}

// Item is one object and what was decided about it.
type Item struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Action    Action `json:"action"`
	Reason    string `json:"reason"`
	// Target is "webservice/NAME" or "configmap/NAME-desired".
	Target string `json:"target"`
	// Source is the path in the source and the line, "" for a hand-made object.
	Source             string           `json:"source"`
	Generation         int64            `json:"generation"`
	ObservedGeneration int64            `json:"observed_generation"`
	ResourceVersions   ResourceVersions `json:"resource_versions"`
	// Requeue is there exactly when Action is requeue; nil leaves both of
	// its fields out of the file.
	*Requeue
	// Error is the failure in words, "" (and absent) without one.
	Error string `json:"error,omitempty"`

	// Suspended is counted in the summary and isn't in the file.
	Suspended bool `json:"-"`
	// Unusable: the documents that name the object can't be used. It isn't in the file,
	// which has the problems.
	Unusable bool `json:"-"`
}

// Failed tells whether the item is an error rather than a wait.
func (i *Item) Failed() bool { return i.Requeue != nil && i.Requeue.IsError }

// Requeue says when an object is looked at again, and whether that is because
// something failed.
type Requeue struct {
	// AfterSeconds is greater than 0, rounded up.
	AfterSeconds int64 `json:"after_seconds"`
	// IsError is false when something just isn't ready yet.
	IsError bool `json:"is_error"`
}

// ResourceVersions holds the versions of an object and its child.
type ResourceVersions struct {
	WebService Versions `json:"webservice"`
	ConfigMap  Versions `json:"configmap"`
}

// Versions are resourceVersions at the cycle's start and now, "" where the
// object didn't exist.
type Versions struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Problem is one place in the source, and what is wrong or notable there.
// Document and Line count from 1 and are 0 where they don't apply.
type Problem struct {
	Path     string `json:"path"`
	Document int    `json:"document"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Field    string `json:"field"`
	Message  string `json:"message"`
}

// Held is one deletion that isn't done, and why.
type Held struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}
