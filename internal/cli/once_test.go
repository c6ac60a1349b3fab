package cli

import (
	"errors"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/source"
)

// TestVerdicts: the first code that applies counts, and the text says what to do.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome engine.Outcome
		code    int
		says    string
	}{
		"converged":                       {engine.Outcome{Converged: true}, exitOK, ""},
		"failing":                         {engine.Outcome{Failing: 1, Problems: 1, Held: 1, WaitingFor: "x"}, exitFailed, "not converged: x"},
		"a problem":                       {engine.Outcome{Problems: 1, Held: 1}, exitInvalid, ""},
		"a problem, and something waits":  {engine.Outcome{Problems: 1, Waiting: 1}, exitWaiting, ""},
		"held":                            {engine.Outcome{Held: 1, WaitingFor: "held (cmd)", Command: "cmd"}, exitHeld, "held (cmd)"},
		"a file still changes":            {engine.Outcome{Unsettled: true, Held: 1}, exitWaiting, ""},
		"a file still changes, a problem": {engine.Outcome{Unsettled: true, Problems: 1}, exitWaiting, ""},
		"the source is missing":           {engine.Outcome{Source: source.ErrMissing, Held: 1}, exitWaiting, ""},
	} {
		err := verdict(&c.outcome)
		if codeOf(err) != c.code || err != nil && !strings.HasSuffix(err.Error(), c.says) {
			t.Errorf("%s: code %d: %v", name, codeOf(err), err)
		}
	}
}

// TestAReportThatIsNotDelivered: what once is called for is its report, too.
func TestAReportThatIsNotDelivered(t *testing.T) {
	t.Parallel()
	full := &app{unwritten: "no space left on device"}
	for name, c := range map[string]struct {
		app  *app
		err  error
		code int
		says string
	}{
		"written":             {&app{}, nil, exitOK, ""},
		"written, and held":   {&app{}, &exitError{exitHeld, errors.New("held")}, exitHeld, "held"},
		"unwritten":           {full, nil, exitFailed, "the report can't be written; the old one stays: no space left on device"},
		"unwritten, and held": {full, &exitError{exitHeld, errors.New("held")}, exitFailed, "held; and the report can't be written: no space left on device"},
	} {
		err := c.app.delivered(c.err)
		if codeOf(err) != c.code || err != nil && err.Error() != c.says {
			t.Errorf("%s: code %d: %v", name, codeOf(err), err)
		}
	}
}
