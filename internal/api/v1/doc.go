// Package v1 holds the WebService resource, version v1 of group apps.labhub.io,
// and the names that its users and other programs rely on: labels, annotations,
// the finalizer, condition types and reasons.
//
// It has no behaviour beyond what a Kubernetes API package needs, and the reading
// of annotations that files and live objects share.
//
// +kubebuilder:object:generate=true
// +groupName=apps.labhub.io
package v1
