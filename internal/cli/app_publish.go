package cli

import (
	"errors"

	"labhub.io/webservice-controller/internal/report"
)

// publish writes the report. An error doesn't stop reconciling: it is told when
// it is new, and the next report is another try.
func (a *app) publish(r *report.Report) {
	if a.web != nil {
		a.web.Publish(r)
	}
	if a.metrics != nil {
		a.metrics.Publish(r)
	}
	err := a.write(r)
	switch {
	case err == nil && a.unwritten != "":
		a.unwritten = ""
		a.log.Info("the report is written again")
	case err != nil && err.Error() != a.unwritten:
		a.unwritten = err.Error()
		a.log.Error("the report can't be written; the old one stays", "err", err)
	}
	a.tellReadiness(r.Role == report.RoleStandby)
}

// write writes the report, into the directory that is ours alone.
func (a *app) write(r *report.Report) error {
	if a.writer == nil {
		return nil
	}
	made, err := a.out.Retake()
	if err != nil {
		return err
	}
	if made {
		a.log.Warn("the out directory was removed; it is made anew and locked", "out", a.cfg.Out)
	}
	return a.writer.Write(r)
}

// tellReadiness logs why we can't work when that is new, and that we can again.
// What only takes its time at a start isn't worth a warning, and that nobody has
// answered yet not even a line.
func (a *app) tellReadiness(standby bool) {
	err := a.engine.Ready()
	why := ""
	if err != nil {
		why = err.Error()
	}
	switch {
	case why == a.unready:
	case err == nil && !a.stays && !a.complained:
		// What matters of a command that ends is how.
	case err == nil && standby:
		a.log.Info("ready to take over")
	case err == nil:
		a.log.Info("ready")
	case errors.Unwrap(err) != nil:
		a.complained = true
		a.log.Warn("not ready", "why", why)
	case a.published && a.stays:
		a.complained = true
		a.log.Info("not ready", "why", why)
	}
	a.published, a.unready = true, why
}
