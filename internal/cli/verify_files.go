package cli

import (
	"errors"

	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/report"
)

// The files that verify NAME leaves in the out directory, about the ConfigMap.
const (
	fileObserved  = "observe.json"
	fileDecision1 = "decision-1.json"
	fileDecision2 = "decision-2.json"
	fileBefore    = "rv-before.txt"
	fileAfter     = "rv-after.txt"
)

// dropFiles removes what another run has left: files of two runs side by side would
// prove what never happened.
func (v *verification) dropFiles() error {
	if v.all() {
		return nil
	}
	return v.out.Drop(fileObserved, fileDecision1, fileDecision2, fileBefore, fileAfter)
}

// keepFirst keeps what the first pass saw and decided.
func (v *verification) keepFirst() error {
	s := v.first.aboutChild()
	if s == nil {
		return nil
	}
	return errors.Join(
		v.out.Keep(fileObserved, s.observed),
		v.out.Keep(fileDecision1, evidence.Verdict(&s.decision, v.key)))
}

// keepSecond keeps what the second pass decided, and the versions around it.
func (v *verification) keepSecond(p *proof) error {
	if v.all() {
		return nil
	}
	var errs []error
	if s := v.second.aboutChild(); s != nil {
		errs = append(errs, v.out.Keep(fileDecision2, evidence.Verdict(&s.decision, v.key)))
	}
	for _, row := range p.rows {
		if row.kind == kindConfigMap {
			errs = append(errs, v.out.Keep(fileBefore, report.Text(row.before)), v.out.Keep(fileAfter, report.Text(row.after)))
		}
	}
	return errors.Join(errs...)
}
