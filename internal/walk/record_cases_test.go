package walk

import (
	"testing"

	"labhub.io/webservice-controller/internal/plan"
)

func TestTargets(t *testing.T) {
	for path, want := range map[string]struct {
		key                   plan.Key
		resource, subresource string
	}{
		"/apis/apps.labhub.io/v1/namespaces/a/webservices/web":        {plan.Key{Namespace: "a", Name: "web"}, "webservices", ""},
		"/apis/apps.labhub.io/v1/namespaces/a/webservices/web/status": {plan.Key{Namespace: "a", Name: "web"}, "webservices", "status"},
		"/apis/apps.labhub.io/v1/namespaces/a/webservices":            {plan.Key{Namespace: "a"}, "webservices", ""},
		"/api/v1/namespaces/a/configmaps/web-desired":                 {plan.Key{Namespace: "a", Name: "web-desired"}, "configmaps", ""},
		"/api/v1/namespaces":   {plan.Key{}, "namespaces", ""},
		"/api/v1/namespaces/a": {plan.Key{Name: "a"}, "namespaces", ""},
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webservices.example": {plan.Key{Name: "webservices.example"}, "customresourcedefinitions", ""},
	} {
		key, resource, subresource := target(path)
		if key != want.key || resource != want.resource || subresource != want.subresource {
			t.Errorf("%s: %s %s %s", path, key, resource, subresource)
		}
	}
}
