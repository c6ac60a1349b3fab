// Package kube is the only package that talks to the API server.
//
// It mirrors the cluster's WebServices, their ConfigMaps, the namespaces and
// the CRD by watches, lays the answers of its own writes over what the watches
// have told so far, and carries out the steps that package plan decides on.
//
// A read from a mirror never sends a request. A write is never older than the
// decision that it comes from: each carries the preconditions of its step.
package kube
