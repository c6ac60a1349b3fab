// Package metrics counts what the controller does, in the form that Prometheus
// reads.
//
// Metrics is the Observer of packages engine and kube, which don't know of
// Prometheus. What a report says isn't counted again: it is read from the last one
// that was published, so that report, page and metrics can't disagree.
//
// The number of series has a bound that neither files nor the cluster can move: each
// label takes its values from a list that is known at the start, and whatever isn't
// on it counts as "other". Telling of something that has a series already allocates
// nothing.
package metrics
