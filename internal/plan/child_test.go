package plan

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ref is an owner reference to a WebService of the tests' name.
func ref(uid types.UID, controls bool) metav1.OwnerReference {
	o := ownedBy(uid)
	if !controls {
		o.Controller = nil
	}
	return o
}

func TestClaimOf(t *testing.T) {
	t.Parallel()
	sibling, otherGroup, olderVersion := ref(liveUID, true), ref(liveUID, true), ref(liveUID, true)
	sibling.Name = "billing"
	otherGroup.APIVersion = "apps/v1"
	olderVersion.APIVersion = "apps.labhub.io/v1alpha1"
	not := ref(liveUID, false)
	not.Controller = new(false)
	const labelled, managed = true, true

	for _, c := range []struct {
		name              string
		labelled, managed bool
		owners            []metav1.OwnerReference
		want              Claim
	}{
		{"made by us", labelled, managed, []metav1.OwnerReference{ref(liveUID, true)}, ClaimOurs},
		{"made by us, label taken away", !labelled, managed, []metav1.OwnerReference{ref(liveUID, true)}, ClaimOurs},
		{"controlled by our object, whoever wrote it", !labelled, !managed, []metav1.OwnerReference{ref(liveUID, true)}, ClaimOurs},
		{"another version of the group", !labelled, !managed, []metav1.OwnerReference{olderVersion}, ClaimOurs},
		{"a script's: owner and label", labelled, !managed, []metav1.OwnerReference{ref(liveUID, false)}, ClaimOurs},
		{"a script's: controller false", labelled, !managed, []metav1.OwnerReference{not}, ClaimOurs},
		{"an owner without controller and label", !labelled, !managed, []metav1.OwnerReference{ref(liveUID, false)}, ClaimForeign},
		{"owner taken away", labelled, managed, nil, ClaimOurs},
		{"owner taken away, others added", labelled, managed, []metav1.OwnerReference{foreignOwner(false)}, ClaimOurs},
		{"owner and label taken away", !labelled, managed, nil, ClaimForeign},
		{"our label on someone's ConfigMap", labelled, !managed, nil, ClaimForeign},
		{"nothing of ours", !labelled, !managed, nil, ClaimForeign},

		{"of an earlier object", labelled, managed, []metav1.OwnerReference{ref(oldUID, true)}, ClaimStale},
		{"of an earlier object, label taken away", !labelled, !managed, []metav1.OwnerReference{ref(oldUID, true)}, ClaimStale},
		{"a script's, of an earlier object", labelled, !managed, []metav1.OwnerReference{ref(oldUID, false)}, ClaimStale},
		{"an earlier object's, without controller and label", !labelled, !managed, []metav1.OwnerReference{ref(oldUID, false)}, ClaimForeign},
		{"of an earlier object and somebody else", labelled, managed, []metav1.OwnerReference{ref(oldUID, true), foreignOwner(false)}, ClaimOurs},
		{"of somebody else and an earlier object", labelled, managed, []metav1.OwnerReference{foreignOwner(false), ref(oldUID, true)}, ClaimOurs},
		{"of an earlier object and ours", labelled, managed, []metav1.OwnerReference{ref(oldUID, true), ref(liveUID, false)}, ClaimOurs},
		{"of ours and an earlier object", labelled, managed, []metav1.OwnerReference{ref(liveUID, false), ref(oldUID, true)}, ClaimOurs},

		{"controlled by somebody else", labelled, managed, []metav1.OwnerReference{foreignOwner(true)}, ClaimForeign},
		{"controlled by somebody else, owned by ours", labelled, managed, []metav1.OwnerReference{ref(liveUID, false), foreignOwner(true)}, ClaimForeign},
		{"controlled by somebody else, owned by ours after", labelled, managed, []metav1.OwnerReference{foreignOwner(true), ref(liveUID, false)}, ClaimForeign},
		{"controlled by a WebService of another name", labelled, managed, []metav1.OwnerReference{sibling}, ClaimForeign},
		{"controlled by another group's WebService", labelled, managed, []metav1.OwnerReference{otherGroup}, ClaimForeign},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			child := Child{UID: "uid-child", Owners: c.owners, Managed: c.managed}
			if c.labelled {
				child.Labels = map[string]string{managedBy: "webservice-controller"}
			}
			if got := ClaimOf(&child, name, liveUID); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	if got := ClaimOf(&Child{}, name, liveUID); got != ClaimAbsent {
		t.Errorf("no ConfigMap: got %d, want %d", got, ClaimAbsent)
	}
}

// TestChildDrift starts from a child and a live object that agree.
func TestChildDrift(t *testing.T) {
	t.Parallel()
	const controller = "metadata.ownerReferences[controller]"
	for _, c := range []struct {
		name   string
		change func(*Child, *Live)
		want   []Change
	}{
		{"nothing", func(*Child, *Live) {}, nil},
		{"another image", func(_ *Child, l *Live) { l.Spec.Image = newImage }, []Change{{Path: "data.image", From: image, To: newImage}}},
		{"image missing", func(c *Child, _ *Live) { delete(c.Data, "image") }, []Change{{Path: "data.image", To: image, Missing: true}}},
		{"image missing and empty in the spec", func(c *Child, l *Live) { delete(c.Data, "image"); l.Spec.Image = "" }, []Change{{Path: "data.image", Missing: true}}},
		{"other replicas", func(_ *Child, l *Live) { l.Spec.Replicas = new(int32(1000)) }, []Change{{Path: "data.replicas", From: "3", To: "1000"}}},
		{"replicas written otherwise", func(c *Child, _ *Live) { c.Data["replicas"] = "03" }, []Change{{Path: "data.replicas", From: "03", To: "3"}}},
		{"replicas by default", func(c *Child, l *Live) { c.Data["replicas"] = "1"; l.Spec.Replicas = nil }, nil},
		{"most replicas", func(c *Child, l *Live) { c.Data["replicas"] = "2147483647"; l.Spec.Replicas = new(int32(1<<31 - 1)) }, nil},
		{"another tier", func(_ *Child, l *Live) { l.Spec.Tier = "prod" }, []Change{{Path: "data.tier", From: "dev", To: "prod"}}},
		{"tier by default", func(_ *Child, l *Live) { l.Spec.Tier = "" }, nil},
		{"keys too many", func(c *Child, _ *Live) { c.Data["z"], c.Data["a"] = "1", "2" }, []Change{{Path: "data.a", From: "2", Extra: true}, {Path: "data.z", From: "1", Extra: true}}},
		{"no data at all", func(c *Child, _ *Live) { c.Data = nil }, []Change{
			{Path: "data.image", To: image, Missing: true}, {Path: "data.replicas", To: "3", Missing: true}, {Path: "data.tier", To: "dev", Missing: true},
		}},
		{"label missing", func(c *Child, _ *Live) { c.Labels = nil }, []Change{{Path: "metadata.labels[" + managedBy + "]", To: "webservice-controller", Missing: true}}},
		{"label of someone else", func(c *Child, _ *Live) { c.Labels[managedBy] = "Helm" }, []Change{{Path: "metadata.labels[" + managedBy + "]", From: "Helm", To: "webservice-controller"}}},
		{"owner missing", func(c *Child, _ *Live) { c.Owners = nil }, []Change{{Path: controller, To: "uid-live", Missing: true}}},
		{"owner isn't a controller", func(c *Child, _ *Live) { c.Owners[0].Controller = nil }, []Change{{Path: controller, To: "uid-live", Missing: true}}},
		{"owner is an earlier object", func(c *Child, _ *Live) { c.Owners[0].UID = oldUID }, []Change{{Path: controller, From: "uid-old", To: "uid-live"}}},
		{"other owners beside", func(c *Child, _ *Live) { c.Owners = append(c.Owners, foreignOwner(false)) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := convergedInput()
			c.change(&in.Child, &in.Live)
			if got := ChildDrift(&in.Child, &in.Live); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestChildContent(t *testing.T) {
	t.Parallel()
	live := liveState(inSync)
	live.Spec.Replicas, live.Spec.Tier = nil, ""
	child := Child{UID: "uid-child", Data: map[string]string{"image": "old", "z": "1", "a": "2"}}
	want := ChildContent{
		Data:     map[string]string{"image": image, "replicas": "1", "tier": "dev"},
		DropData: []string{"a", "z"},
		Labels:   map[string]string{managedBy: "webservice-controller"},
		Owners:   []metav1.OwnerReference{ownedBy(liveUID)},
	}
	if got := childContent(&child, &live); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v\nwant %+v", *got, want)
	}
}

// TestOwners: ours comes first and is the only one of ours; others stay.
func TestOwners(t *testing.T) {
	t.Parallel()
	live := liveState(inSync)
	theirs, another := foreignOwner(false), foreignOwner(false)
	theirs.BlockOwnerDeletion = new(true)
	another.UID = "uid-another"
	for _, c := range []struct {
		name       string
		live, want []metav1.OwnerReference
	}{
		{"none", nil, []metav1.OwnerReference{ownedBy(liveUID)}},
		{"ours", []metav1.OwnerReference{ref(liveUID, true)}, []metav1.OwnerReference{ownedBy(liveUID)}},
		{"ours, not a controller", []metav1.OwnerReference{ref(liveUID, false)}, []metav1.OwnerReference{ownedBy(liveUID)}},
		{"an earlier object's", []metav1.OwnerReference{ref(oldUID, true), ref(liveUID, false)}, []metav1.OwnerReference{ownedBy(liveUID)}},
		{"others, as they are and in their order", []metav1.OwnerReference{theirs, ref(oldUID, true), another}, []metav1.OwnerReference{ownedBy(liveUID), theirs, another}},
	} {
		before := append([]metav1.OwnerReference(nil), c.live...)
		if got := owners(c.live, &live); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v\nwant %+v", c.name, got, c.want)
		}
		if !reflect.DeepEqual(c.live, before) {
			t.Errorf("%s: the live list was changed", c.name)
		}
	}
}
