package kube

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// definition is the CRD that this version brings.
type definition struct {
	body    []byte
	version int
}

// newDefinition reads the manifest of the CRD.
func newDefinition(manifest []byte) (definition, error) {
	body, err := yaml.ToJSON(manifest)
	if err != nil {
		return definition{}, fmt.Errorf("the CRD's manifest: %w", err)
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(body); err != nil {
		return definition{}, fmt.Errorf("the CRD's manifest: %w", err)
	}
	return definition{body: body, version: crdVersion(&u)}, nil
}

// Prepare installs the CRD where it is missing, and upgrades our own where it
// is older, if the settings allow it. It sends nothing where nothing is to be
// done, and nothing before the CRD's watch has begun. It returns what it has done
// to the CRD, Noop for nothing.
//
// A CRD that others made, or that is newer, is never touched.
func (c *Cluster) Prepare(ctx context.Context) (plan.Action, error) {
	if !c.unprepared() {
		return plan.Noop, nil
	}
	if err := c.gate(ctx, plan.StepNone); err != nil {
		return plan.Noop, failure(err)
	}
	done := plan.Create
	if crd, _ := c.crds.get(crdKey()); crd.uid != "" {
		done = plan.Update
	}
	force := true
	u, err := c.write.dynamic.Resource(crdResource()).Patch(ctx, v1.CRDName, types.ApplyPatchType, c.definition.body,
		metav1.PatchOptions{FieldManager: v1.Manager, Force: &force})
	if err != nil {
		return plan.Noop, fmt.Errorf("the CRD can't be installed: %w", failure(err))
	}
	_, err = c.crds.wrote(crdKey(), u)
	return done, err
}

// unprepared says whether there is something for Prepare to do.
func (c *Cluster) unprepared() bool {
	if !c.opts.InstallCRD || !c.crds.ready() {
		return false
	}
	crd, _ := c.crds.get(crdKey())
	return crd.uid == "" || crd.ours && !crd.terminating && crd.version < c.definition.version
}

// crd is what decisions need to know of the CRD. One that is being deleted takes
// no new objects, and those that it has must be let go.
func (c *Cluster) crd() plan.CRD {
	crd, _ := c.crds.get(crdKey())
	switch why := c.unserved(crd); {
	case why != nil:
		return plan.CRD{Reason: why.Error()}
	case forbidden(c.health.err(watchCRD)):
		return plan.CRD{Ready: true}
	case crd.terminating:
		return plan.CRD{Reason: crdTerminating}
	}
	return plan.CRD{Ready: true, Missing: crd.missing}
}

const crdTerminating = "the CRD " + v1.CRDName + " is being deleted"

// unserved says why WebServices can't be read; nil where they can.
func (c *Cluster) unserved(crd crdState) error {
	switch {
	case forbidden(c.health.err(watchCRD)):
	case !c.crds.ready():
		return ErrNoAnswer
	case crd.uid == "" && c.opts.InstallCRD:
		return errors.New("the CRD " + v1.CRDName + " isn't there yet")
	case crd.uid == "":
		return errors.New("the CRD " + v1.CRDName + " is missing: install it, or set crd.install to true")
	case crd.terminating && (!crd.established || !crd.served):
		return errors.New(crdTerminating)
	case !crd.established:
		return errors.New("the CRD " + v1.CRDName + " isn't established yet")
	case !crd.served:
		return errors.New("the CRD " + v1.CRDName + " doesn't serve version " + v1.Version)
	}
	if !c.webservices.ready() {
		return errors.New("the WebServices haven't been listed yet")
	}
	return nil
}

func crdKey() plan.Key { return plan.Key{Name: v1.CRDName} }

// State is nil when the cluster can be worked on, and else says in one sentence
// what stands in the way. A CRD that is being deleted doesn't, while it is served:
// it waits for objects to be cleaned up, and decisions know of it.
func (c *Cluster) State() error {
	if err := c.health.first(); err != nil {
		return &watchError{err}
	}
	crd, _ := c.crds.get(crdKey())
	why := c.unserved(crd)
	switch {
	case why != nil:
		return why
	case !c.children.ready():
		return errors.New("the ConfigMaps haven't been listed yet")
	case !c.namespaces.ready() && !c.namespacesForbidden():
		return errors.New("the namespaces haven't been listed yet")
	}
	return nil
}

func (c *Cluster) namespacesForbidden() bool {
	for _, s := range c.scopes() {
		if forbidden(c.health.err(s.name(watchNamespaces))) {
			return true
		}
	}
	return false
}
