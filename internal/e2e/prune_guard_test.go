package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/report"
)

// How many of how many may go is counted over what the source owns: what else is
// there makes the share no smaller.
func TestManyDeletionsAtOnceAreHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all, gone int
		prepare   func(l *lab)
		leave     func(l *lab, names []string)
		says      string // "" where they go
	}{
		"1 of 1":   {all: 1, gone: 1, says: "1 object would be deleted, and that is all that this source owns"},
		"2 of 2":   {all: 2, gone: 2, says: "2 objects would be deleted, and that is all that this source owns"},
		"3 of 3":   {all: 3, gone: 3, says: "3 objects would be deleted, and that is all that this source owns"},
		"8 of 10":  {all: 10, gone: 8, says: "8 of 10 objects would be deleted, more than half"},
		"3 of 5":   {all: 5, gone: 3, says: "3 of 5 objects would be deleted, more than half"},
		"11 of 30": {all: 30, gone: 11, says: "11 of 30 objects would be deleted, more than 30 %"},
		"3 of 6":   {all: 6, gone: 3},
		"2 of 3":   {all: 3, gone: 2},
		"1 of 10":  {all: 10, gone: 1},
		"8 of 10, with 5 of others": {all: 10, gone: 8, prepare: (*lab).othersObjects,
			says: "8 of 10 objects would be deleted, more than half"},
		"8 of 10, given another ending": {all: 10, gone: 8, leave: func(l *lab, names []string) {
			for _, name := range names {
				path := filepath.Join(l.source, name+".yaml")
				l.must(os.Rename(path, path+".BAK"))
			}
		}, says: "8 of 10 objects would be deleted, more than half"},
		"8 of 10, emptied of all but a comment": {all: 10, gone: 8, leave: func(l *lab, names []string) {
			for _, name := range names {
				l.write(map[string]string{name + ".yaml": "# nothing\n"})
			}
		}, says: "8 of 10 objects would be deleted, more than half"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			all := numbered("web", c.all)
			l.writeServices("nginx:1.27", all...)
			l.write(map[string]string{"README": "so that a directory without objects isn't an empty one", "other.yaml": otherKind})
			l.onceOK()
			if c.prepare != nil {
				c.prepare(l)
			}
			before, mark := l.states(), l.mark()
			d := l.prunes(l.alsoByHand()...)
			d.reports(convergeLimit, listed(stays(), all...))
			gone := all[c.all-c.gone:]
			if c.leave != nil {
				c.leave(l, gone)
			} else {
				l.withdraw(gone...)
			}
			if c.says == "" {
				l.allGone(gone...)
				d.converges(nothingHeld)
				l.wantDeleted(mark, gone...)
				return
			}
			d.scanned(3, held(gone, c.says), approvable, noWrites, waitsFor("approve"))
			l.wantUntouched(mark)
			for _, name := range gone {
				if now := l.states()["webservices/"+name]; now != before["webservices/"+name] {
					t.Errorf("%s was written: %s", name, now)
				}
			}
		})
	}
}

const otherKind = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n"

// othersObjects are five WebServices that other hands and another source made.
func (l *lab) othersObjects() {
	l.Helper()
	for n, labels := range []map[string]string{
		nil, {v1.ManagedByLabel: v1.Manager}, {v1.SourceLabel: l.name}, {v1.SourceLabel: "team-b"}, {v1.SourceLabel: "team-c"},
	} {
		l.create(webservices(), handmade(fmt.Sprintf("other-%d", n), "nginx:1.27", labels))
	}
}

// The hold is lifted by files that come back just as well as by a person's word.
func TestAHoldEndsWhenTheFilesAreBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 9)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes()
	d.converges()
	before, mark := l.states(), l.mark()
	l.withdraw(all[3:]...)
	first := d.reports(convergeLimit, held(all[3:]), approvable)

	// With one back it is another set, and with another one gone a third.
	l.writeServices("nginx:1.27", all[3])
	second := d.reports(convergeLimit, held(all[4:], "5 of 9"), digestNot(first))
	l.withdraw(all[2])
	third := d.reports(convergeLimit, held(slices.Concat(all[2:3], all[4:]), "6 of 9"), digestNot(first), digestNot(second))
	l.writeServices("nginx:1.27", all[2:]...)
	d.converges(nothingHeld, items(all...))
	l.equal(before, l.states())

	// The same set once more has the same name.
	l.withdraw(all[3:]...)
	again := d.reports(convergeLimit, held(all[3:]), approvable)
	if again.HeldDigest != first.HeldDigest || again.HeldDigest == third.HeldDigest {
		t.Errorf("digest %s, was %s", again.HeldDigest, first.HeldDigest)
	}
	l.wantUntouched(mark)
}

// digestNot is true once what is held has another name than in r.
func digestNot(r *report.Report) fits {
	return func(now *report.Report) error {
		if now.HeldDigest == r.HeldDigest {
			return fmt.Errorf("the digest is still %s", now.HeldDigest)
		}
		return approvable(now)
	}
}

// loss is a way in which a directory loses what it has without anybody wanting
// objects to go.
type loss struct {
	do func(l *lab, names []string)
	// problems: the source can be read, and has some.
	problems bool
	// approvable: a person may say that it is meant.
	approvable bool
	// code is how once ends, on the first look at a source in this state.
	code int
	// waits are parts of what the report waits for, and reasons parts of why an
	// object is held where nobody remembers that files named it.
	waits, reasons []string
	// never: a process that starts after it has never read the source.
	never  bool
	nobody bool // run as a user whom modes bind
}

func losses() map[string]loss {
	const all = "3 objects would be deleted, and that is all that this source owns"
	each := func(text string) func(l *lab, names []string) {
		return func(l *lab, names []string) {
			for _, name := range names {
				l.write(map[string]string{name + ".yaml": text})
			}
		}
	}
	return map[string]loss{
		"emptied": {do: func(l *lab, names []string) { l.withdraw(names...) }, approvable: true, code: 5,
			waits: []string{"holds no WebService"}, reasons: []string{all}},
		"an empty directory mounted over it": {do: func(l *lab, _ []string) {
			l.must(os.Rename(l.source, l.source+".under"))
			l.must(os.Mkdir(l.source, 0o755))
		}, approvable: true, code: 5, waits: []string{"holds no WebService"}, reasons: []string{all}},
		"unmounted": {do: func(l *lab, _ []string) { l.must(os.Rename(l.source, l.source+".away")) }, code: 5,
			waits: []string{"files doesn't exist"}, never: true},
		"a link that leads nowhere": {do: func(l *lab, _ []string) {
			l.must(os.Rename(l.source, l.source+".away"))
			l.must(os.Symlink("nowhere", l.source))
		}, code: 5, waits: []string{"is a link to something that doesn't exist"}, never: true},
		"every file garbage": {do: each("{[}\n"), problems: true, code: 3,
			waits: []string{"3 problems in the source to be mended", "web-00.yaml"}, reasons: []string{all, "problem"}},
		"every file of another kind by a slip": {do: func(l *lab, names []string) {
			for _, name := range names {
				l.write(map[string]string{name + ".yaml": strings.Replace(service(name, "nginx:1.27"), "kind: WebService", "kind: Webservice", 1)})
			}
		}, problems: true, code: 3, waits: []string{"3 problems in the source to be mended", "web-00.yaml"}},
		"every file of no bytes": {do: each(""), problems: true, code: 3,
			waits: []string{"3 problems in the source to be mended", "web-00.yaml"}, reasons: []string{all, "problem"}},
		"every file may not be read": {do: func(l *lab, names []string) {
			for _, name := range names {
				l.must(os.Chmod(filepath.Join(l.source, name+".yaml"), 0))
			}
		}, nobody: true, problems: true, code: 3, waits: []string{"3 problems in the source to be mended", "permission denied"}, reasons: []string{all, "problem"}},
		"the directory may not be read": {do: func(l *lab, _ []string) { l.must(os.Chmod(l.source, 0)) },
			nobody: true, code: 5, waits: []string{"files can't be read", "permission denied"}, never: true},
	}
}

// A daemon that has seen the files before the loss deletes nothing.
func TestALossIsntADeletion(t *testing.T) {
	t.Parallel()
	for name, c := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, all := c.lab(t)
			d := l.prunes()
			d.converges(items(all...))
			before, mark := l.states(), l.mark()
			c.do(l, all)
			d.reports(convergeLimit, append(c.fits(), listed(undeleted, all...))...)
			if c.approvable {
				d.scanned(3, append(c.fits(), held(all, c.reasons...), approvable, noWrites)...)
			} else {
				d.scanned(4, append(c.fits(), unapprovable, noWrites)...)
			}
			l.equal(before, l.states())
			l.wantUntouched(mark)
			if !c.approvable {
				l.endsWith(l.approve(strings.Repeat("0", 64)), 1)
			}
			l.must(l.restore(all))
			d.converges(items(all...), nothingHeld)
			l.equal(before, l.states())
		})
	}
}

// Nor does one that starts after it, on another machine, where nothing but the
// cluster says what there was; nor does once, and however often they start.
func TestALossBeforeTheStartIsntADeletionEither(t *testing.T) {
	t.Parallel()
	for name, c := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, all := c.lab(t)
			l.onceOK()
			before, mark := l.states(), l.mark()
			c.do(l, all)
			l.elsewhere()
			ended := l.once(pruning()...)
			l.endsWith(ended, c.code, c.waits...)
			t.Log(ended.errorLines())
			l.holds(l.lastReport(), c.fits()...)
			for range 2 {
				d := l.prunes()
				why := append(c.fits(), noWrites, listed(undeleted, all...))
				if c.reasons != nil {
					why = append(why, held(all, c.reasons...))
				}
				if c.approvable {
					why = append(why, approvable)
				} else {
					why = append(why, unapprovable)
				}
				if c.never {
					why = append(why, listed(stays("the source hasn't been read whole yet"), all...))
				}
				d.scanned(3, why...)
				d.stop()
				l.elsewhere()
			}
			l.equal(before, l.states())
			l.wantUntouched(mark)
			l.must(l.restore(all))
			l.prunes().converges(items(all...), nothingHeld)
			l.equal(before, l.states())
		})
	}
}

func (c *loss) lab(t *testing.T) (*lab, []string) {
	t.Helper()
	l := newLab(t)
	if c.nobody {
		l.asNobody()
	}
	all := numbered("web", 3)
	l.writeServices("nginx:1.27", all...)
	return l, all
}

// fits is what every report after the loss says.
func (c *loss) fits() []fits {
	return []fits{unconverged, settled, waitsFor(c.waits...), func(r *report.Report) error {
		if c.problems != (len(r.Problems) > 0) || c.problems && !r.Source.Complete {
			return fmt.Errorf("complete %t, problems %+v", r.Source.Complete, r.Problems)
		}
		return nil
	}}
}

// undeleted is true of every item but one that was deleted.
func undeleted(i report.Item) bool { return i.Action != report.ActionDelete && !failing(i) }

// elsewhere gives the lab an out directory that no process has seen.
func (l *lab) elsewhere() {
	l.Helper()
	l.out = filepath.Join(l.TempDir(), "out")
	if l.user != nil {
		l.must(os.Mkdir(l.out, 0o755))
		l.must(os.Chown(l.out, int(l.user.Uid), int(l.user.Gid)))
		l.must(os.Chmod(filepath.Dir(l.out), 0o755))
		l.must(os.Chmod(filepath.Dir(filepath.Dir(l.out)), 0o755))
	}
}

// restore makes the directory what it was.
func (l *lab) restore(names []string) error {
	if err := os.RemoveAll(l.source); err != nil {
		return err
	}
	if err := os.Mkdir(l.source, 0o755); err != nil {
		return err
	}
	l.writeServices("nginx:1.27", names...)
	return nil
}
