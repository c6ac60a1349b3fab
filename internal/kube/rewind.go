package kube

import "labhub.io/webservice-controller/internal/plan"

// suspectRewind has all watches begin anew, since the server may be at an earlier state
// than it was: restored from a backup, or emptied. A watch that goes on from a version
// which the server hasn't reached yet is taken, and stays silent; whatever the mirrors
// have then is of a past that never was.
//
// It is the Lease that tells: while we run, somebody looks at it or renews it every
// other second, so that nothing is younger for long.
func (c *Cluster) suspectRewind() {
	select {
	case c.rewound <- struct{}{}:
	default:
	}
}

// forgetAll empties all mirrors. That of the CRD goes first: without it nothing can be
// worked on, so nobody takes what is missing meanwhile for what is gone.
func (c *Cluster) forgetAll() {
	c.crds.forget()
	c.namespaces.forget()
	c.children.forget()
	c.webservices.forget()
	c.stateChanged()
}

// forget empties the mirror, which isn't ready until feeds that are added now have been
// listed.
func (m *mirror[T]) forget() {
	m.mu.Lock()
	told := make([]plan.Key, 0, len(m.objects)+len(m.ahead))
	for key := range m.objects {
		told = append(told, key)
	}
	for key := range m.ahead {
		if _, twice := m.objects[key]; !twice {
			told = append(told, key)
		}
	}
	clear(m.objects)
	clear(m.ahead)
	m.feeds = nil
	m.mu.Unlock()
	m.tell(told)
}
