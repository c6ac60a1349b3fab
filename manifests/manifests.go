// Package manifests carries what the cluster must know about the controller:
// the definition of its resource, and the rights of its ServiceAccount. Both
// are YAML, as kubectl apply takes it, and belong to this version.
package manifests

import _ "embed"

//go:embed crd/apps.labhub.io_webservices.yaml
var crd string

//go:embed rbac.yaml
var rbac string

// CRD is the CustomResourceDefinition of WebService: one YAML document,
// generated from the Go types. Each call returns a copy.
func CRD() []byte { return []byte(crd) }

// RBAC is the ServiceAccount webservice-controller in a namespace of the same
// name, with the least rights that it needs: several YAML documents. Each call
// returns a copy.
func RBAC() []byte { return []byte(rbac) }
