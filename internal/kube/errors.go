package kube

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

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
	f := &plan.Failure{Err: err, Phrase: unreachable}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return f
	}
	s := status.Status()
	if request, ok := errors.AsType[*url.Error](err); ok {
		f.Err = request.Err // without the address that was asked for
	}
	if s.Details != nil {
		f.RetryAfter = time.Duration(s.Details.RetryAfterSeconds) * time.Second
	}
	f.Class, f.Phrase = classOf(&s)
	return f
}

// namespaceMissing: the object's namespace isn't there.
const namespaceMissing = "the namespace doesn't exist"

// unreachable: nothing answered, or nothing that speaks our language.
const unreachable = "the API server can't be reached"

// ErrNoAnswer says that the API server takes requests, or seems to, and that no
// answer has come. Where nobody listens at all the error is a syscall.ECONNREFUSED.
// errors.Is tells the two apart in whatever Cluster and Reader return.
var ErrNoAnswer = errors.New("the API server hasn't answered yet; " + checkServer)

// checkServer is what to do where nothing answers.
const checkServer = "check that it runs, and that the kubeconfig names it"

// noAnswer is the same of one request.
const noAnswer = "it gives no answer"

// watchError says why a watch doesn't work, without the address that was asked
// for: it is long, and its parameters differ from one time to the next.
type watchError struct{ err error }

// Error is what the server or the network said, and what a person can do.
func (e *watchError) Error() string {
	phrase := failure(e.err).Phrase
	noLease, isLease := errors.AsType[*noLeaseError](e.err)
	switch {
	case isLease:
		return noLease.Error()
	case apierrors.IsForbidden(e.err):
		return "not allowed: " + said(e.err) + "; grant the rights in manifests/rbac.yaml"
	case apierrors.IsUnauthorized(e.err):
		return phrase + ": " + said(e.err) + "; check the credentials in the kubeconfig"
	case phrase == unreachable:
		return phrase + ": " + said(e.err) + "; " + checkServer
	}
	return phrase + ": " + said(e.err)
}

// said is the plain text of a failure, without the request that it came of.
func said(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		if request.Timeout() {
			return noAnswer
		}
		return request.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return noAnswer
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Message
	}
	return err.Error()
}

func (e *watchError) Unwrap() error { return e.err }

// Is makes one that got no answer an ErrNoAnswer.
func (e *watchError) Is(target error) bool { return target == ErrNoAnswer && unanswered(e.err) }

// unanswered says whether a request failed since no answer came in time.
func unanswered(err error) bool {
	return errors.Is(err, ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) || utilnet.IsTimeout(err)
}

func classOf(s *metav1.Status) (plan.FailureClass, string) {
	switch {
	case s.Code == http.StatusNotFound && s.Details != nil && s.Details.Kind == "namespaces":
		return plan.NotReady, namespaceMissing
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
