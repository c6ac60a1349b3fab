package labtest

import (
	"testing"
	"time"
)

const pollPeriod = 10 * time.Millisecond

// Eventually asks until the answer is nil, and ends the test with the last error when that takes longer than timeout.
func Eventually(t testing.TB, timeout time.Duration, ask func() error) {
	t.Helper()
	ticker := time.NewTicker(pollPeriod)
	defer ticker.Stop()
	deadline := time.Now().Add(timeout)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so within %s: %v", timeout, err)
		}
		<-ticker.C
	}
}
