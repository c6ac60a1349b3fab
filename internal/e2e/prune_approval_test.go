package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

// The line that the report prints is typed in a terminal that stands in another
// directory, where no path may be taken for a part of another word.
func TestTheCommandInTheReportWorksAsPrinted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.out = filepath.Join(l.home, "it's $HOME out")
	all := numbered("web", 10)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.must(os.Rename(l.source, l.source+".away"))
	l.must(os.Mkdir(l.source, 0o755))
	r := d.reports(convergeLimit, held(all, "10 objects"), approvable, waitsFor("holds no WebService"))
	t.Logf("waiting for %s; %s: %s", r.WaitingFor, r.Held[0].Reason, r.HeldCommand)
	d.scanned(3, held(all, "10 objects"), approvable, noWrites)
	l.wantUntouched(mark)

	done := l.shell(r.HeldCommand)
	if done.code != 0 || done.stderr != "" && strings.Contains(done.stderr, "error") {
		t.Fatalf("%s: exit code %d\n%s%s", r.HeldCommand, done.code, done.stdout, done.stderr)
	}
	t.Logf("it says: %s", strings.TrimSpace(done.stdout))
	l.allGone(all...)
	d.reports(convergeLimit, nothingHeld, items(), unconverged, waitsFor("holds no WebService"))
	l.wantDeleted(mark, all...)
}

// One word approves one set once.
func TestAnApprovalIsForOneSetOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 8)
	l.writeServices("nginx:1.27", all...)
	d := l.prunes()
	d.converges()
	mark := l.mark()
	l.endsWith(l.approve(strings.Repeat("0", 64)), 1, "nothing is held")

	gone := all[3:]
	l.withdraw(gone...)
	first := d.reports(convergeLimit, held(gone, "5 of 8 objects"), approvable)

	// What isn't the digest of what is held now is refused, and the right one named.
	l.endsWith(l.approve(strings.Repeat("0", 64)), 1, first.HeldDigest)
	for _, digest := range []string{first.HeldDigest[:12], first.HeldDigest + "0", strings.ToUpper(first.HeldDigest), "yes", "../" + first.HeldDigest} {
		l.endsWith(l.approve(digest), 64, "isn't a digest")
	}
	l.endsWith(l.exec("approve", "--out="+l.out), 64)
	l.withdraw(all[2])
	second := d.reports(convergeLimit, held(all[2:], "6 of 8 objects"), digestNot(first))
	l.endsWith(l.approve(first.HeldDigest), 1, second.HeldDigest)
	d.scanned(2, held(all[2:]), noWrites)
	l.wantUntouched(mark)

	// Twice is as good as once, also where nobody has taken note in between.
	d.stop()
	l.approveOK(second)
	l.approveOK(second)
	if files := l.approvals(); !slices.Equal(files, []string{second.HeldDigest}) {
		t.Errorf("approvals %q", files)
	}
	d = l.prunes()
	d.converges(items(all[:2]...), nothingHeld)
	l.allGone(all[2:]...)
	l.wantDeleted(mark, all[2:]...)
	if files := l.approvals(); len(files) > 0 {
		t.Errorf("left are the approvals %q", files)
	}
	l.endsWith(l.approve(second.HeldDigest), 1, "nothing is held")

	// The same names again are other objects, and need another word.
	l.writeServices("nginx:1.27", all...)
	d.converges(items(all...))
	mark = l.mark()
	l.withdraw(all[2:]...)
	third := d.reports(convergeLimit, held(all[2:], "6 of 8 objects"), digestNot(second))
	l.endsWith(l.approve(second.HeldDigest), 1, third.HeldDigest)
	d.scanned(3, held(all[2:]), noWrites)
	l.wantUntouched(mark)
}

func (l *lab) approvals() []string {
	l.Helper()
	entries, err := os.ReadDir(filepath.Join(l.out, "approvals"))
	if !errors.Is(err, os.ErrNotExist) {
		l.must(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The same objects gone twice: the word for the first time isn't one for the second.
func TestAnApprovalThatTheFilesOvertakeIsVoid(t *testing.T) {
	t.Parallel()
	for name, overtake := range map[string]func(l *lab, d *daemon, all []string){
		"all are back": func(l *lab, d *daemon, all []string) {
			l.writeServices("nginx:1.27", all[2:]...)
			d.converges(items(all...), nothingHeld)
			l.withdraw(all[2:]...)
		},
		"one is back": func(l *lab, d *daemon, all []string) {
			l.writeServices("nginx:1.27", all[2])
			d.reports(convergeLimit, held(all[3:], "5 of 8 objects"))
			l.withdraw(all[2])
		},
		"one more is gone": func(l *lab, d *daemon, all []string) {
			l.withdraw(all[1])
			d.reports(convergeLimit, held(all[1:], "7 of 8 objects"))
			l.writeServices("nginx:1.27", all[1])
		},
		"one is kept": func(l *lab, d *daemon, all []string) {
			l.edit(webservices(), all[2], `{"metadata": {"annotations": {"webservice.labhub.io/prune": "disabled"}}}`)
			d.reports(convergeLimit, held(all[3:], "5 of 7 objects"))
			l.edit(webservices(), all[2], `{"metadata": {"annotations": null}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			all := numbered("web", 8)
			l.writeServices("nginx:1.27", all...)
			// So long that no deletion comes in between.
			d := l.run(everySecond, "--prune-after=1h")
			d.converges()
			mark := l.mark()
			l.withdraw(all[2:]...)
			r := d.reports(convergeLimit, held(all[2:], "6 of 8 objects"), approvable)
			l.approveOK(r)
			d.reports(convergeLimit, nothingHeld, listed(waitsBecause("its file is gone"), all[2:]...))
			overtake(l, d, all)
			d.reports(convergeLimit, held(all[2:], "6 of 8 objects"), approvable)
			d.stop()

			// Nor is there a file from which a restart would take the word.
			d = l.prunes()
			d.reports(convergeLimit, held(all[2:], "6 of 8 objects"), approvable)
			d.scanned(4, held(all[2:], "6 of 8 objects"), approvable, noWrites)
			l.wantUntouched(mark)
			if name == "one is kept" {
				return // its own writes are no writes of the controller
			}
			l.approveOK(r)
			l.allGone(all[2:]...)
			d.converges(items(all[:2]...), nothingHeld)
			l.wantDeleted(mark, all[2:]...)
		})
	}
}

// An approval isn't the last word: the files still must be gone for long enough,
// and mended ones count at once.
func TestAnApprovalDoesntCutTheTimeShort(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := numbered("web", 4)
	l.writeServices("nginx:1.27", all...)
	d := l.run(everySecond, "--prune-after=1h")
	d.converges()
	mark := l.mark()
	l.withdraw(all[1:]...)
	r := d.reports(convergeLimit, held(all[1:], "3 of 4 objects"), approvable)
	l.approveOK(r)
	d.reports(convergeLimit, nothingHeld, listed(waitsBecause("its file is gone"), all[1:]...))

	// A problem holds what is approved as well, and no further word helps.
	l.write(map[string]string{"broken.yaml": "{[}\n"})
	d.reports(convergeLimit, held(all[1:], "problem"), unapprovable)
	d.scanned(2, held(all[1:], "problem"), unapprovable, noWrites)
	l.must(os.Remove(filepath.Join(l.source, "broken.yaml")))
	l.writeServices("nginx:1.27", all...)
	d.converges(items(all...), func(r *report.Report) error { return nothingHeld(r) })
	l.wantUntouched(mark)
}
