//go:build soak

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
)

// A pod's token lives for a limited time, and kubelet replaces its file when four
// fifths of that are over. Ten minutes are the least that a server grants.
func TestSoakTokensThatEndWhileItRuns(t *testing.T) {
	t.Parallel()
	const during, life = 30 * time.Minute, 10 * time.Minute
	l := newLabOn(t, labtest.Start(t))
	token := l.tokenFile()
	renew := func() {
		next := token + ".next"
		l.must(os.WriteFile(next, []byte(l.cluster.Token(t, account, account, life)), 0o600))
		l.must(os.Rename(next, token))
	}
	renew()
	renewed, began := time.Now(), time.Now()
	l.writeServices("nginx:0", "checkout")
	d := l.run()
	d.converges()
	mark := l.cluster.Audit().Mark(t)
	for n := 1; time.Since(began) < during; n++ {
		if time.Since(renewed) > life*4/5 {
			renew()
			renewed = time.Now()
		}
		image := fmt.Sprintf("nginx:%d", n)
		l.writeServices(image, "checkout")
		labtest.Eventually(t, recovery, func() error { return l.done("checkout", image) })
		l.goesBy(20 * time.Second)
	}
	if refused := l.unauthorized(mark); refused > 1 {
		t.Errorf("%d requests were refused for want of a token", refused)
	}
	d.converges()
}
