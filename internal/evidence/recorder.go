package evidence

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// Recorder turns decisions into files. Its methods may be called from any
// goroutine, and return at once: what is written, is written by Files.Run.
type Recorder struct {
	files *report.Evidence

	mu   sync.Mutex
	seen map[plan.Key]seen
}

// seen is what was last kept of an object.
type seen struct {
	view    view
	verdict verdict
	// uid is the live object's, "" where there was none; terminating and cleaned
	// are about that one.
	uid         types.UID
	terminating bool
	cleaned     bool
}

// view says which versions a decision was made from. The zero value: there was
// no decision yet.
type view struct {
	taken       bool
	live, child string
	// file is the digest of what the file says, where there is no live object.
	file string
}

// verdict is the part of a decision that is kept.
type verdict struct {
	action plan.Action
	reason string
	target plan.Target
	after  time.Duration
	failed bool
}

// New makes a recorder that keeps its files with files.
func New(files *report.Evidence) *Recorder {
	return &Recorder{files: files, seen: map[plan.Key]seen{}}
}

// Decided keeps a decision and what it was made from. Objects that are none of
// our business leave no trace.
func (r *Recorder) Decided(in *plan.Input, d *plan.Decision) {
	if !Concerns(in) {
		return
	}
	now := seen{view: viewOf(in), verdict: verdictOf(d)}
	if in.Live.Exists() {
		now.uid, now.terminating = in.Live.UID, in.Live.Terminating()
	}
	before := r.replace(in.Key, &now)
	if before == now {
		return
	}
	if before.uid != "" && before.uid != now.uid {
		r.gone(in.Key, &before)
	}
	if before.view != now.view {
		r.put(in.Key, "observe.json", observationOf(in))
	}
	if before.verdict != now.verdict {
		r.put(in.Key, "decision.json", decisionOf(d, in.Key))
	}
	if d.Action == plan.Requeue && before.verdict != now.verdict {
		r.put(in.Key, "requeue.json", decisionOf(d, in.Key))
	}
	if now.terminating && (!before.terminating || before.uid != now.uid) {
		r.files.Change(file(in.Key, "terminating.json"), terminating(in.Live))
	}
}

// replace notes what is known of the object now, and returns what was.
func (r *Recorder) replace(key plan.Key, now *seen) seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.seen[key]
	now.cleaned = before.cleaned && before.uid == now.uid
	if before != *now {
		r.seen[key] = *now
	}
	return before
}

// Cleaned keeps what was done about an object that was deleted: what was removed,
// "" for nothing, and which finalizers are left, now that ours is off.
func (r *Recorder) Cleaned(key plan.Key, live plan.Live, removed string, left []string) {
	r.mu.Lock()
	s := r.seen[key]
	s.uid, s.cleaned = live.UID, true
	r.seen[key] = s
	r.mu.Unlock()
	r.files.Change(file(key, cleanupName), cleaned(key, live.UID, time.Now(), removed, left))
}

// Gone keeps that the object neither exists nor is asked for any more.
func (r *Recorder) Gone(key plan.Key) {
	r.mu.Lock()
	s := r.seen[key]
	delete(r.seen, key)
	r.mu.Unlock()
	if s.uid != "" {
		r.gone(key, &s)
	}
}

func (r *Recorder) gone(key plan.Key, s *seen) {
	r.files.Change(file(key, cleanupName), gone(key, s.uid, time.Now(), s.cleaned))
}

func (r *Recorder) put(key plan.Key, name string, value any) {
	r.files.Put(file(key, name), report.JSON(value))
}

func file(key plan.Key, name string) report.EvidenceFile {
	return report.EvidenceFile{Namespace: key.Namespace, Name: key.Name, File: name}
}

// Concerns says whether the object is one that the report lists.
func Concerns(in *plan.Input) bool {
	named := in.Desired != nil || in.Broken
	if named || !in.Live.Exists() {
		return named
	}
	switch in.Live.BelongsTo(in.Policy.SourceName) {
	case plan.Ours:
		return true
	case plan.Nobodys:
		return in.Policy.Unlabelled
	}
	return false
}

func viewOf(in *plan.Input) view {
	v := view{taken: true, child: in.Child.ResourceVersion}
	switch {
	case in.Live.Exists():
		v.live = in.Live.ResourceVersion
	case in.Desired != nil:
		v.file = in.Desired.Digest
	}
	return v
}

func verdictOf(d *plan.Decision) verdict {
	return verdict{action: d.Action, reason: d.Reason, target: d.Target, after: d.After, failed: d.Error}
}
