package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Abandoned says whether the lease of the source called name is another's than
// identity's and isn't renewed any more, so that whoever writes next takes it over.
// It only looks. By the clock of the one who held it, which need not be ours; where
// the lease can't be read, nothing is known of another.
func (c *Cluster) Abandoned(ctx context.Context, namespace, name, identity string) bool {
	lease, err := c.lease.leases.Leases(namespace).Get(ctx, "webservice-source-"+name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	if record.HolderIdentity == "" || record.HolderIdentity == identity {
		return false
	}
	return time.Since(record.RenewTime.Time) >= time.Duration(record.LeaseDurationSeconds)*time.Second
}
