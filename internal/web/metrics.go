package web

import "net/http"

// ServeMetrics has scrapes of /metrics answered by h. It is called before Serve; where
// it isn't, there is no such page.
func (s *Server) ServeMetrics(h http.Handler) { s.metrics = h }

func (s *Server) scrape(w http.ResponseWriter, r *http.Request) {
	if s.metrics == nil {
		http.NotFound(w, r)
		return
	}
	s.metrics.ServeHTTP(w, r)
}
