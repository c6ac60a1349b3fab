package plan

import (
	"strings"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

func nothing(reason string) verdict {
	return verdict{Decision: Decision{Action: Noop, Reason: reason}}
}

func wait(on Target, reason string, r readiness) verdict {
	return verdict{Decision: Decision{Action: Requeue, Reason: reason, Target: on, After: recheck}, ready: r}
}

func failing(on Target, reason string, r readiness) verdict {
	return verdict{Decision: Decision{Action: Requeue, Reason: reason, Target: on, Error: true}, ready: r}
}

func waiting(message string) readiness {
	return readiness{reason: v1.ReasonProgressing, message: message}
}

// attempt takes the step, unless the server has refused it already, has answered
// it with something other than what was written, or somebody else keeps undoing it.
func attempt(in *Input, step Step, action Action, on Target, reason string, changes []Change) verdict {
	switch o := in.Outcomes.Of(step.Kind); {
	case o.Refused != "":
		return refused(step, on, o)
	case o.Sent:
		return notAccepted(step, on, changes)
	}
	if c := contestedOf(in, changes); c != nil {
		return contested(on, c)
	}
	return verdict{Decision: Decision{Action: action, Reason: reason, Target: on, Step: step, Changes: changes}}
}

func refused(step Step, on Target, o *Outcome) verdict {
	what := step.Kind.String() + ": "
	detail := o.Detail
	if detail == "" {
		detail = o.Refused
	}
	return failing(on, "the API server refused to "+what+detail,
		readiness{reason: v1.ReasonFailed, message: "The API server refused to " + what + o.Refused})
}

// notAccepted is the verdict where a write has had its answer and the answer
// still differs from what was written. Writing again would not end.
func notAccepted(step Step, on Target, changes []Change) verdict {
	if len(changes) == 0 {
		return failing(on, "the API server agreed to "+step.Kind.String()+", but nothing came of it: something undoes it",
			readiness{reason: v1.ReasonNotAccepted, message: "Something undoes the request to " + step.Kind.String()})
	}
	what := paths(changes)
	return failing(on, "the API server answered the write of "+what+" with other values: something changes them on the way, such as a webhook",
		readiness{reason: v1.ReasonNotAccepted, message: "The API server keeps other values than were written: " + what})
}

// undeclared names the fields that a CRD made by others lacks.
func undeclared(missing []string) string {
	return "the CRD " + v1.CRDName + " doesn't declare " + strings.Join(missing, ", ") +
		": add them to it, as in manifests/crd"
}
