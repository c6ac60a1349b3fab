package labtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// CPUTime is how much processor time the server has used since it was started, by its own metrics.
func (c *Cluster) CPUTime(t testing.TB) time.Duration {
	t.Helper()
	const name = "process_cpu_seconds_total "
	text, err := c.Client(t).CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		value, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			t.Fatal(fmt.Errorf("reading %s: %w", name, err))
		}
		return time.Duration(seconds * float64(time.Second))
	}
	t.Fatalf("the server's metrics don't have %s", name)
	return 0
}
