package walk

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// trial builds a history by hand. Times are in seconds. It begins with ten
// objects of ours, a to j, each of them live and named by a file.
type trial struct {
	history
	docs map[plan.Key]*document
	live map[plan.Key]version
}

const (
	trialSource = "mine"
	tenNames    = "abcdefghij"
)

// A controller that deletes after one second, of which we know what it knew to
// three seconds, and that misses what lasts less than two.
func trialRules() rules {
	return rules{after: time.Second, lag: 3 * time.Second, blink: 2 * time.Second, late: time.Second}
}

func newTrial() *trial {
	t := &trial{history: history{source: trialSource}, docs: map[plan.Key]*document{}, live: map[plan.Key]version{}}
	for _, name := range tenNames {
		t.doc(string(name))
		t.exists(0, string(name), func(*version) {})
	}
	t.files(0)
	return t
}

func second(s float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second)))
}

func named(name string) plan.Key { return plan.Key{Namespace: "ns", Name: name} }

func (t *trial) doc(name string) *document {
	doc := &document{key: named(name)}
	t.docs[doc.key] = doc
	return doc
}

// without takes documents away; files says when it is seen.
func (t *trial) without(names string) *trial {
	for _, name := range names {
		delete(t.docs, named(string(name)))
	}
	return t
}

// files is a new state of the directory.
func (t *trial) files(at float64, change ...func(*picture)) {
	says := &picture{usable: maps.Clone(t.docs)}
	for _, f := range change {
		f(says)
	}
	t.dirs = append(t.dirs, dirState{from: second(at), sure: second(at), says: says})
}

func dirty(r *picture)   { r.dirty = true }
func missing(r *picture) { r.root, r.usable = rootMissing, nil }
func empty(r *picture)   { r.root, r.usable = rootEmpty, nil }

// exists is a new version of an object, ours unless dressed otherwise.
func (t *trial) exists(at float64, name string, dress func(*version)) {
	key := named(name)
	v, known := t.live[key]
	if !known {
		v = version{resource: v1.Resource, key: key, uid: types.UID("uid-" + name), source: trialSource, owned: true}
	}
	v.at, v.rv = second(at), fmt.Sprint(len(t.versions)+1)
	dress(&v)
	t.live[key] = v
	t.versions = append(t.versions, v)
}

// configMap is one of the name that the child of a has.
func (t *trial) configMap(dress func(*version)) {
	v := version{at: second(0), resource: "configmaps", key: named(v1.ChildName("a")), rv: fmt.Sprint(len(t.versions) + 1), uid: "cm"}
	dress(&v)
	t.versions = append(t.versions, v)
}

// deletes is a deletion of an object as it is, in good order.
func (t *trial) deletes(at float64, name string) *request {
	v := t.live[named(name)]
	return t.asks(at, request{method: "DELETE", resource: v1.Resource, key: v.key, preconditionUID: v.uid, preconditionRV: v.rv, code: 200})
}

func (t *trial) asks(at float64, r request) *request {
	r.at = second(at)
	t.requests = append(t.requests, &r)
	return &r
}

func (t *trial) approve(at float64, names string) *approval {
	a := approval{at: second(at), set: map[plan.Key][]types.UID{}}
	for _, name := range names {
		a.set[named(string(name))] = []types.UID{t.live[named(string(name))].uid}
	}
	t.approvals = append(t.approvals, a)
	return &t.approvals[len(t.approvals)-1]
}

func (t *trial) verdict() offence {
	if crimes := t.judge(trialRules(), second(0), second(1000)); len(crimes) > 0 {
		return crimes[0].offence
	}
	return ""
}

// TestTheWalksJudgeOfDeletions: a judge that can't find anybody guilty proves
// nothing.
func TestTheWalksJudgeOfDeletions(t *testing.T) {
	for name, c := range map[string]struct {
		want offence
		tale func(*trial)
	}{
		"its file is gone for two seconds": {"", func(t *trial) {
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"its file is gone for half a second": {tooEarly, func(t *trial) {
			t.without("a").files(10)
			t.deletes(10.5, "a")
		}},
		"a file names it": {stillNamed, func(t *trial) {
			t.without("a").files(10)
			t.deletes(12, "b")
		}},
		"its file came back a second ago, which may not be known yet": {"", func(t *trial) {
			t.without("a").files(10)
			t.doc("a")
			t.files(13)
			t.deletes(14, "a")
		}},
		"its file came back four seconds ago": {stillNamed, func(t *trial) {
			t.without("a").files(10)
			t.doc("a")
			t.files(13)
			t.deletes(17, "a")
		}},
		"its file came back for three seconds, and is gone for half a second": {tooEarly, func(t *trial) {
			t.without("a").files(10)
			t.doc("a")
			t.files(20)
			t.without("a").files(23)
			t.deletes(23.5, "a")
		}},
		"its file came back for a moment that may have gone unseen": {"", func(t *trial) {
			t.without("a").files(10)
			t.doc("a")
			t.files(20)
			t.without("a").files(21)
			t.deletes(21.5, "a")
		}},
		"another file has a problem": {sourceDirty, func(t *trial) {
			t.without("a").files(10, dirty)
			t.deletes(14, "a")
		}},
		"another file had a problem until half a second ago": {tooEarly, func(t *trial) {
			t.without("a").files(10, dirty)
			t.files(14)
			t.deletes(14.5, "a")
		}},
		"a broken document names it": {sourceDirty, func(t *trial) {
			t.without("a").files(10, dirty, func(r *picture) { r.broken = map[plan.Key]bool{named("a"): true} })
			t.deletes(14, "a")
		}},
		"the directory is missing": {sourceMissing, func(t *trial) {
			t.files(10, missing)
			t.deletes(14, "a")
		}},
		"the directory was missing until half a second ago": {tooEarly, func(t *trial) {
			t.without("a").files(10, missing)
			t.files(14)
			t.deletes(14.5, "a")
		}},
		"the directory is empty": {sourceEmpty, func(t *trial) {
			t.files(10, empty)
			t.deletes(14, "a")
		}},
		"the directory is empty, and that is approved": {"", func(t *trial) {
			t.files(10, empty)
			t.approve(11, tenNames)
			t.deletes(14, "a")
		}},
		"the label has another source's name": {notOurs, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.source = "theirs" })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"the label was taken off": {notOurs, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.source, v.owned = "", false })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"somebody else put our label there": {notOurs, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.owned = false })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"it is to be kept": {keptDeleted, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.kept = true })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"it became one to be kept, and the request speaks of the version before": {"", func(t *trial) {
			t.without("a").files(10)
			r := t.deletes(12, "a")
			t.exists(11.9, "a", func(v *version) { v.kept = true })
			r.code = 409
		}},
		"it is suspended": {suspendedGone, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.suspended = true })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"it is being deleted": {twice, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.terminating = true })
			t.without("a").files(10)
			t.deletes(12, "a")
		}},
		"no version is asked for": {unguarded, func(t *trial) {
			t.without("a").files(10)
			t.deletes(12, "a").preconditionRV = ""
		}},
		"no uid is asked for": {unguarded, func(t *trial) {
			t.without("a").files(10)
			t.deletes(12, "a").preconditionUID = ""
		}},
		"the uid is another object's": {unguarded, func(t *trial) {
			t.without("a").files(10)
			t.deletes(12, "a").preconditionUID = "uid-b"
		}},
		"a namespace": {neverDeleted, func(t *trial) {
			t.asks(12, request{method: "DELETE", resource: "namespaces", key: plan.Key{Name: "ns"}})
		}},
		"the definition": {neverDeleted, func(t *trial) {
			t.asks(12, request{method: "DELETE", resource: "customresourcedefinitions", key: plan.Key{Name: v1.CRDName}})
		}},
		"all objects at once": {unguarded, func(t *trial) {
			t.without("a").files(10)
			t.asks(12, request{method: "DELETE", resource: v1.Resource, key: plan.Key{Namespace: "ns"}})
		}},
		"what the files add isn't there yet": {beforeNew, func(t *trial) {
			t.without("a").doc("k")
			t.files(10)
			t.deletes(14, "a")
		}},
		"what the files add is there": {"", func(t *trial) {
			t.without("a").doc("k")
			t.files(10)
			t.exists(11, "k", func(*version) {})
			t.deletes(14, "a")
		}},
		"what the files add is suspended": {"", func(t *trial) {
			t.without("a").doc("k").annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
			t.files(10)
			t.deletes(14, "a")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			trial := newTrial()
			c.tale(trial)
			if got := trial.verdict(); got != c.want {
				t.Errorf("the verdict is %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheWalksJudgeOfManyDeletions(t *testing.T) {
	for name, c := range map[string]struct {
		want offence
		tale func(*trial)
	}{
		"five of ten": {"", func(t *trial) {
			t.without("abcde").files(10)
			t.deletes(14, "a")
		}},
		"six of ten": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.deletes(14, "a")
		}},
		"six of ten, one of them a moment ago": {tooManyAtOnce, func(t *trial) {
			t.without("abcde").files(10)
			t.without("f").files(20)
			t.deletes(25, "a")
		}},
		"six of ten, one of them so late that it may not be known": {"", func(t *trial) {
			t.without("abcde").files(10)
			t.without("f").files(20)
			t.deletes(21, "a")
		}},
		"six of ten, and the news of all six comes soon": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.deletes(14, "a")
			for _, name := range "abcdef" {
				t.exists(14.2, string(name), func(v *version) { v.gone = true })
			}
		}},
		"two of two": {tooManyAtOnce, func(t *trial) {
			for _, name := range "cdefghij" {
				t.exists(1, string(name), func(v *version) { v.gone = true })
			}
			t.without(tenNames).doc("z").annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
			t.files(10)
			t.deletes(14, "a")
		}},
		"eleven of thirty": {tooManyAtOnce, func(t *trial) {
			for n := range 20 {
				t.exists(0, fmt.Sprint("more-", n), func(*version) {})
				t.doc(fmt.Sprint("more-", n))
			}
			delete(t.docs, named("more-0"))
			t.without(tenNames).files(10)
			t.deletes(14, "a")
		}},
		"ten of thirty": {"", func(t *trial) {
			for n := range 20 {
				t.exists(0, fmt.Sprint("more-", n), func(*version) {})
				t.doc(fmt.Sprint("more-", n))
			}
			t.without(tenNames).files(10)
			t.deletes(14, "a")
		}},
		"what is kept makes the share no smaller": {tooManyAtOnce, func(t *trial) {
			for _, name := range "ij" {
				t.exists(1, string(name), func(v *version) { v.kept = true })
			}
			t.without("abcdeij").files(10) // five of eight
			t.deletes(14, "a")
		}},
		"what isn't ours makes the share no smaller": {tooManyAtOnce, func(t *trial) {
			for _, name := range "ij" {
				t.exists(1, string(name), func(v *version) { v.source = "theirs" })
			}
			t.without("abcdeij").files(10) // five of eight
			t.deletes(14, "a")
		}},
		"what is being deleted already doesn't count": {"", func(t *trial) {
			t.exists(1, "b", func(v *version) { v.terminating = true })
			t.exists(1, "c", func(v *version) { v.terminating = true })
			t.without("abcdef").files(10) // four of eight
			t.deletes(14, "a")
		}},
		"six of ten, approved": {"", func(t *trial) {
			t.without("abcdef").files(10)
			t.approve(12, "abcdef")
			t.deletes(14, "a")
		}},
		"six of ten, approved, and some of them are gone": {"", func(t *trial) {
			t.without("abcdefg").files(10)
			t.approve(12, "abcdefg")
			t.exists(13, "b", func(v *version) { v.gone = true })
			t.deletes(14, "a")
		}},
		"approved later": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.deletes(14, "a")
			t.approve(15, "abcdef")
		}},
		"approved, and one more goes": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.approve(12, "abcdef")
			t.without("g").files(13)
			t.deletes(20, "a")
		}},
		"one is approved that isn't the one": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.approve(12, "bcdef")
			t.deletes(14, "a")
		}},
		"approved, and one of the set is named again": {tooManyAtOnce, func(t *trial) {
			t.without("abcdefg").files(10)
			t.approve(12, "abcdefg")
			t.doc("g")
			t.files(13)
			t.deletes(20, "a")
		}},
		"approved, and one of the set is kept now": {tooManyAtOnce, func(t *trial) {
			t.without("abcdefg").files(10)
			t.approve(12, "abcdefg")
			t.exists(13, "g", func(v *version) { v.kept = true })
			t.deletes(20, "a")
		}},
		"approved, but an earlier object of that name": {tooManyAtOnce, func(t *trial) {
			t.without("abcdef").files(10)
			t.approve(12, "abcdef").set[named("a")] = []types.UID{"uid-of-old"}
			t.deletes(14, "a")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			trial := newTrial()
			c.tale(trial)
			if got := trial.verdict(); got != c.want {
				t.Errorf("the verdict is %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheWalksJudgeOfWrites(t *testing.T) {
	patch := func(name, subresource string) request {
		return request{method: "PATCH", resource: v1.Resource, subresource: subresource, key: named(name), code: 200}
	}
	creation := func(name string) request {
		return request{method: "PATCH", resource: v1.Resource, key: named(name), code: 201}
	}
	child := func(method, name string) request {
		return request{method: method, resource: "configmaps", key: named(name + v1.ChildSuffix), code: 200}
	}
	suspend := map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	ours := func(*version) {}
	theirs := func(v *version) { v.strangers = true }
	for name, c := range map[string]struct {
		want offence
		tale func(*trial)
	}{
		"the spec of what a file names":        {"", func(t *trial) { t.asks(10, patch("a", "")) }},
		"the status of what a file names":      {"", func(t *trial) { t.asks(10, patch("a", "status")) }},
		"the creation of what a file names":    {"", func(t *trial) { t.doc("k"); t.files(5); t.asks(10, creation("k")) }},
		"the creation of what no file names":   {notItsAffair, func(t *trial) { t.asks(10, creation("k")) }},
		"the creation of what a file suspends": {notItsAffair, func(t *trial) { t.doc("k").annotations = suspend; t.files(5); t.asks(10, creation("k")) }},
		"a refused write": {"", func(t *trial) {
			t.asks(10, request{method: "PATCH", resource: v1.Resource, key: named("k"), code: 403})
		}},
		"the spec of what no file names":   {notItsAffair, func(t *trial) { t.without("a").files(1); t.asks(10, patch("a", "")) }},
		"the status of what no file names": {"", func(t *trial) { t.without("a").files(1); t.asks(10, patch("a", "status")) }},
		"what is suspended": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.suspended = true })
			t.asks(10, patch("a", "status"))
		}},
		"what was suspended a moment ago": {"", func(t *trial) {
			t.exists(9, "a", func(v *version) { v.suspended = true })
			t.asks(10, patch("a", "status"))
		}},
		"what its file suspends": {notItsAffair, func(t *trial) { t.doc("a").annotations = suspend; t.files(1); t.asks(10, patch("a", "")) }},
		"the ConfigMap of what its file suspends": {notItsAffair, func(t *trial) {
			t.doc("a").annotations = suspend
			t.files(1)
			t.asks(10, child("POST", "a"))
		}},
		"another source's": {notItsAffair, func(t *trial) { t.exists(1, "a", func(v *version) { v.source = "theirs" }); t.asks(10, patch("a", "")) }},
		"another source's status": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.source = "theirs" })
			t.asks(10, patch("a", "status"))
		}},
		"the spec of what is being deleted": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.terminating = true })
			t.asks(10, patch("a", ""))
		}},
		"the finalizer of what is being deleted": {"", func(t *trial) {
			t.exists(1, "a", func(v *version) { v.terminating, v.cleanup = true, true })
			t.asks(10, patch("a", ""))
		}},
		"the ConfigMap of an object":          {"", func(t *trial) { t.configMap(ours); t.asks(10, child("PATCH", "a")) }},
		"a new ConfigMap of an object":        {"", func(t *trial) { t.asks(10, child("POST", "a")) }},
		"a stranger's ConfigMap of that name": {notItsAffair, func(t *trial) { t.configMap(theirs); t.asks(10, child("PATCH", "a")) }},
		"a stranger's ConfigMap, deleted":     {notItsAffair, func(t *trial) { t.configMap(theirs); t.asks(10, child("DELETE", "a")) }},
		"the ConfigMap of another source's": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.source = "theirs" })
			t.asks(10, child("POST", "a"))
		}},
		"the ConfigMap of what is suspended": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.suspended = true })
			t.asks(10, child("POST", "a"))
		}},
		"the ConfigMap of nothing": {notItsAffair, func(t *trial) { t.asks(10, child("POST", "k")) }},
		"a ConfigMap of another name": {notItsAffair, func(t *trial) {
			t.asks(10, request{method: "POST", resource: "configmaps", key: named("a"), code: 201})
		}},
		"a new ConfigMap of what is deleted": {notItsAffair, func(t *trial) {
			t.exists(1, "a", func(v *version) { v.terminating, v.cleanup = true, true })
			t.asks(10, child("POST", "a"))
		}},
		"a namespace that a file names": {"", func(t *trial) {
			t.asks(10, request{method: "POST", resource: "namespaces", key: plan.Key{Name: "ns"}, code: 201})
		}},
		"a namespace that no file names": {notItsAffair, func(t *trial) {
			t.asks(10, request{method: "POST", resource: "namespaces", key: plan.Key{Name: "other"}, code: 201})
		}},
		"a kind that is none of ours":          {notItsAffair, func(t *trial) { t.asks(10, request{method: "PATCH", resource: "secrets", key: named("a"), code: 200}) }},
		"a creation while six of ten are held": {createdHeld, func(t *trial) { t.doc("k"); t.without("abcdef").files(1); t.asks(10, creation("k")) }},
		"a creation once six of ten are approved": {"", func(t *trial) {
			t.doc("k")
			t.without("abcdef").files(1)
			t.approve(5, "abcdef")
			t.asks(10, creation("k"))
		}},
		"a creation while five of ten are due": {"", func(t *trial) { t.doc("k"); t.without("abcde").files(1); t.asks(10, creation("k")) }},
	} {
		t.Run(name, func(t *testing.T) {
			trial := newTrial()
			c.tale(trial)
			if got := trial.verdict(); got != c.want {
				t.Errorf("the verdict is %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheWalksJudgeFindsATouchedStranger(t *testing.T) {
	trial := newTrial()
	theirs := func(v *version) { v.strangers = true }
	trial.configMap(theirs)
	if crimes := trial.strangersTouched(); crimes != nil {
		t.Errorf("untouched: %v", crimes)
	}
	trial.configMap(theirs) // another version of the same
	if crimes := trial.strangersTouched(); len(crimes) != 1 {
		t.Errorf("touched: %v", crimes)
	}
}
