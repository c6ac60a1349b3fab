package web

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// feed turns reports into what open pages need: all of it to begin with, and from
// then on what has changed. Each item has the revision at which it changed last, so
// that a page that has seen a revision is told everything after it, however much that
// is: a slow page just gets it in fewer parts.
//
// While nobody looks the feed holds nothing. The zero value isn't ready for use.
type feed struct {
	latest func() *report.Report
	view   func() View

	mu sync.Mutex
	// epoch names one run of revisions. Those of another mean nothing here.
	epoch    string
	epochs   int
	revision int64
	// of is the report that the rest was taken from.
	of    *report.Report
	items []entry
	gone  []tombstone
	// forgotten is the revision up to which what has gone isn't known any more.
	forgotten int64
	// lists is the revision at which problems, warnings or held deletions changed, and
	// cycles those at which each cycle was first told of.
	lists  int64
	cycles []told
	spans  []report.Span
	// whole and delta are the last frames that were made, as long as they are true.
	whole, delta framed
}

// entry is an item with the revision at which it changed.
type entry struct {
	item     item
	revision int64
}

// item is one of the report as the page gets it.
type item struct {
	report.Item
	// Due is when the object is looked at again, in seconds of the Unix time. A number
	// of seconds from now would be another one in every report.
	Due int64 `json:"due,omitempty"`
	// State says what the object's state means to people.
	State state `json:"state"`
	// Unusable is as in the report's items, whose file doesn't have it.
	Unusable bool `json:"unusable,omitempty"`
}

type tombstone struct {
	key      key
	revision int64
}

type told struct {
	cycle    report.Cycle
	revision int64
}

// framed is a frame with what it was made from.
type framed struct {
	since, revision int64
	data            []byte
}

// frame is one message to a page.
type frame struct {
	// Full: what the page had before counts no more.
	Full bool `json:"full"`
	// Report is the report without its lists.
	Report json.RawMessage `json:"report"`
	// SourceFailed isn't in the report: see [report.Report].
	SourceFailed bool `json:"source_failed"`
	// Lists is null where they are as they were.
	Lists *lists `json:"lists"`
	Items []item `json:"items"`
	Gone  []key  `json:"gone"`
	// Cycles are those that have ended since; NotConverged is always whole.
	Cycles       []report.Cycle `json:"cycles"`
	NotConverged []report.Span  `json:"not_converged"`
}

type lists struct {
	Problems []report.Problem `json:"problems"`
	Warnings []report.Problem `json:"warnings"`
	Held     []report.Held    `json:"held"`
}

// key is an object's namespace and name.
type key [2]string

const (
	// keptGone is how many objects that have gone are remembered. A page that has missed
	// more gets everything anew.
	keptGone = 1000
	// keptCycles is as many as a page draws.
	keptCycles = 120
	// dueTolerance is how far two reports may differ in when an object is looked at
	// again although nothing has changed: seconds are rounded up.
	dueTolerance = 2
)

// begin makes the feed ready for the first page that looks.
func (f *feed) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var name [8]byte
	_, _ = rand.Read(name[:]) // it never fails
	f.epochs++
	f.epoch = hex.EncodeToString(name[:]) + "-" + strconv.Itoa(f.epochs)
}

// end forgets everything, since nobody looks any more.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	epochs := f.epochs
	f.epoch, f.revision, f.of, f.items, f.gone, f.forgotten = "", 0, nil, nil, nil, 0
	f.lists, f.cycles, f.spans, f.whole, f.delta = 0, nil, nil, framed{}, framed{}
	f.epochs = epochs
}

// since is the message for a page that has seen everything up to id, and the id of
// that message. data is nil where there is nothing new.
func (f *feed) since(id string) (data []byte, now string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(time.Now())
	if f.of == nil {
		return nil, id, nil
	}
	seen, known := f.seen(id)
	if known && seen == f.revision {
		return nil, id, nil
	}
	if !known || seen < f.forgotten {
		seen = 0
	}
	cached := &f.delta
	if seen == 0 {
		cached = &f.whole
	}
	if cached.data == nil || cached.since != seen || cached.revision != f.revision {
		if data, err = f.encode(seen); err != nil {
			return nil, id, err
		}
		*cached = framed{seen, f.revision, data}
	}
	return cached.data, f.epoch + "." + strconv.FormatInt(f.revision, 10), nil
}

// seen reads an id that was given out before.
func (f *feed) seen(id string) (revision int64, known bool) {
	epoch, number, ok := strings.Cut(id, ".")
	if !ok || epoch != f.epoch {
		return 0, false
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	if err != nil || revision < 0 || revision > f.revision {
		return 0, false
	}
	return revision, true
}

// advance takes over the latest report, if it is a new one.
func (f *feed) advance(now time.Time) {
	r := f.latest()
	if r == nil || r == f.of {
		return
	}
	f.revision++
	f.takeItems(r, now)
	if f.of == nil || !slices.Equal(f.of.Problems, r.Problems) || !slices.Equal(f.of.Warnings, r.Warnings) || !slices.Equal(f.of.Held, r.Held) {
		f.lists = f.revision
	}
	f.takeHistory()
	f.of, f.whole, f.delta = r, framed{}, framed{}
}

// takeItems walks along both lists, which are in the same order.
func (f *feed) takeItems(r *report.Report, now time.Time) {
	old, held := f.items, heldKeys(r.Held)
	next := make([]entry, 0, len(r.Items))
	for i := range r.Items {
		it := itemOf(&r.Items[i], held, now)
		for len(old) > 0 && keyOf(&old[0].item).before(keyOf(&it)) {
			f.bury(keyOf(&old[0].item))
			old = old[1:]
		}
		revision := f.revision
		if len(old) > 0 && keyOf(&old[0].item) == keyOf(&it) {
			if same(&old[0].item, &it) {
				it, revision = old[0].item, old[0].revision
			}
			old = old[1:]
		}
		next = append(next, entry{it, revision})
	}
	for i := range old {
		f.bury(keyOf(&old[i].item))
	}
	f.items = next
}

func (f *feed) bury(k key) {
	if len(f.gone) == keptGone {
		f.forgotten = f.gone[0].revision
		f.gone = slices.Delete(f.gone, 0, 1)
	}
	f.gone = append(f.gone, tombstone{k, f.revision})
}

func (f *feed) takeHistory() {
	view := f.view()
	if view == nil {
		return
	}
	h := view.History()
	f.spans = h.NotConverged
	var last int64
	if n := len(f.cycles); n > 0 {
		last = f.cycles[n-1].cycle.Cycle
	}
	for _, c := range h.Cycles {
		if c.Cycle > last {
			f.cycles = append(f.cycles, told{c, f.revision})
		}
	}
	f.cycles = f.cycles[max(0, len(f.cycles)-keptCycles):]
}

// encode writes what has changed after a revision down; after 0 that is all.
func (f *feed) encode(seen int64) ([]byte, error) {
	head := *f.of
	head.Items, head.Problems, head.Warnings, head.Held = nil, nil, nil, nil
	var text strings.Builder
	if err := report.Encode(&text, &head); err != nil {
		return nil, err
	}
	m := frame{
		Full: seen == 0, Report: json.RawMessage(text.String()), SourceFailed: f.of.SourceFailed,
		Items: []item{}, Gone: []key{}, Cycles: []report.Cycle{}, NotConverged: some(f.spans),
	}
	if f.lists > seen {
		m.Lists = &lists{some(f.of.Problems), some(f.of.Warnings), some(f.of.Held)}
	}
	for i := range f.items {
		if f.items[i].revision > seen {
			m.Items = append(m.Items, f.items[i].item)
		}
	}
	for _, t := range f.gone {
		if seen > 0 && t.revision > seen {
			m.Gone = append(m.Gone, t.key)
		}
	}
	for _, c := range f.cycles {
		if c.revision > seen {
			m.Cycles = append(m.Cycles, c.cycle)
		}
	}
	return json.Marshal(&m)
}

func itemOf(i *report.Item, held map[key]bool, now time.Time) item {
	it := item{Item: *i, State: stateOf(i, held), Unusable: i.Unusable}
	if i.Requeue != nil {
		it.Due = now.Unix() + i.AfterSeconds
	}
	return it
}

// same says whether two states of an object are one, to people.
func same(a, b *item) bool {
	x, y := a.Item, b.Item
	x.Requeue, y.Requeue = nil, nil
	late := a.Due - b.Due
	return x == y && a.State == b.State && a.Failed() == b.Failed() && (a.Requeue == nil) == (b.Requeue == nil) && -dueTolerance <= late && late <= dueTolerance
}

func keyOf(i *item) key { return key{i.Namespace, i.Name} }

func (k key) before(other key) bool {
	if k[0] != other[0] {
		return k[0] < other[0]
	}
	return k[1] < other[1]
}

func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
