package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// clockStep is more than a step of the times that the server keeps of writes:
// two writes within a second look like one.
const clockStep = 1100 * time.Millisecond

// everySecond makes passes come fast.
const everySecond = "--source-scan-interval=1s"

func TestNothingIsWrittenOnceAllIsDone(t *testing.T) {
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	l.onceOK()
	before := l.states()
	if len(before) != 6 {
		t.Fatalf("%d objects, want 3 and a ConfigMap for each", len(before))
	}
	unchanged := func(step string) {
		t.Helper()
		l.equal(before, l.states())
		if t.Failed() {
			t.Fatal("after " + step)
		}
	}
	l.aSecondGoesBy()
	l.onceOK()
	l.holds(l.lastReport(), converged, idle)
	unchanged("a second once")

	l.touch()
	l.aSecondGoesBy()
	l.onceOK()
	l.holds(l.lastReport(), converged, idle)
	unchanged("touching the files")

	d := l.run(everySecond)
	d.passes(1)
	l.touch()
	mark := l.cluster.Audit().Mark(t)
	d.passes(3)
	l.wantAsked(mark)
	unchanged("three passes of a daemon")

	d.kill()
	d = l.run(everySecond)
	d.passes(3)
	unchanged("kill -9 and a restart")

	d.stop()
	l.run(everySecond).passes(3)
	unchanged("SIGTERM and a restart")
}

// touch rewrites every file as it is.
func (l *lab) touch() {
	l.Helper()
	files, err := filepath.Glob(filepath.Join(l.source, "*"))
	l.must(err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		l.must(err)
		l.must(os.WriteFile(file, data, 0o644))
	}
}

func (l *lab) aSecondGoesBy() {
	l.Helper()
	since := time.Now()
	labtest.Eventually(l, 2*clockStep, func() error {
		if time.Since(since) < clockStep {
			return errors.New("it is still the same second")
		}
		return nil
	})
}

// passes waits for that many passes over all objects, each of which must find
// everything done.
func (d *daemon) passes(n int) {
	d.Helper()
	r := d.converges()
	for range n {
		seen := r.Source.LastScan
		r = d.converges(after(r.Cycle), ofAPass, func(r *report.Report) error {
			if r.Source.LastScan.Sub(seen) <= 0 {
				return fmt.Errorf("no scan since %s", seen)
			}
			return nil
		})
		d.holds(r, idle)
	}
}

func ofAPass(r *report.Report) error {
	if r.Trigger != report.TriggerInterval {
		return fmt.Errorf("a cycle that %s began", r.Trigger)
	}
	return nil
}
