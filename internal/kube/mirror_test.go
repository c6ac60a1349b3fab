package kube

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"labhub.io/webservice-controller/internal/plan"
)

// mirrored is a mirror of ConfigMaps, and what it has said.
type mirrored struct {
	*mirror[plan.Child]
	feeds map[string]*feed[plan.Child]

	mu       sync.Mutex
	told     []string
	caughtUp int
	listings int
}

// newMirrored has one feed for everything, or one each for these namespaces.
func newMirrored(namespaces ...string) *mirrored {
	m := &mirrored{feeds: map[string]*feed[plan.Child]{}}
	m.mirror = newMirror(toChild,
		func(k plan.Key) { m.note(func() { m.told = append(m.told, k.Name) }) },
		func() { m.note(func() { m.caughtUp++ }) },
		func() { m.note(func() { m.listings++ }) })
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, n := range namespaces {
		m.feeds[n] = m.newFeed(namespaceScope(n).has)
	}
	return m
}

func (m *mirrored) note(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// news are the names that were told since the last call.
func (m *mirrored) news() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	told := strings.Join(m.told, " ")
	m.told = nil
	return told
}

// object is what "name/uid@version" stands for, in the namespace lab.
func object(s string) *corev1.ConfigMap {
	name, rest, _ := strings.Cut(s, "/")
	uid, version, _ := strings.Cut(rest, "@")
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func keyNamed(name string) plan.Key { return plan.Key{Namespace: "lab", Name: name} }

// play does what a line of a script says, such as "told a/u1@5".
func (m *mirrored) play(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	f := m.feeds[""]
	var err error
	switch arg := words[1]; words[0] {
	case "wrote": // the answer to a write of ours
		_, err = m.wrote(keyNamed(object(arg).Name), object(arg))
	case "deleted": // the answer to a deletion of ours
		m.deleted(keyNamed(object(arg).Name), object(arg).UID)
	case "told": // an event of the watch
		err = f.Update(object(arg))
	case "ended": // a delete event of the watch
		err = f.Delete(object(arg))
	case "bookmark":
		err = f.Bookmark(arg)
	case "listed": // a whole list at a version
		var list []any
		for _, o := range words[2:] {
			list = append(list, object(o))
		}
		err = f.Replace(list, arg)
	case "reset":
		f.reset()
	default:
		t.Fatalf("no such line: %s", line)
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// seen is what a Look at the name sees: "-" is nothing, and a star says that the
// watch hasn't told of it yet.
func (m *mirrored) seen(name string) string {
	child, fresh := m.get(keyNamed(name))
	s := "-"
	if child.Exists() {
		s = string(child.UID) + "@" + child.ResourceVersion
	}
	if !fresh {
		s += "*"
	}
	return s
}

// TestMirror: each row plays a script on a mirror in which a/u1@5 was listed at
// version 10, and says what is seen of a after it and who was told of news.
func TestMirror(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		script []string
		seen   string
		news   string
	}{
		{"nothing", nil, "u1@5", ""},
		{"somebody else's write is news", []string{"told a/u1@11"}, "u1@11", "a"},
		{"a write of ours is seen at once", []string{"wrote a/u1@11"}, "u1@11*", ""},
		{"its echo is no news", []string{"wrote a/u1@11", "told a/u1@11"}, "u1@11", ""},
		{"an event from before it doesn't undo it", []string{"wrote a/u1@12", "told a/u1@11"}, "u1@12*", ""},
		{"nor does it the echo", []string{"wrote a/u1@12", "told a/u1@11", "told a/u1@12"}, "u1@12", ""},
		{"somebody else's write after it is news", []string{"wrote a/u1@11", "told a/u1@12"}, "u1@12", "a"},
		{"two writes, and the echo of the first", []string{"wrote a/u1@11", "wrote a/u1@12", "told a/u1@11"}, "u1@12*", ""},
		{"the answer comes after the echo", []string{"told a/u1@11", "wrote a/u1@11"}, "u1@11", "a"},
		{"the answer comes after somebody else's later write", []string{"told a/u1@12", "wrote a/u1@11"}, "u1@12", "a"},
		{"the answer comes after the watch has passed it", []string{"told b/u9@13", "wrote a/u1@11"}, "u1@5", "b"},
		{"the answer to a write that changed nothing", []string{"wrote a/u1@5"}, "u1@5", ""},
		{"a write to what somebody else deletes then", []string{"wrote a/u1@11", "ended a/u1@12"}, "-", "a"},
		{"somebody else's deletion", []string{"ended a/u1@11"}, "-", "a"},
		{"a deletion of ours is seen at once", []string{"deleted a/u1"}, "-*", ""},
		{"its event is no news", []string{"deleted a/u1", "ended a/u1@11"}, "-", ""},
		{"its event came first", []string{"ended a/u1@11", "deleted a/u1"}, "-", "a"},
		{"an event from before it doesn't undo it", []string{"told a/u1@8", "deleted a/u1", "told a/u1@8"}, "-*", "a"},
		{"a finalizer keeps what we deleted", []string{"deleted a/u1", "told a/u1@11"}, "u1@11", "a"},
		{"we make it anew, then both events", []string{"deleted a/u1", "wrote a/u2@12", "ended a/u1@11", "told a/u2@12"}, "u2@12", ""},
		{"we make it anew, then the first event", []string{"deleted a/u1", "wrote a/u2@12", "ended a/u1@11"}, "u2@12*", ""},
		{"somebody else makes it anew", []string{"deleted a/u1", "ended a/u1@11", "told a/u2@12"}, "u2@12", "a"},
		{"somebody else had made it anew before we deleted", []string{"told a/u2@12", "deleted a/u1"}, "u2@12", "a"},
		{"made anew, and a list tells only that", []string{"deleted a/u1", "listed 20 a/u2@15"}, "u2@15", "a"},
		{"a list no longer has it", []string{"listed 20"}, "-", "a"},
		{"a list no longer has what we deleted", []string{"deleted a/u1", "listed 20"}, "-", ""},
		{"a list from before our write", []string{"wrote a/u1@21", "listed 20 a/u1@5"}, "u1@21*", ""},
		{"a list from after our write", []string{"wrote a/u1@11", "listed 20 a/u1@11"}, "u1@11", ""},
		{"a list has what somebody else wrote", []string{"listed 20 a/u1@15"}, "u1@15", "a"},
		{"a list without what we wrote", []string{"wrote a/u1@11", "listed 20"}, "-", "a"},
		{"a list that was passed without what we wrote", []string{"wrote a/u1@21", "listed 20"}, "u1@21*", ""},
		{"what we wrote leaves the watch", []string{"wrote a/u1@11", "bookmark 10"}, "u1@11*", ""},
		{"and the watch passes it by a bookmark", []string{"ended a/u1@11", "wrote a/u1@12", "bookmark 13"}, "-", "a a"},
		{"and the watch passes it by another event", []string{"ended a/u1@11", "wrote a/u1@12", "told b/u9@13"}, "-", "a a b"},
		{"it left the watch before we brought it back", []string{"wrote a/u1@12", "ended a/u1@11"}, "u1@12*", ""},
		{"and the watch tells that we did", []string{"wrote a/u1@12", "ended a/u1@11", "told a/u1@12"}, "u1@12", ""},
		{"made and deleted between two lists", []string{"ended a/u1@11", "wrote a/u2@12", "deleted a/u2", "listed 20"}, "-", "a"},
		{"the resource itself goes", []string{"wrote b/u9@11", "reset all"}, "-", "a b"},
		{"versions that can't be compared: the last word counts", []string{"wrote a/u1@x", "told a/u1@y"}, "u1@y", "a"},
		{"versions that can't be compared: the echo", []string{"wrote a/u1@x", "told a/u1@x"}, "u1@x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored()
			m.play(t, "listed 10 a/u1@5")
			m.news()
			for _, line := range c.script {
				m.play(t, line)
			}
			if got := m.seen("a"); got != c.seen {
				t.Errorf("seen %s, want %s", got, c.seen)
			}
			if got := m.news(); got != c.news {
				t.Errorf("news of %q, want of %q", got, c.news)
			}
			if wanted := strings.HasSuffix(c.seen, "*"); (m.pending() > 0) != wanted {
				t.Errorf("%d writes pending", m.pending())
			}
		})
	}
}

// TestEndOfTheUnknown: an object whose last state a watch has missed has ended
// all the same.
func TestEndOfTheUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  any
		ok   bool
		seen string
		news string
	}{
		{"with its last state", cache.DeletedFinalStateUnknown{Key: "lab/a", Obj: object("a/u1@5")}, true, "-", "a"},
		{"with an older state", cache.DeletedFinalStateUnknown{Key: "lab/a", Obj: object("a/u1@3")}, true, "-", "a"},
		{"without any", cache.DeletedFinalStateUnknown{Key: "lab/a"}, true, "-", "a"},
		{"never heard of, without any", cache.DeletedFinalStateUnknown{Key: "lab/z"}, true, "u1@5", "z"},
		{"with a key that is none", cache.DeletedFinalStateUnknown{Key: "a/b/c"}, false, "u1@5", ""},
		{"nothing at all", nil, false, "u1@5", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored()
			m.play(t, "listed 10 a/u1@5")
			m.news()
			m.play(t, "wrote b/u9@11")
			if err := m.feeds[""].Delete(c.end); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
			if got := m.seen("a"); got != c.seen {
				t.Errorf("seen %s, want %s", got, c.seen)
			}
			if got := m.news(); got != c.news {
				t.Errorf("news of %q, want of %q", got, c.news)
			}
			if m.seen("b") != "u9@11*" {
				t.Error("another object's overlay is gone")
			}
		})
	}
}

// TestScopes: two feeds share a mirror, and each speaks for its namespace only.
func TestScopes(t *testing.T) {
	t.Parallel()
	m := newMirrored("lab", "other")
	elsewhere := object("b/u2@6")
	elsewhere.Namespace = "other"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.feeds["lab"].Replace([]any{object("a/u1@5")}, "10"))
	if m.ready() || m.listings != 1 {
		t.Error("ready before the other namespace was listed")
	}
	must(m.feeds["other"].Replace([]any{elsewhere}, "10"))
	if !m.ready() || m.listings != 2 {
		t.Error("not ready though both were listed")
	}
	_, err := m.wrote(keyNamed("a"), object("a/u1@12"))
	must(err)
	must(m.feeds["other"].Bookmark("20"))
	if got := m.seen("a"); got != "u1@12*" {
		t.Errorf("another namespace's watch ended the overlay: %s", got)
	}
	must(m.feeds["other"].Replace(nil, "21"))
	if got := m.seen("a"); got != "u1@12*" || m.news() != "a b b" {
		t.Errorf("another namespace's list took it away: %s", got)
	}
	must(m.feeds["lab"].Update(object("a/u1@12")))
	if m.pending() != 0 || m.news() != "" {
		t.Error("the echo is news, or the overlay stays")
	}
}

// TestAll goes over what is live, our own writes included.
func TestAll(t *testing.T) {
	t.Parallel()
	m := newMirrored()
	for _, line := range []string{"listed 10 a/u1@5 b/u2@6 c/u3@7", "wrote b/u2@11", "deleted c/u3", "wrote d/u4@12"} {
		m.play(t, line)
	}
	var got []string
	for key, child := range m.all() {
		got = append(got, fmt.Sprintf("%s@%s", key.Name, child.ResourceVersion))
	}
	slices.Sort(got)
	if want := []string{"a@5", "b@11", "d@12"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for range m.all() {
		break // the lock must be let go of
	}
	m.play(t, "told a/u1@13")
}

// TestCaughtUp is told when the last own write has come back, and not before.
func TestCaughtUp(t *testing.T) {
	t.Parallel()
	m := newMirrored()
	m.play(t, "listed 10 a/u1@5 b/u2@6")
	m.play(t, "wrote a/u1@11")
	m.play(t, "wrote b/u2@12")
	m.caughtUp = 0
	m.play(t, "told a/u1@11")
	if m.caughtUp != 0 {
		t.Error("caught up while the write to b is still to come back")
	}
	m.play(t, "told b/u2@12")
	if m.caughtUp != 1 {
		t.Errorf("caught up %d times", m.caughtUp)
	}
}

// TestBroken: what isn't an object is an error and changes nothing.
func TestBroken(t *testing.T) {
	t.Parallel()
	m := newMirrored()
	m.play(t, "listed 10 a/u1@5")
	f := m.feeds[""]
	if f.Add("text") == nil || f.Update(&corev1.Secret{}) == nil || f.Delete("text") == nil ||
		f.Replace([]any{object("b/u2@6"), "text"}, "20") == nil {
		t.Error("no error")
	}
	if _, err := m.wrote(keyNamed("a"), "text"); err == nil {
		t.Error("no error of a write")
	}
	if got := m.seen("a"); got != "u1@5" || f.Resync() != nil {
		t.Errorf("seen %s", got)
	}
}
