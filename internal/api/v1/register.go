package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group.
	Group = "apps.labhub.io"
	// Version is the API version.
	Version = "v1"
	// APIVersion is what a file writes for apiVersion.
	APIVersion = Group + "/" + Version
)

// GroupVersion is the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// GroupVersionResource names the resource in requests.
func GroupVersionResource() schema.GroupVersionResource {
	return GroupVersion().WithResource(Resource)
}

// AddToScheme makes the kinds of this package known to s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &WebService{}, &WebServiceList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}
