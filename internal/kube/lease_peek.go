package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TakenOver is when the lease of the source called name was last taken from another
// holder, once identity has it: now, where it is another's who doesn't renew it any
// more, else what the lease itself says. It is zero where that never happened.
//
// It only looks. Whether a lease is renewed is judged by the clock of the one who
// held it, which need not be ours; where the lease can't be read, nothing is known.
func (c *Cluster) TakenOver(ctx context.Context, namespace, name, identity string) time.Time {
	lease, err := c.lease.leases.Leases(namespace).Get(ctx, nameOfLease(name), metav1.GetOptions{})
	if err != nil {
		return time.Time{}
	}
	holder := leaseHolder(lease)
	if holder != "" && holder != identity && time.Since(renewedAt(lease)) >= lasts(lease) {
		return time.Now()
	}
	return c.clock.since(lease.Annotations[takenOverAnnotation])
}
