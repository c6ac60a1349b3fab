package plan

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Keys of the child's data.
const (
	dataImage    = "image"
	dataReplicas = "replicas"
	dataTier     = "tier"
)

// Claim says how a ConfigMap of the child's name stands to its WebService.
type Claim int

// The claims. The zero value is ClaimAbsent.
const (
	// ClaimAbsent: there is no such ConfigMap.
	ClaimAbsent Claim = iota
	// ClaimOurs: it belongs to the live object.
	ClaimOurs
	// ClaimStale: it belongs to an earlier object of the same name.
	ClaimStale
	// ClaimForeign: it is somebody else's and never touched.
	ClaimForeign
)

// ClaimOf judges the child of the live object of that name and uid.
//
// A ConfigMap that anything else controls is foreign, whatever else speaks for
// us: a second controller reference would be refused for ever. One of an earlier
// object of our name is stale, unless it has other owners too: those keep it from
// the collector, so it is taken over in place and their references stay.
func ClaimOf(c *Child, name string, uid types.UID) Claim {
	if !c.Exists() {
		return ClaimAbsent
	}
	managed := c.Labels[v1.ManagedByLabel] == v1.Manager
	var ours, stale, shared bool
	for i := range c.Owners {
		o := &c.Owners[i]
		controls := o.Controller != nil && *o.Controller
		switch {
		case !isWebService(o, name):
			if controls {
				return ClaimForeign
			}
			shared = true
		case o.UID == uid:
			ours = ours || controls || managed
		default:
			stale = stale || controls || managed
		}
	}
	switch {
	case ours, stale && shared:
		return ClaimOurs
	case stale:
		return ClaimStale
	case managed && c.Managed:
		return ClaimOurs
	}
	return ClaimForeign
}

func isWebService(o *metav1.OwnerReference, name string) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group == v1.Group && o.Kind == v1.Kind && o.Name == name
}

// ChildDrift lists where the child differs from what the live object says.
// It is nil where nothing does.
func ChildDrift(c *Child, l *Live) []Change {
	out := dataDrift(c, l)
	if got, ok := c.Labels[v1.ManagedByLabel]; got != v1.Manager {
		out = append(out, Change{Path: "metadata.labels[" + v1.ManagedByLabel + "]", From: got, To: v1.Manager, Missing: !ok})
	}
	if got := controllerOf(c.Owners, l.Name); got != l.UID {
		out = append(out, Change{
			Path: "metadata.ownerReferences[controller]", From: string(got), To: string(l.UID), Missing: got == "",
		})
	}
	return out
}

func dataDrift(c *Child, l *Live) []Change {
	var out []Change
	if got, ok := c.Data[dataImage]; got != l.Spec.Image || !ok {
		out = append(out, Change{Path: "data.image", From: got, To: l.Spec.Image, Missing: !ok})
	}
	if got, ok := c.Data[dataReplicas]; !isNumber(got, l.Replicas()) {
		out = append(out, Change{Path: "data.replicas", From: got, To: itoa(l.Replicas()), Missing: !ok})
	}
	if got, ok := c.Data[dataTier]; got != l.Tier() {
		out = append(out, Change{Path: "data.tier", From: got, To: l.Tier(), Missing: !ok})
	}
	for k, v := range c.Data {
		if k != dataImage && k != dataReplicas && k != dataTier {
			out = append(out, Change{Path: "data." + k, From: v, Extra: true})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// isNumber says whether s is n as itoa writes it. It doesn't allocate.
func isNumber(s string, n int32) bool {
	var digits [len("-2147483648")]byte
	return s == string(strconv.AppendInt(digits[:0], int64(n), 10))
}

// controllerOf is the uid of the WebService of that name that controls the
// child; "" where there is none.
func controllerOf(owners []metav1.OwnerReference, name string) types.UID {
	for i := range owners {
		if o := &owners[i]; isWebService(o, name) && o.Controller != nil && *o.Controller {
			return o.UID
		}
	}
	return ""
}

// childContent is what the child of l shall have; c is the live one or absent.
func childContent(c *Child, l *Live) *ChildContent {
	content := &ChildContent{
		Data:   dataOf(l),
		Labels: map[string]string{v1.ManagedByLabel: v1.Manager},
		Owners: owners(c.Owners, l),
	}
	for k := range c.Data {
		if _, ok := content.Data[k]; !ok {
			content.DropData = append(content.DropData, k)
		}
	}
	slices.Sort(content.DropData)
	return content
}

func dataOf(l *Live) map[string]string {
	return map[string]string{
		dataImage:    l.Spec.Image,
		dataReplicas: itoa(l.Replicas()),
		dataTier:     l.Tier(),
	}
}

// speaksOf says whether c was made from l as it is: somebody may have changed the
// spec, or replaced the object, while c was on its way.
func (c *ChildContent) speaksOf(l *Live) bool {
	return maps.Equal(c.Data, dataOf(l)) && controllerOf(c.Owners, l.Name) == l.UID
}

// owners is the live list with exactly one reference to l, a controller's and the
// first, and the others as they are. References to earlier objects of our name go:
// their controller flag would stand in the way of ours.
func owners(live []metav1.OwnerReference, l *Live) []metav1.OwnerReference {
	isController := true
	out := make([]metav1.OwnerReference, 0, len(live)+1)
	out = append(out, metav1.OwnerReference{
		APIVersion: v1.APIVersion, Kind: v1.Kind, Name: l.Name, UID: l.UID, Controller: &isController,
	})
	for i := range live {
		if !isWebService(&live[i], l.Name) {
			out = append(out, live[i])
		}
	}
	return out
}
