package plan

import (
	"testing"
	"time"
)

func TestBelongsTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		labels map[string]string
		owned  []string
		want   Belongs
	}{
		{"no labels", nil, nil, Nobodys},
		{"other labels", map[string]string{"team": "a"}, []string{"team"}, Nobodys},
		{"our name, written by our apply", map[string]string{sourceLabel: sourceName}, []string{sourceLabel}, Ours},
		{"our name, written by hand", map[string]string{sourceLabel: sourceName}, nil, Nobodys},
		{"our name, our apply owns another label", map[string]string{sourceLabel: sourceName}, []string{"team"}, Nobodys},
		{"another's name", map[string]string{sourceLabel: "other"}, nil, Anothers},
		{"another's name over our own apply", map[string]string{sourceLabel: "other"}, []string{sourceLabel}, Anothers},
		{"an empty name", map[string]string{sourceLabel: ""}, nil, Anothers},
		{"label taken away", nil, []string{sourceLabel}, Nobodys},
	} {
		live := liveState(inSync)
		live.Labels, live.Fields.Labels = c.labels, c.owned
		if got := live.BelongsTo(sourceName); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for label, want := range map[string]Belongs{sourceName: Nobodys, "other": Anothers} {
		live := liveState(restored)
		live.Labels[sourceLabel] = label
		if got := live.BelongsTo(sourceName); got != want {
			t.Errorf("restored, with the label %s: %d, want %d", label, got, want)
		}
	}
	if got := new(Live).BelongsTo(sourceName); got != Nobodys {
		t.Errorf("no object: %d, want %d", got, Nobodys)
	}
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	deleted := liveState(cleaning)
	for after, want := range map[time.Duration]bool{0: false, time.Minute: false, time.Minute + 1: true, time.Hour: true, -time.Hour: false} {
		if got := deleted.Overdue(longAgo.Add(after)); got != want {
			t.Errorf("%s after its deletion: overdue %t, want %t", after, got, want)
		}
	}
	if live := liveState(finalized); live.Overdue(startNow) || new(Live).Overdue(startNow) {
		t.Error("overdue without having been deleted")
	}
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	const annotation = "webservice.labhub.io/reconcile"
	for value, want := range map[string]bool{"disabled": true, "Disabled": true, "enabled": true, "": true} {
		live := liveState(inSync)
		live.Annotations = map[string]string{annotation: value}
		if live.Suspended() != want {
			t.Errorf("%s: %q: suspended %t, want %t: a value that isn't known counts", annotation, value, !want, want)
		}
	}
	if live := liveState(inSync); live.Suspended() || new(Live).Suspended() {
		t.Error("suspended without the annotation")
	}
}

func TestTargetName(t *testing.T) {
	t.Parallel()
	for target, want := range map[Target]string{
		WebService: "webservice/checkout", ConfigMap: "configmap/checkout-desired", Namespace: "namespace/crd-lab",
	} {
		if got := target.Name(testKey); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
