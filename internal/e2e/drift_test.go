package e2e

import (
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

// healed is how long a drift may last.
const healed = time.Second

func TestDriftIsHealedWithinASecondOfItsEvent(t *testing.T) {
	const image = "nginx:1.27"
	l := newLab(t)
	l.writeServices(image, "checkout")
	d := l.run()
	r := d.converges()
	for _, drift := range []struct {
		what   string
		make   func()
		reason string // a part of what the report says
		target string
	}{
		{"ConfigMap edited by hand", func() { l.edit(configmaps(), "checkout-desired", `{"data": {"image": "evil:1"}}`) },
			`data.image is "evil:1"`, "configmap/checkout-desired"},
		{"key added to the ConfigMap", func() { l.edit(configmaps(), "checkout-desired", `{"data": {"more": "x"}}`) },
			"data.more must not be there", "configmap/checkout-desired"},
		{"ConfigMap deleted", func() { l.remove(configmaps(), "checkout-desired") },
			"doesn't exist", "configmap/checkout-desired"},
		{"label of the ConfigMap removed", func() {
			l.edit(configmaps(), "checkout-desired", `{"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}`)
		}, "app.kubernetes.io/managed-by", "configmap/checkout-desired"},
		{"owner of the ConfigMap removed", func() { l.edit(configmaps(), "checkout-desired", `{"metadata": {"ownerReferences": null}}`) },
			"ownerReferences", "configmap/checkout-desired"},
		{"spec edited by another manager", func() { l.edit(webservices(), "checkout", `{"spec": {"replicas": 9}}`) },
			"spec.replicas is 9, set by " + otherManager, "webservice/checkout"},
		{"image edited by another manager", func() { l.edit(webservices(), "checkout", `{"spec": {"image": "evil:1"}}`) },
			`spec.image is "evil:1", set by ` + otherManager, "webservice/checkout"},
		{"status wiped", func() { l.edit(webservices(), "checkout", `{"status": null}`, "status") },
			"status", "webservice/checkout"},
	} {
		drift.make()
		began := time.Now()
		labtest.Eventually(t, healed, func() error { return l.done("checkout", image) })
		t.Logf("%s: healed after %s", drift.what, time.Since(began).Round(time.Millisecond))
		r = d.converges(after(r.Cycle), item("checkout", func(i report.Item) bool {
			return (i.Action == report.ActionUpdate || i.Action == report.ActionCreate) &&
				strings.Contains(i.Reason, drift.reason) && i.Target == drift.target
		}))
		if r.Trigger != report.TriggerCluster {
			t.Errorf("%s: trigger %s", drift.what, r.Trigger)
		}
	}
}
