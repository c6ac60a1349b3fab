package kube

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"labhub.io/webservice-controller/internal/plan"
)

// TestFailure: what each answer of the server means for what comes next.
func TestFailure(t *testing.T) {
	t.Parallel()
	configmaps := schema.GroupResource{Resource: "configmaps"}
	namespaces := schema.GroupResource{Resource: "namespaces"}
	terminating := apierrors.NewForbidden(configmaps, "a", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		name  string
		err   error
		class plan.FailureClass
		after time.Duration
	}{
		{"no connection", errors.New("connection refused"), plan.Unavailable, 0},
		{"no answer in time", context.DeadlineExceeded, plan.Unavailable, 0},
		{"a conflict of versions", apierrors.NewConflict(configmaps, "a", errors.New("x")), plan.Outdated, 0},
		{"it exists already", apierrors.NewAlreadyExists(configmaps, "a"), plan.Outdated, 0},
		{"it has gone", apierrors.NewNotFound(configmaps, "a"), plan.Outdated, 0},
		{"no such namespace", apierrors.NewNotFound(namespaces, "lab"), plan.NotReady, 0},
		{"the namespace goes", terminating, plan.NotReady, 0},
		{"forbidden", apierrors.NewForbidden(configmaps, "a", errors.New("x")), plan.Refused, 0},
		{"not allowed by validation", apierrors.NewInvalid(schema.GroupKind{Kind: "WebService"}, "a", field.ErrorList{}), plan.Refused, 0},
		{"not understood", apierrors.NewBadRequest("strict decoding error"), plan.Refused, 0},
		{"too large", apierrors.NewRequestEntityTooLargeError("limit is 3145728"), plan.Refused, 0},
		{"not known", apierrors.NewUnauthorized("x"), plan.Unavailable, 0},
		{"too many requests", apierrors.NewTooManyRequests("x", 7), plan.Unavailable, 7 * time.Second},
		{"a timeout of the server", apierrors.NewServerTimeout(configmaps, "patch", 2), plan.Unavailable, 2 * time.Second},
		{"a timeout", apierrors.NewTimeoutError("x", 3), plan.Unavailable, 3 * time.Second},
		{"an error of the server", apierrors.NewInternalError(errors.New("x")), plan.Unavailable, 0},
		{"not serving yet", apierrors.NewServiceUnavailable("x"), plan.Unavailable, 0},
		{"wrapped", fmt.Errorf("on the way: %w", apierrors.NewConflict(configmaps, "a", errors.New("x"))), plan.Outdated, 0},
		{"classed already", fmt.Errorf("x: %w", &plan.Failure{Class: plan.NotWriter, Phrase: "p"}), plan.NotWriter, 0},
	} {
		f := failure(c.err)
		if f.Class != c.class || f.RetryAfter != c.after || f.Phrase == "" {
			t.Errorf("%s: class %d, after %v, phrase %q", c.name, f.Class, f.RetryAfter, f.Phrase)
		}
		if f.Class != plan.NotWriter && !errors.Is(f, c.err) {
			t.Errorf("%s: the error beneath is lost", c.name)
		}
	}
}

// TestPhrase: a phrase goes onto an object. It must not move with the details.
func TestPhrase(t *testing.T) {
	t.Parallel()
	for _, from := range []func(detail string) error{
		func(d string) error { return errors.New(d) },
		func(d string) error { return apierrors.NewInternalError(errors.New(d)) },
		func(d string) error { return apierrors.NewBadRequest(d) },
		func(d string) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: d}, d, errors.New(d))
		},
	} {
		if a, b := failure(from("one")).Phrase, failure(from("other")).Phrase; a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
}
