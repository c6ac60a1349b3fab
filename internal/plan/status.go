package plan

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// readiness is what the condition Ready shall say.
type readiness struct {
	ready           bool
	reason, message string
}

func (r readiness) status() metav1.ConditionStatus {
	if r.ready {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// statusDrift lists the fields of status that don't say what r says of the live
// object. It is nil where all do.
func statusDrift(l *Live, r readiness) []Change {
	var out []Change
	if l.Status.Replicas != l.Replicas() {
		out = append(out, Change{Path: "status.replicas", From: itoa(l.Status.Replicas), To: itoa(l.Replicas())})
	}
	if l.Status.ObservedGeneration != l.Generation {
		out = append(out, Change{Path: "status.observedGeneration", From: itoa64(l.Status.ObservedGeneration), To: itoa64(l.Generation)})
	}
	c := readyOf(l.Status.Conditions)
	if c == nil {
		return append(out, Change{Path: "status.conditions[type=Ready]", Missing: true})
	}
	return conditionDrift(out, c, l, r)
}

func conditionDrift(out []Change, c *metav1.Condition, l *Live, r readiness) []Change {
	const path = "status.conditions[type=Ready]."
	if c.Status != r.status() {
		out = append(out, Change{Path: path + "status", From: string(c.Status), To: string(r.status())})
	}
	if c.Reason != r.reason {
		out = append(out, Change{Path: path + "reason", From: c.Reason, To: r.reason})
	}
	if c.Message != r.message {
		out = append(out, Change{Path: path + "message", From: c.Message, To: r.message})
	}
	if c.ObservedGeneration != l.Generation {
		out = append(out, Change{Path: path + "observedGeneration", From: itoa64(c.ObservedGeneration), To: itoa64(l.Generation)})
	}
	if c.LastTransitionTime.IsZero() {
		out = append(out, Change{Path: path + "lastTransitionTime", Missing: true})
	}
	return out
}

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }

// readyOf finds the condition Ready. A status made by hand may have none.
func readyOf(conditions []metav1.Condition) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == v1.ReadyCondition {
			return &conditions[i]
		}
	}
	return nil
}

// statusOf is the whole status to write: the condition's time moves only when
// its status flips, and conditions of other types stay.
func statusOf(l *Live, r readiness, now time.Time) *Status {
	ready := metav1.Condition{
		Type: v1.ReadyCondition, Status: r.status(), Reason: r.reason, Message: r.message,
		ObservedGeneration: l.Generation, LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	conditions := slices.Clone(l.Status.Conditions)
	if live := readyOf(conditions); live != nil {
		if live.Status == ready.Status && !live.LastTransitionTime.IsZero() {
			ready.LastTransitionTime = live.LastTransitionTime
		}
		*live = ready
	} else {
		conditions = append(conditions, ready)
	}
	return &Status{Replicas: l.Replicas(), ObservedGeneration: l.Generation, Conditions: conditions}
}
