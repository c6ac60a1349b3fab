package kube

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// TestRights: what the shipped account may do in any namespace, by the server's
// word. It deletes what it makes and no more, one by one, and sees nothing that
// isn't its affair.
func TestRights(t *testing.T) {
	shipped(t)
	for allowed, verbs := range map[bool][]string{
		true: {
			"get webservices", "list webservices", "watch webservices", "create webservices", "patch webservices", "delete webservices",
			"patch webservices/status", "delete configmaps", "create namespaces",
			"create events", "patch events",
		},
		false: {
			"update webservices", "deletecollection webservices", "update webservices/status", "get webservices/status",
			"deletecollection configmaps", "update configmaps",
			"delete namespaces", "patch namespaces",
			"delete customresourcedefinitions", "update customresourcedefinitions",
			"get events", "list events", "watch events", "update events", "delete events", "deletecollection events",
			"get secrets", "list secrets", "watch secrets", "create pods",
			"list leases", "delete leases",
		},
	} {
		for _, verb := range verbs {
			if got := may(t, verb); got != allowed {
				t.Errorf("%s: allowed %t, want %t", verb, got, allowed)
			}
		}
	}
}

// may asks the server whether the shipped account may do that everywhere; of
// definitions, to our own.
func may(t *testing.T, question string) bool {
	t.Helper()
	verb, resource, _ := strings.Cut(question, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	attributes := &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: subresource}
	switch resource {
	case v1.Resource:
		attributes.Group = v1.Group
	case crdResource().Resource:
		attributes.Group, attributes.Name = crdResource().Group, v1.CRDName
	case "events":
		attributes.Group = eventsv1.GroupName
	case "leases":
		attributes.Group, attributes.Namespace = "coordination.k8s.io", leaseNamespace
	}
	answer, err := shared.Client(t).AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + leaseNamespace + ":webservice-controller", ResourceAttributes: attributes,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
