package cli

import (
	"sync"

	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// witness notes what a pass decides: the first write that it wants of each object,
// and of one object what it decides about the ConfigMap. It is an engine.Evidence.
type witness struct {
	key plan.Key

	mu sync.Mutex
	// wanted has the first step that was decided on for each object.
	wanted map[plan.Key]plan.Decision
	// child is what was first decided about the ConfigMap of key, from all that there
	// is to know; last is what was decided last.
	child, last *sight
	// awaited are objects that haven't been judged yet. Once something is to be
	// written and none is left, enough is called: the rest would take its time and
	// tell nothing new.
	awaited map[plan.Key]struct{}
	enough  func()
}

// sight is a decision, and what was seen.
type sight struct {
	observed report.Render
	decision plan.Decision
}

func newWitness(key plan.Key) *witness {
	return &witness{key: key, wanted: map[plan.Key]plan.Decision{}, enough: func() {}}
}

// await notes which objects are to be judged: those that r leaves.
func (w *witness) await(r *report.Report) {
	w.awaited = map[plan.Key]struct{}{}
	for i := range r.Items {
		if it := &r.Items[i]; it.ResourceVersions.WebService.After != "" {
			w.awaited[plan.Key{Namespace: it.Namespace, Name: it.Name}] = struct{}{}
		}
	}
}

// Decided notes the decision.
func (w *witness) Decided(in *plan.Input, d *plan.Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !in.Known {
		return // without the files it is half a decision
	}
	if _, before := w.wanted[in.Key]; !before && !d.Verdict() {
		w.wanted[in.Key] = *d
	}
	delete(w.awaited, in.Key)
	if in.Key == w.key {
		w.note(in, d)
	}
	if len(w.wanted) > 0 && len(w.awaited) == 0 {
		w.enough()
	}
}

func (w *witness) note(in *plan.Input, d *plan.Decision) {
	about, ok := evidence.AboutChild(in, d)
	w.last = &sight{observed: evidence.Observation(in), decision: about}
	if ok && w.child == nil {
		w.child = w.last
	}
}

// Cleaned is of no interest.
func (w *witness) Cleaned(plan.Key, plan.Live, string, []string) {}

// Gone is of no interest.
func (w *witness) Gone(plan.Key) {}

// wantsToWrite says whether anything was to be written.
func (w *witness) wantsToWrite() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wanted) > 0
}

// aboutChild is what was first decided about the ConfigMap, or what kept that from
// being decided; nil where nothing was.
func (w *witness) aboutChild() *sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.child != nil {
		return w.child
	}
	return w.last
}
