package labtest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault handles a request in the server's place, or has it handled by next.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// When makes a fault act only on the requests that match.
func When(match func(*http.Request) bool, f Fault) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if match(r) {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// Times makes a fault act on the first n requests that it gets.
func Times(n int64, f Fault) Fault {
	var used atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if used.Add(1) <= n {
			f(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// Abort breaks the connection before the server sees the request.
func Abort() Fault {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// AbortAnswer lets the server do what was asked and breaks the connection before the client hears of it.
func AbortAnswer() Fault {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Delay holds each request back before the server sees it. One whose client gives up meanwhile never gets there.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		setBody(r, readBody(r)) // the end of a connection shows only once the body has been read
		select {
		case <-time.After(d):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Respond answers with a code and a reason of the API, as the server would.
func Respond(code int, reason metav1.StatusReason) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure,
			Code:     int32(code),
			Reason:   reason,
			Message:  "fault set by the test",
		})
	}
}

// RewriteRequest changes the body that the server sees.
func RewriteRequest(change func([]byte) []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		setBody(r, change(readBody(r)))
		next.ServeHTTP(w, r)
	}
}

// RewriteResponse changes the body that the client sees. Not for watches: it needs the body's end.
func RewriteResponse(change func([]byte) []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Set("Accept-Encoding", "identity")
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := change(answer.Body.Bytes())
		maps.Copy(w.Header(), answer.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body) // a client that is gone needs no answer
	}
}

func readBody(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return body
}

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// IsWatch matches the requests that open a watch.
func IsWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// IsWrite matches the requests that may change something.
func IsWrite(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
