package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"labhub.io/webservice-controller/internal/plan"
)

// TestOwnPace: a server that says to come again later is asked once, and what it
// said is what the failure says.
func TestOwnPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		code        int
		after, kind string
		body, says  string
		phrase      string
		retry       time.Duration
		tooMany     bool
	}{
		{"too many, in plain text", 429, "7", "text/plain; charset=utf-8", "slow down\n", "too many requests", "the API server is overloaded", 7 * time.Second, true},
		{"too many, as a status", 429, "1", "application/json", `{"kind":"Status","apiVersion":"v1","message":"a storm"}`, "too many requests", "the API server is overloaded", time.Second, true},
		{"failed", 500, "3", "text/plain", "no storage", "no storage", "the API server has failed", 3 * time.Second, false},
		{"away", 503, "2", "application/octet-stream", "\x00\x01", "", "the API server has failed", 2 * time.Second, false},
		{"no time said", 500, "", "text/plain", "no storage", "no storage", "the API server has failed", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Content-Type", c.kind)
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(c.code)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			client, err := newClients(&rest.Config{Host: server.URL}, newConnections(&rest.Config{}), writeTimeout)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.core.ConfigMaps("lab").Get(t.Context(), "checkout-desired", metav1.GetOptions{})
			f := failure(err)
			if asked != 1 || client.requests.reads.Load() != 1 {
				t.Errorf("asked %d times, counted %d", asked, client.requests.reads.Load())
			}
			if f.Class != plan.Unavailable || f.Phrase != c.phrase || f.RetryAfter != c.retry {
				t.Errorf("%+v", f)
			}
			if apierrors.IsTooManyRequests(err) != c.tooMany {
				t.Errorf("too many requests: %t", !c.tooMany)
			}
			status, ok := errors.AsType[*apierrors.StatusError](f.Err)
			if !ok || c.says != "" && !strings.Contains(f.Error(), c.says) || strings.Contains(f.Error(), server.URL) {
				t.Errorf("%v of %v", f, status)
			}
		})
	}
}
