package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// The files of internal/source/testdata are inputs that go wrong in ways which
// nobody expects. What each must lead to is said where it is used.

// caseFile is the text of one, for the lab's own namespace.
func (l *lab) caseFile(name string) string {
	l.Helper()
	data, err := os.ReadFile(filepath.Join("..", "source", "testdata", name))
	l.must(err)
	return strings.ReplaceAll(string(data), "namespace: default", "namespace: "+l.namespace)
}

// writeCase makes one a file of the source, under its own name.
func (l *lab) writeCase(name string) {
	l.Helper()
	l.write(map[string]string{name: l.caseFile(name)})
}

// scans waits for a settled report of a scan that began after now. The daemon
// must scan every second.
func (d *daemon) scans(more ...fits) *report.Report {
	d.Helper()
	now := time.Now()
	return d.reports(convergeLimit, append([]fits{settled, func(r *report.Report) error {
		if !r.Source.LastScan.After(now) {
			return fmt.Errorf("the last scan was at %s", r.Source.LastScan)
		}
		return nil
	}}, more...)...)
}

func settled(r *report.Report) error {
	if r.Finished.IsZero() {
		return errors.New("the cycle lasts")
	}
	return nil
}

// problems wants exactly these: "path#document:line:column field".
func problems(want ...string) fits {
	return func(r *report.Report) error {
		var got []string
		for _, p := range r.Problems {
			got = append(got, fmt.Sprintf("%s#%d:%d:%d %s", p.Path, p.Document, p.Line, p.Column, p.Field))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the problems are %q, want %q", got, want)
		}
		return nil
	}
}

// items wants exactly these names, in order.
func items(want ...string) fits {
	return func(r *report.Report) error {
		var got []string
		for _, i := range r.Items {
			got = append(got, i.Name)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the items are %q, want %q", got, want)
		}
		return nil
	}
}

// noWrites is true of a cycle that sent none.
func noWrites(r *report.Report) error {
	if r.Requests.Writes != 0 {
		return fmt.Errorf("%d writes were sent", r.Requests.Writes)
	}
	return nil
}

// paced takes one step after the other, in a rhythm.
func paced(rhythm time.Duration, steps ...func()) {
	tick := time.NewTicker(rhythm)
	defer tick.Stop()
	for _, step := range steps {
		step()
		<-tick.C
	}
}

// replicasOf is spec.replicas as the API server has it.
func (l *lab) replicasOf(name string) int32 {
	l.Helper()
	ws, err := l.webservice(name)
	l.must(err)
	return *ws.Spec.Replicas
}

// applied waits until an object has that image, and says how long after since.
func (l *lab) applied(name, image string, since time.Time, limit time.Duration) time.Duration {
	l.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ws, err := l.webservice(name)
		took := time.Since(since)
		if err == nil && ws.Spec.Image == image {
			return took
		}
		if took > limit {
			l.Fatalf("%s hasn't got %s within %s", name, image, limit)
		}
		<-tick.C
	}
}

// slowest is the longest of some times, and fails the test if that is too long.
func slowest(t *testing.T, what string, times []time.Duration, limit time.Duration) {
	t.Helper()
	slices.Sort(times)
	worst := times[len(times)-1]
	t.Logf("%s: %d times, median %s, slowest %s", what, len(times), times[len(times)/2].Round(time.Millisecond), worst.Round(time.Millisecond))
	if worst > limit {
		t.Errorf("%s: %s, want %s at most", what, worst, limit)
	}
}
