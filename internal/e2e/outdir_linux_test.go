package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// Where the report can't be written, the work goes on, the old report stays as it
// was, with nothing beside it, and the log says so once. It is written again as soon
// as it can be.
func TestTheReportStaysWhereANewOneCantBeWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(d *daemon) error
		mend  func(d *daemon) error
		says  string
		// nobody: modes don't bind root.
		nobody bool
	}{
		"the directory is read-only": {
			func(d *daemon) error { return os.Chmod(d.out, 0o555) },
			func(d *daemon) error { return os.Chmod(d.out, 0o755) }, "permission denied", true,
		},
		// A limit on the size of files stands in for the disk: both fail in the middle of a
		// write. `internal/report` has what a full disk itself says.
		"there is no room": {
			func(d *daemon) error { return d.limitFiles(100) },
			func(d *daemon) error { return d.limitFiles(unix.RLIM_INFINITY) }, "file too large", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if c.nobody {
				l.asNobody()
			}
			l.writeServices("nginx:1.27", "checkout")
			d := l.run()
			r := d.converges()
			l.must(c.spoil(d))
			l.Cleanup(func() { _ = os.Chmod(l.out, 0o755) }) // the test's end removes it
			old := l.bytes()
			l.writeServices("nginx:1.28", "checkout")
			labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:1.28") })
			const told = "the report can't be written; the old one stays"
			labtest.Eventually(t, convergeLimit, func() error { return says(d.warnings(), told, c.says) })
			l.writeServices("nginx:1.29", "checkout")
			labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:1.29") })
			l.goesBy(2 * time.Second)
			if n := strings.Count(d.warnings(), told); n != 1 {
				t.Errorf("told %d times", n)
			}
			if !bytes.Equal(old, l.bytes()) {
				t.Errorf("the report has changed: %s", l.bytes())
			}
			l.must(c.mend(d))
			l.writeServices("nginx:1.30", "checkout")
			d.converges(after(r.Cycle))
			l.must(errors.Join(l.done("checkout", "nginx:1.30"), l.nothingHalfWritten()))
		})
	}
}

// limitFiles limits the size of what the process may write.
func (d *daemon) limitFiles(most uint64) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err
	}
	limit.Cur = min(most, limit.Max)
	return unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil)
}

func (l *lab) bytes() []byte {
	l.Helper()
	data, err := os.ReadFile(filepath.Join(l.out, report.FileName))
	l.must(err)
	return data
}

func (l *lab) nothingHalfWritten() error {
	left, err := filepath.Glob(filepath.Join(l.out, ".webservice-controller-*"))
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("left behind: %v", left)
	}
	return err
}

// An out directory that somebody removes comes back with the next report, and nobody
// else may have it then either.
func TestAnOutDirectoryThatIsRemovedComesBackWithItsLock(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	d := l.run()
	r := d.converges()
	identity := d.identity()
	l.must(os.RemoveAll(l.out))
	l.writeServices("nginx:1.28", "checkout")
	d.converges(after(r.Cycle))
	l.endsWith(l.once(), 1, l.out+" is in use by process "+fmt.Sprint(d.cmd.Process.Pid))
	if got := d.identity(); got != identity {
		t.Errorf("identity %s, was %s", got, identity)
	}
	l.must(says(d.warnings(), "the out directory was removed; it is made anew and locked"))

	// Where another process has it first, that one keeps it.
	l.must(os.RemoveAll(l.out))
	other := *l
	other.name, other.source = l.name+"-other", t.TempDir()
	second := other.run("--source-allow-empty")
	second.converges()
	l.writeServices("nginx:1.29", "checkout")
	labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:1.29") })
	labtest.Eventually(t, convergeLimit, func() error {
		return says(d.warnings(), "the report can't be written", "is in use by process "+fmt.Sprint(second.cmd.Process.Pid))
	})
	if got := other.lastReport().Source.Name; got != other.name {
		t.Errorf("the report is that of %s", got)
	}
}
