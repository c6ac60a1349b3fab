package walk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// rules are what deletions are judged by, and how much later than the walk the
// controller may know things.
type rules struct {
	// after is prune.after.
	after time.Duration
	// lag is the greatest age of a state that the controller may still act on.
	lag time.Duration
	// blink is how long a state must last for the controller to notice it.
	blink time.Duration
	// late is how much later than the controller the walk may hear of a version.
	late time.Duration
}

// offence is a kind of thing that the controller must not do.
type offence string

const (
	unguarded     offence = "deleted without uid and resourceVersion of what was judged"
	notOurs       offence = "deleted what isn't ours"
	keptDeleted   offence = "deleted what is to be kept"
	suspendedGone offence = "deleted what is suspended"
	twice         offence = "deleted what was being deleted already"
	sourceMissing offence = "deleted while the source was missing"
	sourceDirty   offence = "deleted while the source had problems"
	sourceEmpty   offence = "deleted while the source was empty, without an approval"
	stillNamed    offence = "deleted what a file names"
	tooEarly      offence = "deleted before prune.after was over"
	beforeNew     offence = "deleted before what the files add was created"
	tooManyAtOnce offence = "deleted more at once than the size rules allow, without an approval"
	createdHeld   offence = "created while a size rule holds deletions"
	notItsAffair  offence = "wrote to what is none of its business"
	neverDeleted  offence = "deleted a kind that it must never delete"
)

// crime is an offence that was found.
type crime struct {
	offence offence
	text    string
}

// judge looks at all requests that were sent from one time to another. It knows
// nothing of the controller's code: these are the rules of its documentation, said
// once more. Where it can't know what the controller had seen, it is in the
// controller's favour.
func (h *history) judge(by rules, from, until time.Time) []crime {
	h.mu.Lock()
	defer h.mu.Unlock()
	var crimes []crime
	for _, r := range h.requests {
		if r.at.Before(from) || !r.at.Before(until) {
			continue
		}
		offence, why := h.judgeRequest(by, r)
		if offence != "" {
			crimes = append(crimes, crime{offence, fmt.Sprintf("%s: %s: %s", offence, r, why)})
		}
	}
	return crimes
}

func (h *history) judgeRequest(by rules, r *request) (offence, string) {
	switch {
	case r.method == "DELETE" && r.resource != v1.Resource && r.resource != "configmaps":
		return neverDeleted, r.resource
	case r.deletesWebService():
		return h.judgeDeletion(by, r)
	}
	return h.judgeWrite(by, r)
}

// judgeDeletion judges the deletion of a WebService, whatever the server made of
// it: asking for it was wrong already.
func (h *history) judgeDeletion(by rules, r *request) (offence, string) {
	if r.preconditionRV == "" || r.preconditionUID == "" {
		return unguarded, ""
	}
	// The version is the one that was judged: if it had changed, the server would
	// have refused.
	seen := h.seen(r.key, r.preconditionRV)
	switch {
	case seen == nil || seen.uid != r.preconditionUID:
		return unguarded, "no object had this uid and version"
	case seen.source != h.source || !seen.owned:
		return notOurs, fmt.Sprintf("label %q, ours: %v", seen.source, seen.owned)
	case seen.kept:
		return keptDeleted, ""
	case seen.suspended:
		return suspendedGone, ""
	case seen.terminating:
		return twice, ""
	}
	var last offence
	worlds := h.worlds(r.at.Add(-by.lag), r.at.Add(by.late))
	for _, dir := range h.seenDirs(by, r.at) {
		found := h.judgeAgainst(by, r, dir, worlds)
		if found == "" {
			return "", ""
		}
		if last == "" {
			last = found
		}
	}
	return last, fmt.Sprintf("the directory lately: %s", h.lately(by, r))
}

// seenDirs are the states of the directory, by index, that the controller may
// have acted on at a time: the latest first.
func (h *history) seenDirs(by rules, at time.Time) []int {
	var found []int
	for i := len(h.dirs) - 1; i >= 0; i-- {
		if h.dirs[i].from.After(at) {
			continue
		}
		found = append(found, i)
		if h.dirs[i].sure.Before(at.Add(-by.lag)) {
			break
		}
	}
	return found
}

// judgeAgainst judges a deletion as if the controller knew this state of the
// directory as the latest, and any one of these worlds.
func (h *history) judgeAgainst(by rules, r *request, dir int, worlds []world) offence {
	says := h.dirs[dir].says
	switch {
	case says.root == rootMissing:
		return sourceMissing
	case says.dirty:
		return sourceDirty
	case says.names(r.key):
		return stillNamed
	case h.absentSince(by, dir, r.key).After(r.at.Add(-by.after)):
		return tooEarly
	}
	var last offence
	for _, w := range worlds {
		if v := w.live(r.key); v == nil || v.terminating || v.uid != r.preconditionUID {
			continue // it can't be judged by what it led to
		}
		found := h.judgeSize(r, says, w)
		if found == "" {
			return ""
		}
		if last == "" {
			last = found
		}
	}
	return last
}

// judgeSize judges what goes beside the object.
func (h *history) judgeSize(r *request, says *picture, w world) offence {
	going, total := h.going(says, w)
	approved := h.approved(r, going, says, w)
	switch {
	case says.root == rootEmpty && !approved:
		return sourceEmpty
	case h.missing(says, w):
		return beforeNew
	case tooMany(len(going), total) && !approved:
		return tooManyAtOnce
	}
	return ""
}

// absentSince is the earliest time since when the object may have been missing
// from a source that was fit to be believed, up to a state where it is. States
// that didn't last may have gone unseen.
func (h *history) absentSince(by rules, dir int, key plan.Key) time.Time {
	since, badUntil := h.dirs[dir].from, time.Time{}
	for i := dir - 1; i >= 0; i-- {
		s := &h.dirs[i]
		if s.says.root != rootMissing && !s.says.dirty && !s.says.names(key) {
			since, badUntil = s.from, time.Time{}
			continue
		}
		if badUntil.IsZero() {
			badUntil = h.dirs[i+1].from
		}
		if badUntil.Sub(s.sure) >= by.blink {
			break
		}
	}
	return since
}

// going are our live objects that no file names and that nothing keeps; total
// counts all of ours, without those that no file names and that are kept.
func (h *history) going(says *picture, w world) (going []*version, total int) {
	for key, v := range w {
		if v.gone || v.terminating || v.source != h.source || !v.owned {
			continue
		}
		switch {
		case says.names(key):
			total++
		case !v.kept && !v.suspended:
			total++
			going = append(going, v)
		}
	}
	return going, total
}

// tooMany states the size rules: all there is; three or more that are over a half;
// more than ten that are over 30 %.
func tooMany(going, total int) bool {
	return going > 0 && going == total || going > 2 && going*2 > total || going > 10 && going*10 > total*3
}

// approved says whether a person has allowed this deletion, as one of a set which
// all that goes now belongs to, and of which nothing has come back since.
func (h *history) approved(r *request, going []*version, says *picture, w world) bool {
	return slices.ContainsFunc(h.approvals, func(a approval) bool {
		if a.at.After(r.at) || !a.has(r.key, r.preconditionUID) {
			return false
		}
		for _, v := range going {
			if !a.has(v.key, v.uid) {
				return false
			}
		}
		for key := range a.set {
			v := w.live(key)
			if v != nil && a.has(key, v.uid) && !v.terminating && (says.names(key) || v.kept || v.suspended) {
				return false
			}
		}
		return true
	})
}

// missing says whether a file asks for an object that the cluster doesn't have.
func (h *history) missing(says *picture, w world) bool {
	for key, doc := range says.usable {
		if !doc.suspended() && w.live(key) == nil {
			return true
		}
	}
	return false
}

// judgeWrite judges what isn't the deletion of a WebService. What the server
// refused has touched nothing; what it perhaps never saw was sent all the same.
func (h *history) judgeWrite(by rules, r *request) (offence, string) {
	if r.code >= 300 {
		return "", ""
	}
	allowed := false
	switch r.resource {
	case v1.Resource:
		allowed = h.inAnyState(by, r, func(says *picture, live *version) bool { return h.mayWrite(r, says, live) })
	case "configmaps":
		allowed = h.mayWriteChild(by, r)
	case "namespaces":
		allowed = r.method == "POST" && h.namesNamespace(by, r)
	case "customresourcedefinitions", "leases", "events":
		allowed = true
	}
	switch {
	case !allowed:
		return notItsAffair, "the directory lately: " + h.lately(by, r)
	case r.resource == v1.Resource && r.code == 201 && h.creationHeld(by, r):
		return createdHeld, "the directory lately: " + h.lately(by, r)
	}
	return "", ""
}

// inAnyState says whether something was so of the directory and an object at any
// time lately.
func (h *history) inAnyState(by rules, r *request, is func(*picture, *version) bool) bool {
	key := plan.Key{Namespace: r.key.Namespace, Name: strings.TrimSuffix(r.key.Name, v1.ChildSuffix)}
	if r.resource == v1.Resource {
		key = r.key
	}
	live := h.during(v1.Resource, key, r.at.Add(-by.lag), r.at.Add(by.late))
	for _, dir := range h.seenDirs(by, r.at) {
		says := h.dirs[dir].says
		if len(live) == 0 && is(says, nil) {
			return true
		}
		for _, v := range live {
			if v.gone {
				v = nil
			}
			if is(says, v) {
				return true
			}
		}
	}
	return false
}

// mayWrite: what a file names is made and kept as the file says; of the others
// only the status is ours, and the finalizer at the end. Suspended ones and those
// of other sources are left alone.
func (h *history) mayWrite(r *request, says *picture, live *version) bool {
	doc := says.usable[r.key]
	switch {
	case live == nil:
		return r.subresource == "" && doc != nil && !doc.suspended()
	case !h.concerns(says, live):
		return false
	case live.terminating:
		return r.subresource == "" && live.cleanup
	}
	return r.subresource == "status" || doc != nil
}

// concerns says whether an object is one that the controller works on.
func (h *history) concerns(says *picture, live *version) bool {
	if live.source != "" && live.source != h.source {
		return false
	}
	doc := says.usable[live.key]
	return live.terminating || !live.suspended && (doc == nil || !doc.suspended())
}

// mayWriteChild: the ConfigMap of an object that concerns us, unless the one that
// is there is somebody else's.
func (h *history) mayWriteChild(by rules, r *request) bool {
	if !strings.HasSuffix(r.key.Name, v1.ChildSuffix) {
		return false
	}
	if r.method != "POST" {
		there := h.during("configmaps", r.key, r.at.Add(-by.lag), r.at.Add(by.late))
		if !slices.ContainsFunc(there, func(v *version) bool { return !v.gone && !v.strangers }) {
			return false
		}
	}
	return h.inAnyState(by, r, func(says *picture, live *version) bool {
		return live != nil && h.concerns(says, live) && (!live.terminating || live.cleanup && r.method == "DELETE")
	})
}

func (h *history) namesNamespace(by rules, r *request) bool {
	return slices.ContainsFunc(h.seenDirs(by, r.at), func(dir int) bool {
		for key := range h.dirs[dir].says.usable {
			if key.Namespace == r.key.Name {
				return true
			}
		}
		return false
	})
}

// creationHeld: whatever the controller may have known, a size rule held deletions
// and nobody had lifted it.
func (h *history) creationHeld(by rules, r *request) bool {
	worlds := h.worlds(r.at.Add(-by.lag), r.at.Add(by.late))
	for _, dir := range h.seenDirs(by, r.at) {
		says := h.dirs[dir].says
		switch {
		case says.usable[r.key] == nil:
			continue
		case len(says.veiled) > 0:
			return false // who can't tell what goes
		}
		for _, w := range worlds {
			going, total := h.going(says, w)
			if !tooMany(len(going), total) || h.allApproved(r.at, going) {
				return false
			}
		}
	}
	return true
}

func (h *history) allApproved(at time.Time, going []*version) bool {
	return slices.ContainsFunc(h.approvals, func(a approval) bool {
		return a.at.Before(at) && !slices.ContainsFunc(going, func(v *version) bool { return !a.has(v.key, v.uid) })
	})
}

// strangersTouched finds what the walk made for others and somebody has changed:
// the walk doesn't.
func (h *history) strangersTouched() []crime {
	h.mu.Lock()
	defer h.mu.Unlock()
	var crimes []crime
	first := map[string]*version{}
	for i := range h.versions {
		v := &h.versions[i]
		if !v.strangers || v.gone || v.terminating {
			continue
		}
		id := v.resource + " " + v.key.String() + " " + string(v.uid)
		if was := first[id]; was == nil {
			first[id] = v
		} else if was.rv != v.rv {
			crimes = append(crimes, crime{notItsAffair, fmt.Sprintf("%s went from version %s to %s", id, was.rv, v.rv)})
		}
	}
	return crimes
}

// lately tells what the directory said of the object of a request.
func (h *history) lately(by rules, r *request) string {
	var told []string
	key := plan.Key{Namespace: r.key.Namespace, Name: strings.TrimSuffix(r.key.Name, v1.ChildSuffix)}
	oldest := r.at.Add(-by.lag - by.after - by.blink)
	for i := len(h.dirs) - 1; i >= 0; i-- {
		s := &h.dirs[i]
		if s.from.After(r.at) {
			continue
		}
		told = append(told, s.from.Format(clock)+" "+s.says.of(key))
		if s.from.Before(oldest) {
			break
		}
	}
	slices.Reverse(told)
	told = slices.CompactFunc(told, func(a, b string) bool { return a[len(clock):] == b[len(clock):] })
	for _, v := range h.during(v1.Resource, key, oldest, r.at.Add(by.lag)) {
		told = append(told, fmt.Sprintf("\n      live %s version %s uid %s gone %v terminating %v source %q owned %v kept %v suspended %v",
			v.at.Format(clock), v.rv, v.uid, v.gone, v.terminating, v.source, v.owned, v.kept, v.suspended))
	}
	return strings.Join(told, ", ")
}

func (r *picture) of(key plan.Key) string {
	word := "clean"
	switch {
	case r.root == rootMissing:
		return "missing"
	case r.root == rootEmpty:
		word = "empty"
	case r.dirty:
		word = "dirty"
	}
	if doc := r.usable[key]; doc != nil && doc.suspended() {
		return word + " and suspends it"
	}
	if r.names(key) {
		return word + " and names it"
	}
	return word + " without it"
}
