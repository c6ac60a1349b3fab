package kube

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// mostWords is how much of a refusal's text is read.
const mostWords = 64 << 10

// ownPace makes an error of an answer that says to come again later, and of a
// connection that carries no answer one that client-go doesn't know. It would come
// again by itself, up to ten times and for each request, past the backoff of the
// object that the request is for; and of a watch that it couldn't begin it says in
// the end that it was empty.
func ownPace(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(req)
		if err != nil && req.Context().Err() == nil {
			return answer, unknown(err)
		}
		if err != nil || answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < http.StatusInternalServerError {
			return answer, err
		}
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			return answer, nil // client-go doesn't come again either
		}
		defer func() { _ = answer.Body.Close() }()
		return nil, apierrors.NewGenericServerResponse(answer.StatusCode, req.Method, schema.GroupResource{}, "", words(answer), seconds, true)
	})
}

// unknown is the failure of a connection that broke or stayed silent, without what
// client-go knows it by. Others are as they were.
func unknown(err error) error {
	switch {
	case utilnet.IsTimeout(err), errors.Is(err, net.ErrClosed): // by us, for want of an answer
		return &connectionError{silent: true}
	case utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err), utilnet.IsHTTP2ConnectionLost(err):
		return &connectionError{}
	}
	return err
}

// connectionError says how a connection to the API server has failed.
type connectionError struct{ silent bool }

// Error goes after what can't be reached.
func (e *connectionError) Error() string {
	if e.silent {
		return noAnswer
	}
	return "it breaks the connection off"
}

// Is makes a silent one an ErrNoAnswer.
func (e *connectionError) Is(target error) bool { return e.silent && target == ErrNoAnswer }

// words is what an answer says for people; "" where it isn't for them.
func words(answer *http.Response) string {
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostWords))
	if err != nil {
		return ""
	}
	switch kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); {
	case kind == runtime.ContentTypeJSON:
		var status metav1.Status
		if json.Unmarshal(text, &status) == nil {
			return status.Message
		}
	case strings.HasPrefix(kind, "text/"):
		return strings.TrimSpace(string(text))
	}
	return ""
}
