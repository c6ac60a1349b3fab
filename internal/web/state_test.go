package web

import (
	"testing"

	"labhub.io/webservice-controller/internal/report"
)

// TestStates: what an object is shown as, and which of two states counts.
func TestStates(t *testing.T) {
	t.Parallel()
	fails, waits := &report.Requeue{AfterSeconds: 5, IsError: true}, &report.Requeue{AfterSeconds: 5}
	held := heldKeys([]report.Held{{Namespace: "lab", Name: "held"}})
	for _, c := range []struct {
		name string
		item report.Item
		want state
	}{
		{"as it should be", report.Item{Action: report.ActionNoop}, "good"},
		{"written to", report.Item{Action: report.ActionUpdate}, "changed"},
		{"waits", report.Item{Action: report.ActionRequeue, Requeue: waits}, "waiting"},
		{"fails", report.Item{Action: report.ActionRequeue, Requeue: fails}, "failing"},
		{"suspended", report.Item{Action: report.ActionNoop, Suspended: true}, "suspended"},
		{"its file is broken", report.Item{Action: report.ActionNoop, Unusable: true}, "unusable"},
		{"its file is broken, and it is suspended", report.Item{Action: report.ActionNoop, Unusable: true, Suspended: true}, "unusable"},
		{"its file is broken, and it fails", report.Item{Action: report.ActionRequeue, Requeue: fails, Unusable: true}, "failing"},
		{"its file is broken, and its ConfigMap was mended", report.Item{Action: report.ActionUpdate, Unusable: true}, "changed"},
		{"held", report.Item{Name: "held", Action: report.ActionRequeue, Requeue: waits}, "held"},
		{"held, and fails", report.Item{Name: "held", Action: report.ActionRequeue, Requeue: fails}, "held"},
	} {
		c.item.Namespace = "lab"
		if got := stateOf(&c.item, held); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
