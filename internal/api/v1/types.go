package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WebServiceSpec is what the user wants. Only the user writes it.
type WebServiceSpec struct {
	// Image is the container image that the service runs. Required and not empty.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`

	// Replicas is how many instances are wanted, 0 or more.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// Tier is the stage that the service belongs to, such as dev or prod.
	//
	// +optional
	// +kubebuilder:default=dev
	Tier string `json:"tier,omitempty"`
}

// WebServiceStatus is what the controller found and did. Only the controller writes it.
type WebServiceStatus struct {
	// Replicas is spec.replicas as the controller last acted on it.
	//
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// ObservedGeneration is the metadata.generation that this status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions holds at most one condition of each type. The controller writes
	// the type Ready and keeps those of others.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WebService is a service that somebody wants to run: an image, a number of
// replicas and a tier. Its controller keeps a ConfigMap named <name>-desired
// that says the same.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=webservices,singular=webservice,shortName=ws,scope=Namespaced
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.spec.tier`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:metadata:annotations="webservice.labhub.io/crd-version=1"
type WebService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	//
	// +required
	Spec WebServiceSpec `json:"spec"`

	// Status is what the controller found and did.
	//
	// +optional
	Status WebServiceStatus `json:"status,omitempty"`
}

// WebServiceList is a list of WebServices, as the API server returns it.
//
// +kubebuilder:object:root=true
type WebServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the WebServices of the list.
	Items []WebService `json:"items"`
}
