package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

func TestAReaderAlwaysFindsACompleteReportThatIsTrue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	names := []string{"checkout", "billing", "search"}
	l.writeServices("nginx:1", names...)
	stop := l.readInALoop()
	d := l.run()
	r := d.converges()
	for n := range 10 {
		image := fmt.Sprintf("nginx:%d", n+2)
		l.writeServices(image, names...)
		// The word of the report is taken at once, with no grace for the API.
		r = d.converges(reading(r), func(r *report.Report) error { return observedAll(r, int64(n+2)) })
		for _, name := range names {
			if err := l.done(name, image); err != nil {
				t.Errorf("cycle %d says converged: %v", r.Cycle, err)
			}
		}
	}
	d.stop()
	if reads := stop(); reads < 100 {
		t.Errorf("%d reads only", reads)
	}
}

// observedAll is true once every object is at that generation: files that are
// written one after another may be read in two goes.
func observedAll(r *report.Report, generation int64) error {
	for _, i := range r.Items {
		if i.Generation != generation {
			return fmt.Errorf("%s is at generation %d", i.Name, i.Generation)
		}
	}
	return nil
}

// readInALoop reads the report over and over until stop is called, which
// returns how often. Every time it must be whole, and true in itself.
func (l *lab) readInALoop() (stop func() int) {
	l.Helper()
	var reading sync.WaitGroup
	end, reads := make(chan struct{}), 0
	reading.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			whole, err := readWhole(l.out)
			if err != nil {
				l.Error(err)
				return
			}
			if whole {
				reads++
			}
		}
	})
	return func() int {
		close(end)
		reading.Wait()
		return reads
	}
}

func readWhole(out string) (whole bool, err error) {
	data, err := os.ReadFile(filepath.Join(out, report.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return false, fmt.Errorf("%w in a report of %d bytes", err, len(data))
	}
	s := r.Summary
	switch {
	case r.Schema != report.Schema:
		return false, fmt.Errorf("schema %q", r.Schema)
	case s.Total != len(r.Items) || s.Create+s.Update+s.Delete+s.Noop+s.Requeue != s.Total:
		return false, fmt.Errorf("%d items and summary %+v", len(r.Items), s)
	case r.Converged != (r.WaitingFor == ""):
		return false, fmt.Errorf("converged %v, waiting for %q", r.Converged, r.WaitingFor)
	case r.Converged && (s.Requeue > 0 || s.Errors > 0 || s.Problems > 0 || r.Finished.IsZero()):
		return false, fmt.Errorf("converged with %+v", s)
	}
	for _, i := range r.Items {
		if r.Converged && i.ObservedGeneration != i.Generation {
			return false, fmt.Errorf("converged with %s at %d of %d", i.Name, i.ObservedGeneration, i.Generation)
		}
	}
	return true, nil
}

func TestAStartReplacesAnOldReportThatSaysConverged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.must(os.MkdirAll(l.out, 0o755))
	old := `{"schema": "webservice-controller/report/v1", "cycle": 7, "converged": true, "items": []}`
	l.must(os.WriteFile(filepath.Join(l.out, report.FileName), []byte(old), 0o644))
	l.kubeconfig = l.unreachable() // so that nothing but the start itself is reported

	r := l.run().reports(2*time.Second, unconverged)
	if r.Cycle != 0 || r.Trigger != report.TriggerStart || r.WaitingFor == "" {
		t.Errorf("cycle %d, trigger %s, waiting for %q", r.Cycle, r.Trigger, r.WaitingFor)
	}
}
