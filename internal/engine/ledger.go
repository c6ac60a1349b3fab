package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"labhub.io/webservice-controller/internal/plan"
)

// ledger counts what is ours, what of it no file names any more, and what files
// name that isn't there. It is kept up object by object, so that asking it costs
// nothing that grows with their number. The zero value isn't ready for use.
type ledger struct {
	source string
	policy *plan.PrunePolicy

	// owned has every live object of ours that isn't being deleted.
	owned map[plan.Key]entry
	// going are those that no file names and that nothing keeps, and kept counts
	// those that something does.
	going   map[plan.Key]*plan.Absence
	kept    int
	missing missing
	// stale are the objects to look at again before the ledger is asked.
	stale map[plan.Key]struct{}
	// round numbers the looks at all objects.
	round uint32

	// approved are the objects that a person has allowed to delete; nil where there
	// is no approval.
	approved map[types.UID]struct{}
	// voided: an approval counts no more, since it was for another set.
	voided bool

	// moved: something that is counted has changed since that was last looked at.
	moved bool
	// version changes whenever going does.
	version  int64
	digest   string
	digestOf int64
	// empty: the last scan found the source empty.
	empty bool
}

// entry is a live object of ours.
type entry struct {
	class class
	// round is the last one that had the object.
	round uint32
}

// class is what the files make of a live object.
type class uint8

const (
	notOurs class = iota
	named
	keptWithout // no file names it, and it stays
	going
)

func newLedger(source string, policy *plan.PrunePolicy) *ledger {
	return &ledger{
		source: source, policy: policy,
		owned: map[plan.Key]entry{}, going: map[plan.Key]*plan.Absence{}, stale: map[plan.Key]struct{}{},
		missing: missing{keys: map[plan.Key]struct{}{}},
		version: 1,
	}
}

// total counts all that is ours, without what is kept without a file.
func (l *ledger) total() int { return len(l.owned) - l.kept }

// touch notes that the object has to be looked at again.
func (l *ledger) touch(key plan.Key) { l.stale[key] = struct{}{} }

// set takes over how things stand with an object. isNamed: a document names it, or
// the source isn't known yet. asked: a usable one asks for it.
func (l *ledger) set(key plan.Key, live *plan.Live, isNamed, asked bool) {
	delete(l.stale, key)
	l.setMissing(key, asked && (!live.Exists() || live.Terminating()))
	now := l.classOf(live, isNamed)
	before := l.owned[key].class
	if now == notOurs {
		delete(l.owned, key)
	} else {
		l.owned[key] = entry{class: now, round: l.round}
	}
	if now == before && (now != going || l.going[key].UID == live.UID) {
		return
	}
	l.moved = true
	l.kept += count(now == keptWithout) - count(before == keptWithout)
	if before == going {
		l.leave(key, live)
	}
	if now == going {
		l.join(key, live.UID)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (l *ledger) classOf(live *plan.Live, isNamed bool) class {
	switch {
	case live.BelongsTo(l.source) != plan.Ours || live.Terminating():
		return notOurs
	case isNamed:
		return named
	case plan.KeptReason(live, l.policy) != "":
		return keptWithout
	}
	return going
}

// join: one more object is going. An approval wasn't for it, unless it was.
func (l *ledger) join(key plan.Key, uid types.UID) {
	l.version++
	l.going[key] = &plan.Absence{Key: key, UID: uid}
	if _, ok := l.approved[uid]; !ok {
		l.void()
	}
}

// leave: an object isn't going any more. Where it is gone, or about to be, that is
// what an approval was for; where it stays, the approval was for another set.
func (l *ledger) leave(key plan.Key, live *plan.Live) {
	l.version++
	a := l.going[key]
	delete(l.going, key)
	if live.Exists() && !live.Terminating() && live.UID == a.UID {
		l.void()
	}
	if len(l.going) == 0 {
		l.approved = nil // it is used up
	}
}

func (l *ledger) void() {
	if l.approved != nil {
		l.approved, l.voided = nil, true
	}
}

// approve allows exactly what is going now.
func (l *ledger) approve() {
	l.approved = make(map[types.UID]struct{}, len(l.going))
	for _, a := range l.going {
		l.approved[a.UID] = struct{}{}
	}
	l.moved = true
}

func (l *ledger) setMissing(key plan.Key, is bool) {
	if _, was := l.missing.keys[key]; was == is {
		return
	}
	l.moved = true
	if is {
		l.missing.add(key)
	} else {
		delete(l.missing.keys, key)
	}
}

// begin begins a look at all objects: each is set, and sweep ends it.
func (l *ledger) begin() { l.round++ }

// seen says whether the object was one of ours in the present look.
func (l *ledger) seen(key plan.Key) bool { return l.owned[key].round == l.round }

// sweep drops what the present look didn't have.
func (l *ledger) sweep() {
	var none plan.Live
	for key := range l.owned {
		if !l.seen(key) {
			l.set(key, &none, false, false)
		}
	}
}

// scanned counts a scan that didn't name what is going. One that can't be believed
// counts for nothing, and neither does what was counted before it. An empty source
// and one with objects don't agree on what is gone.
func (l *ledger) scanned(believed, empty bool, now time.Time) {
	again := !believed || empty != l.empty
	l.empty = empty
	for _, a := range l.going {
		if again {
			a.Scans, a.Since = 0, time.Time{}
		}
		if !believed {
			continue
		}
		if a.Scans == 0 {
			a.Since = now
		}
		a.Scans++
	}
}

// digestOfGoing names the set of all that is going.
func (l *ledger) digestOfGoing() string {
	if l.digestOf != l.version {
		l.digest, l.digestOf = plan.AbsencesDigest(l.source, l.absences()), l.version
	}
	return l.digest
}

// absences are all that is going, in order.
func (l *ledger) absences() []plan.Absence {
	all := make([]plan.Absence, 0, len(l.going))
	for _, a := range l.going {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b plan.Absence) int { return before(a.Key, b.Key) })
	return all
}

// missing are the objects that the files ask for and that aren't there.
type missing struct {
	keys map[plan.Key]struct{}
	// order are keys, sorted, some of which may have come by now; unsorted: it lacks
	// some.
	order    []plan.Key
	unsorted bool
}

func (m *missing) add(key plan.Key) { m.keys[key], m.unsorted = struct{}{}, true }

// first is the first one by name; ok is false where there is none.
func (m *missing) first() (key plan.Key, ok bool) {
	if m.unsorted {
		m.order, m.unsorted = slices.SortedFunc(maps.Keys(m.keys), before), false
	}
	for ; len(m.order) > 0; m.order = m.order[1:] {
		if _, ok := m.keys[m.order[0]]; ok {
			return m.order[0], true
		}
	}
	return plan.Key{}, false
}

func before(a, b plan.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
