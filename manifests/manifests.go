// Package manifests carries what the cluster must know about the controller:
// the definition of its resource, the rights of its ServiceAccount, and what runs
// it. All of it is YAML, as kubectl apply takes it, and belongs to this version.
package manifests

import _ "embed"

//go:embed crd/apps.labhub.io_webservices.yaml
var crd string

//go:embed rbac.yaml
var rbac string

//go:embed network.yaml
var network string

//go:embed deployment.yaml
var deployment string

//go:embed folder.yaml
var folder string

// CRD is the CustomResourceDefinition of WebService: one YAML document,
// generated from the Go types. Each call returns a copy.
func CRD() []byte { return []byte(crd) }

// RBAC is the ServiceAccount webservice-controller in a namespace of the same
// name, with the least rights that it needs: several YAML documents. Each call
// returns a copy.
func RBAC() []byte { return []byte(rbac) }

// Network is the Service and the NetworkPolicy of the controller's pod: two YAML
// documents. Each call returns a copy.
func Network() []byte { return []byte(network) }

// Deployment is the controller beside git-sync: one YAML document. Each call
// returns a copy.
func Deployment() []byte { return []byte(deployment) }

// Folder is the Deployment in which something else than git-sync fills the volume
// with the files: one YAML document. Each call returns a copy.
func Folder() []byte { return []byte(folder) }
