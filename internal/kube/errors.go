package kube

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"labhub.io/webservice-controller/internal/plan"
)

// failure classes the error of a request. The phrase depends on the kind of
// error alone, so that it can stand in a status without ever moving it.
func failure(err error) *plan.Failure {
	var known *plan.Failure
	if errors.As(err, &known) {
		return known
	}
	f := &plan.Failure{Err: err, Phrase: "the API server can't be reached"}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return f
	}
	s := status.Status()
	if s.Details != nil {
		f.RetryAfter = time.Duration(s.Details.RetryAfterSeconds) * time.Second
	}
	f.Class, f.Phrase = classOf(&s)
	return f
}

// watchError says why a watch doesn't work, without the address that was asked
// for: it is long, and its parameters differ from one time to the next.
type watchError struct{ err error }

// Error is the kind of failure, and what the server or the network said.
func (e *watchError) Error() string {
	text := e.err.Error()
	if request, ok := errors.AsType[*url.Error](e.err); ok {
		text = request.Err.Error()
	} else if status, ok := errors.AsType[*apierrors.StatusError](e.err); ok {
		text = status.ErrStatus.Message
	}
	return failure(e.err).Phrase + ": " + text
}

func (e *watchError) Unwrap() error { return e.err }

func classOf(s *metav1.Status) (plan.FailureClass, string) {
	switch {
	case s.Code == http.StatusNotFound && s.Details != nil && s.Details.Kind == "namespaces":
		return plan.NotReady, "the namespace doesn't exist"
	case hasCause(s, corev1.NamespaceTerminatingCause):
		return plan.NotReady, "the namespace is being deleted"
	case s.Code == http.StatusConflict, s.Code == http.StatusNotFound:
		return plan.Outdated, "the object has changed meanwhile"
	case s.Code == http.StatusUnauthorized:
		return plan.Unavailable, "the API server doesn't know who we are"
	case s.Code == http.StatusTooManyRequests, s.Code == http.StatusRequestTimeout:
		return plan.Unavailable, "the API server is overloaded"
	case s.Code == http.StatusForbidden:
		return plan.Refused, "Forbidden"
	case s.Code >= 400 && s.Code < 500:
		return plan.Refused, string(s.Reason)
	}
	return plan.Unavailable, "the API server has failed"
}

func hasCause(s *metav1.Status, cause metav1.CauseType) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == cause {
			return true
		}
	}
	return false
}
