package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// convergeLimit is far more than convergence takes, on a machine that has other
// work as well.
const convergeLimit = 30 * time.Second

// report reads the report as it stands.
func (l *lab) report() (*report.Report, error) {
	data, err := os.ReadFile(filepath.Join(l.out, report.FileName))
	if err != nil {
		return nil, err
	}
	var r report.Report
	return &r, json.Unmarshal(data, &r)
}

// lastReport is what a command that has ended left.
func (l *lab) lastReport() *report.Report {
	l.Helper()
	r, err := l.report()
	l.must(err)
	return r
}

// fits is what a test waits for in a report; its error says what isn't so yet.
type fits func(*report.Report) error

// reports waits for a report of this very process that fits in every way.
func (d *daemon) reports(limit time.Duration, all ...fits) *report.Report {
	d.Helper()
	var found *report.Report
	labtest.Eventually(d, limit, func() error {
		r, err := d.report()
		switch {
		case err != nil:
			return err
		case r.Started.Before(d.started):
			return errors.New("there is no report of this process yet")
		case d.ended():
			return errors.New("the process has ended")
		}
		for _, fit := range all {
			if err := fit(r); err != nil {
				return err
			}
		}
		found = r
		return nil
	})
	return found
}

// converges waits until the daemon says so, and that it fits besides.
func (d *daemon) converges(more ...fits) *report.Report {
	d.Helper()
	return d.reports(convergeLimit, append([]fits{converged}, more...)...)
}

func converged(r *report.Report) error {
	if !r.Converged {
		return fmt.Errorf("not converged: %s", r.WaitingFor)
	}
	return nil
}

func unconverged(r *report.Report) error {
	if r.Converged {
		return errors.New("converged")
	}
	return nil
}

// after is true of cycles later than that one.
func after(cycle int64) fits {
	return func(r *report.Report) error {
		if r.Cycle <= cycle {
			return fmt.Errorf("still at cycle %d", r.Cycle)
		}
		return nil
	}
}

// reading is true once the files are read in another state than r's.
func reading(r *report.Report) fits {
	return func(now *report.Report) error {
		if now.Source.Digest == r.Source.Digest {
			return errors.New("the files haven't been read again")
		}
		return nil
	}
}

// item is true where the object's account fits.
func item(name string, fit func(report.Item) bool) fits {
	return func(r *report.Report) error {
		i := slices.IndexFunc(r.Items, func(i report.Item) bool { return i.Name == name })
		if i < 0 {
			return fmt.Errorf("no item %s", name)
		}
		if !fit(r.Items[i]) {
			return fmt.Errorf("item %s: %s: %s", name, r.Items[i].Action, r.Items[i].Reason)
		}
		return nil
	}
}

// failing is true of an item that is an error, waits of one that isn't ready.
func failing(i report.Item) bool {
	return i.Action == report.ActionRequeue && i.Requeue != nil && i.IsError && i.AfterSeconds > 0
}

func waits(i report.Item) bool {
	return i.Action == report.ActionRequeue && i.Requeue != nil && !i.IsError && i.AfterSeconds > 0
}

// holds ends the test unless the report fits in every way.
func (l *lab) holds(r *report.Report, all ...fits) {
	l.Helper()
	for _, fit := range all {
		if err := fit(r); err != nil {
			l.Errorf("the report: %v", err)
		}
	}
}

// idle is true of a cycle that found everything done and sent nothing.
func idle(r *report.Report) error {
	switch {
	case r.Summary.Noop != r.Summary.Total || r.Summary.Total == 0:
		return fmt.Errorf("not noop for all: %+v", r.Summary)
	case r.Requests.Writes != 0 || r.Requests.Reads != 0:
		return fmt.Errorf("%d reads and %d writes were sent", r.Requests.Reads, r.Requests.Writes)
	}
	return nil
}
