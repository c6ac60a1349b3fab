package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMetrics are served where there are some, and only read.
func TestMetrics(t *testing.T) {
	t.Parallel()
	none, some := &Server{}, &Server{}
	some.ServeMetrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "a 1") }))
	for _, c := range []struct {
		name   string
		server *Server
		method string
		code   int
		body   string
	}{
		{"there are some", some, http.MethodGet, 200, "a 1\n"},
		{"they can't be written", some, http.MethodPost, 405, "only GET and HEAD\n"},
		{"there are none", none, http.MethodGet, 404, "404 page not found\n"},
	} {
		w := httptest.NewRecorder()
		c.server.routes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, "/metrics", nil))
		if w.Code != c.code || w.Body.String() != c.body {
			t.Errorf("%s: %d %q", c.name, w.Code, w.Body)
		}
	}
}
