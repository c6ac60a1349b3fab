package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of scrapes: a scrape takes milliseconds, and one Prometheus has one under
// way.
const (
	scrapeTimeout = 10 * time.Second
	mostScrapes   = 4
)

// Handler answers scrapes. What goes wrong with one is logged, and the scrape fails:
// half of the truth would look like all of it.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: scrapeLog{log}, ErrorHandling: promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: mostScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
}

// scrapeLog is the log that promhttp wants.
type scrapeLog struct{ log *slog.Logger }

// Println logs one error.
func (l scrapeLog) Println(v ...any) {
	l.log.Warn("a scrape of the metrics failed", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}
