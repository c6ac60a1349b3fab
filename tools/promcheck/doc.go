// Package promcheck holds the examples for monitoring against the real thing: the
// alerts and the dashboard of examples/monitoring are read by the parser of Prometheus
// and evaluated by its engine, on what a real controller has served in a run.
//
// It is a module of its own, so that the product doesn't depend on Prometheus itself.
package promcheck
