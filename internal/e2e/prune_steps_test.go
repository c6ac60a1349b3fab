package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

const (
	// soon is how long an object must be absent here until it is deleted, and often
	// the time between scans.
	soon, often = 600 * time.Millisecond, 500 * time.Millisecond
	// prompt is the most that a deletion may come later than it could, on a machine
	// that has other work as well.
	prompt = 4 * time.Second
)

// pruning are the flags by which deletions come soon, scans often, and what is
// refused is soon tried again.
func pruning() []string {
	return []string{"--source-scan-interval=" + often.String(), "--prune-after=" + soon.String(), "--reconcile-backoff-max=2s"}
}

// prunes starts a daemon that deletes soon.
func (l *lab) prunes(args ...string) *daemon {
	l.Helper()
	return l.run(append(pruning(), args...)...)
}

// withdraw removes the files of some objects, and returns when.
func (l *lab) withdraw(names ...string) time.Time {
	l.Helper()
	at := time.Now()
	for _, name := range names {
		l.must(os.Remove(filepath.Join(l.source, name+".yaml")))
	}
	return at
}

// numbered are n names.
func numbered(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%02d", name, i)
	}
	return names
}

// record is what controllers did to the WebServices of some namespaces, by the
// server's own record.
type record struct {
	created, deleted []labtest.Request
	// refused are the deletions that the server didn't carry out.
	refused []labtest.Request
	// others are deletions of anything but WebServices and ConfigMaps.
	others []labtest.Request
}

// mark is the end of the record at present.
func (l *lab) mark() labtest.Mark {
	l.Helper()
	return l.cluster.Audit().Mark(l)
}

// since reads the record of the lab's namespace, and of more.
func (l *lab) since(mark labtest.Mark, namespaces ...string) *record {
	l.Helper()
	namespaces = append(namespaces, l.namespace)
	var r record
	for _, request := range l.cluster.Audit().Requests(l, "webservice-controller/", mark) {
		switch {
		case request.Verb == "delete" && request.Resource != "webservices" && request.Resource != "configmaps",
			request.Verb == "deletecollection":
			r.others = append(r.others, request)
		case !slices.Contains(namespaces, request.Namespace) || request.Resource != "webservices":
		case request.Verb == "delete" && request.Code >= 300:
			r.refused = append(r.refused, request)
		case request.Verb == "delete":
			r.deleted = append(r.deleted, request)
		case request.Code == 201: // applying answers so where it creates
			r.created = append(r.created, request)
		}
	}
	return &r
}

// namesOf are those that requests were about, sorted.
func namesOf(requests []labtest.Request) []string {
	var names []string
	for _, r := range requests {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// wantDeleted wants exactly these deletions since the mark, each sent once, and
// nothing else deleted.
func (l *lab) wantDeleted(mark labtest.Mark, want ...string) *record {
	l.Helper()
	r := l.since(mark)
	slices.Sort(want)
	if got := namesOf(r.deleted); !slices.Equal(got, want) {
		l.Errorf("deleted were %q, want %q", got, want)
	}
	if len(r.refused) > 0 || len(r.others) > 0 {
		l.Errorf("refused deletions %+v, deletions of other kinds %+v", r.refused, r.others)
	}
	return r
}

// wantUntouched wants no object to have come or gone since the mark.
func (l *lab) wantUntouched(mark labtest.Mark) {
	l.Helper()
	if r := l.wantDeleted(mark); len(r.created) > 0 {
		l.Errorf("created were %q", namesOf(r.created))
	}
}

// wantOrder wants the last creation to come before the first deletion.
func (r *record) wantOrder(l *lab) {
	l.Helper()
	byTime := func(a, b labtest.Request) int { return a.Time.Compare(b.Time) }
	if len(r.created) == 0 || len(r.deleted) == 0 {
		l.Fatalf("%d were created and %d deleted", len(r.created), len(r.deleted))
	}
	last, first := slices.MaxFunc(r.created, byTime), slices.MinFunc(r.deleted, byTime)
	if !last.Time.Before(first.Time) {
		l.Errorf("%s was created at %s, and %s deleted at %s", last.Name, last.Time, first.Name, first.Time)
	}
}

// held wants exactly these objects' deletions to be held, each for a reason with
// every part, and what they wait for to be told.
func held(names []string, parts ...string) fits {
	return func(r *report.Report) error {
		var got []string
		for _, h := range r.Held {
			got = append(got, h.Name)
			if err := says(h.Reason, append([]string{"no file; held: "}, parts...)...); err != nil {
				return err
			}
		}
		if !slices.Equal(got, names) || r.Summary.Held != len(names) {
			return fmt.Errorf("held are %q (the summary says %d), want %q", got, r.Summary.Held, names)
		}
		for _, name := range names {
			if err := item(name, func(i report.Item) bool { return waits(i) && says(i.Reason, "held") == nil })(r); err != nil {
				return err
			}
		}
		if r.Converged || r.WaitingFor == "" {
			return fmt.Errorf("converged %t, waiting for %q", r.Converged, r.WaitingFor)
		}
		return nil
	}
}

// approvable wants the report to say how a person approves what it holds.
func approvable(r *report.Report) error {
	if len(r.HeldDigest) != 64 {
		return fmt.Errorf("the digest is %q", r.HeldDigest)
	}
	return says(r.HeldCommand, "approve "+r.HeldDigest)
}

// unapprovable wants no approval to be offered.
func unapprovable(r *report.Report) error {
	if r.HeldDigest != "" || r.HeldCommand != "" {
		return fmt.Errorf("digest %q, command %q", r.HeldDigest, r.HeldCommand)
	}
	return nil
}

// nothingHeld is true of a report that holds nothing.
func nothingHeld(r *report.Report) error {
	if len(r.Held) > 0 || r.Summary.Held > 0 {
		return fmt.Errorf("held: %+v", r.Held)
	}
	return unapprovable(r)
}

// removes is true of an item that was deleted since its file is gone.
func removes(i report.Item) bool {
	return i.Action == report.ActionDelete && says(i.Reason, "its file is gone") == nil && i.Target == "webservice/"+i.Name
}

// stays is true of an item that is left as it is, for a reason with every part.
func stays(parts ...string) func(report.Item) bool {
	return func(i report.Item) bool { return i.Action == report.ActionNoop && says(i.Reason, parts...) == nil }
}

// listed is true of a report with exactly these names among its items, and done
// of each, whatever else there is.
func listed(fit func(report.Item) bool, names ...string) fits {
	return func(r *report.Report) error {
		for _, name := range names {
			if err := item(name, fit)(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// approve runs the command for a digest.
func (l *lab) approve(digest string) result {
	l.Helper()
	return l.exec("approve", digest, "--out="+l.out)
}

// approveOK approves what a report holds.
func (l *lab) approveOK(r *report.Report) {
	l.Helper()
	if done := l.approve(r.HeldDigest); done.code != 0 {
		l.Fatalf("approve: exit code %d\n%s", done.code, done.stderr)
	}
}

// shell runs a line as a person would who has copied it from the report into a
// terminal that is somewhere else.
func (l *lab) shell(line string) result {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = l.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.home}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !isExit(err) {
		l.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// allGone waits until nothing is left of some WebServices.
func (l *lab) allGone(names ...string) {
	l.Helper()
	labtest.Eventually(l, convergeLimit, func() error { return l.noneLeft(names...) })
}

func (l *lab) noneLeft(names ...string) error {
	var left []error
	for _, name := range names {
		left = append(left, l.gone(name))
	}
	return errors.Join(left...)
}

// allDone says what is missing until all of some WebServices are as they should be.
func (l *lab) allDone(image string, names ...string) error {
	var undone []error
	for _, name := range names {
		undone = append(undone, l.done(name, image))
	}
	return errors.Join(undone...)
}

// scanned waits until there has been time for n scans, at least, and for a settled
// report of the last one that fits. The daemon must scan often.
func (d *daemon) scanned(n int, more ...fits) *report.Report {
	d.Helper()
	return d.reports(convergeLimit, append([]fits{settled, scannedAfter(time.Now().Add(time.Duration(n) * often))}, more...)...)
}

// in is the same lab, looking at another namespace.
func (l *lab) in(namespace string) *lab {
	other := *l
	other.namespace = namespace
	return &other
}

// moments are n times at which something may be cut off, evenly from least to most.
func moments(least, most time.Duration, n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = least + (most-least)*time.Duration(i)/time.Duration(cmp.Or(n-1, 1))
	}
	return all
}
