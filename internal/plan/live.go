package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Live is a WebService as the cluster holds it, with what is known of who owns
// its fields. The zero value is an object that doesn't exist. It is shared with
// the cache and never written to.
type Live struct {
	*v1.WebService
	Fields Fields
}

// Exists is false where the cluster has no such object.
func (l *Live) Exists() bool { return l.WebService != nil }

// Terminating is true for an object that somebody has deleted and that waits
// for its finalizers.
func (l *Live) Terminating() bool { return l.Exists() && l.DeletionTimestamp != nil }

// CleanupGrace is how long the object of another source is left to that source's
// own controller when it is deleted.
const CleanupGrace = time.Minute

// Overdue is true for an object that has been terminating for longer than CleanupGrace.
func (l *Live) Overdue(now time.Time) bool {
	return l.Terminating() && now.Sub(l.DeletionTimestamp.Time) > CleanupGrace
}

// Suspended is true where the live object asks to be left alone. A value that
// we don't know counts as well: that is the safe side.
func (l *Live) Suspended() bool {
	if !l.Exists() {
		return false
	}
	_, ok := l.Annotations[v1.ReconcileAnnotation]
	return ok
}

// Replicas is spec.replicas, or the default where the server filled in none.
func (l *Live) Replicas() int32 {
	if l.Spec.Replicas == nil {
		return defaultReplicas
	}
	return *l.Spec.Replicas
}

// Tier is spec.tier, or the default where the server filled in none.
func (l *Live) Tier() string { return tierOf(l.Spec.Tier) }

// tierOf is what the ConfigMap of an object with that tier says. An empty one can't
// be told from none.
func tierOf(tier string) string {
	if tier == "" {
		return defaultTier
	}
	return tier
}

// A CRD made by hand may declare no defaults.
const (
	defaultReplicas = 1
	defaultTier     = "dev"
)

// Belongs says whose a live object is.
type Belongs int

// Whose an object may be. The zero value is Nobodys.
const (
	// Nobodys: no source put it there, or the one that did was made to let go. So is
	// a copy of an object of ours until our own apply has changed it.
	Nobodys Belongs = iota
	// Ours: the label has our name and our own apply wrote it.
	Ours
	// Anothers: the label has another name, whoever wrote it.
	Anothers
)

// BelongsTo says whose l is, seen by the source called name.
func (l *Live) BelongsTo(name string) Belongs {
	if !l.Exists() {
		return Nobodys
	}
	label, ok := l.Labels[v1.SourceLabel]
	switch {
	case !ok:
		return Nobodys
	case label != name:
		return Anothers
	case l.Fields.HasLabel(v1.SourceLabel) && !l.Fields.Restored:
		return Ours
	}
	return Nobodys
}

// Child is the ConfigMap of a WebService as the cluster holds it. The zero
// value is one that doesn't exist. Its maps and slices are shared with the
// cache and never written to.
type Child struct {
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	Owners          []metav1.OwnerReference
	Data            map[string]string
	// Terminating: deleted, and waiting for its finalizers.
	Terminating bool
	// Immutable: the server refuses every change of Data.
	Immutable bool
	// Managed: our field manager has written some of it.
	Managed bool
	// By says who owns its fields.
	By Owners[ChildOwners]
}

// Exists is false where the cluster has no such object.
func (c *Child) Exists() bool { return c.UID != "" }
