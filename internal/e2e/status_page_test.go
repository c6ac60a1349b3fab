package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/browser"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
)

const (
	// pageLimit is far more than the page takes for anything.
	pageLimit = 30 * time.Second
	// followLimit is how soon a page shows what was written to a file.
	followLimit = time.Second
)

// page opens the daemon's page, with an object open on it.
func (d *daemon) page(object string) *browser.Page {
	d.Helper()
	return browser.Start(d).Open(d.address()+"#object="+d.namespace+"/"+object, browser.Wide())
}

// address is where the daemon serves, once it does.
func (d *daemon) address() string {
	d.Helper()
	var match []string
	labtest.Eventually(d, convergeLimit, func() error {
		match = regexp.MustCompile(`msg="serving http" addr=(\S+)`).FindStringSubmatch(d.stderr.String())
		if match == nil {
			return errors.New("no address yet")
		}
		return nil
	})
	return "http://" + match[1] + "/"
}

// freePort is an address that nobody listens on now.
func (l *lab) freePort() string {
	l.Helper()
	listener, err := (&net.ListenConfig{}).Listen(l.Context(), "tcp", "127.0.0.1:0")
	l.must(err)
	l.must(listener.Close())
	return listener.Addr().String()
}

// The page shows what is so, as it comes about: an edit of a file within a second,
// what somebody did by hand, a file that can't be used, and deletions that are held.
func TestThePageFollowsFilesAndCluster(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.http = "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1", "billing", "checkout", "payment", "search")
	d := l.run("--prune-after=1s")
	p := d.page("checkout")
	p.Says(pageLimit, "#state", "Converged")
	p.Says(pageLimit, "#why", "4 WebServices are as the files say")
	p.Says(pageLimit, ".detail", "nginx:1")
	began := browser.Eval[float64](p, "performance.timeOrigin")
	d.owns("checkout")

	var took []time.Duration
	for i := range 5 {
		l.goesBy(1200 * time.Millisecond) // there is a report a second at the most
		image := fmt.Sprintf("nginx:2.%d", i)
		edited := time.Now()
		l.writeServices(image, "checkout")
		p.Says(pageLimit, ".detail .fields", image)
		took = append(took, time.Since(edited))
	}
	slices.Sort(took)
	t.Logf("from file to page: median %s, longest %s", took[2].Round(time.Millisecond), took[4].Round(time.Millisecond))
	if took[2] > followLimit {
		t.Errorf("an edit is on the page after %s, want within %s", took[2], followLimit)
	}

	l.kubectl("patch", "webservice", "checkout", "--type=merge", `--patch={"spec":{"replicas":7}}`, "--field-manager=somebody")
	p.Says(pageLimit, ".detail .decisions", "spec.replicas is 7, set by somebody, and should be 2")
	p.Says(pageLimit, "#drawings", "1 object healed")

	l.write(map[string]string{"search.yaml": service("search", "1.20")})
	p.Says(pageLimit, "#state", "Not converged")
	p.Says(pageLimit, ".notice.problems", "search.yaml:6:10")
	p.Says(pageLimit, ".notice.problems", `image: "1.20"`)
	l.writeServices("nginx:1", "search")
	p.Says(pageLimit, "#state", "Converged")

	l.withdraw("billing", "payment", "search")
	p.Says(pageLimit, ".notice.held", "3 of 4 objects would be deleted, more than half")
	p.Says(pageLimit, ".notice.held .command code", "approve")
	digest := regexp.MustCompile(`[0-9a-f]{64}`).FindString(p.Text(".notice.held .command code"))
	if r := l.exec("approve", digest, "--out="+l.out); r.code != 0 {
		t.Fatalf("the command that the page shows: exit code %d\n%s", r.code, r.stderr)
	}
	p.Says(pageLimit, "#why", "1 WebService is as the files say")
	p.Eventually(pageLimit, "document.querySelector('.notice.held') === null")
	if now := browser.Eval[float64](p, "performance.timeOrigin"); now != began {
		t.Error("the page was loaded again")
	}
	p.Silent()
}

// owns: of an object that nobody else has touched, every field that should have a value
// has it, and is the controller's own.
func (d *daemon) owns(name string) {
	d.Helper()
	var o report.Object
	code, body := d.get("/api/objects/" + d.namespace + "/" + name)
	if err := json.Unmarshal([]byte(body), &o); code != http.StatusOK || err != nil {
		d.Fatalf("%d %s, %v", code, body, err)
	}
	seen := 0
	for _, f := range o.Fields {
		if f.Desired == nil {
			continue
		}
		seen++
		if f.Differs || !slices.Equal(f.Owners, []string{v1.Manager}) {
			d.Errorf("%s of %s: differs %t, owned by %q", f.Path, f.Target, f.Differs, f.Owners)
		}
	}
	if seen < 12 {
		d.Errorf("%d fields should have a value: %s", seen, body)
	}
}

// The page outlives the controller: it says that what it shows is old, and when there
// is a controller again, shows what is true then.
func TestThePageOutlivesTheController(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.http = "--http-addr=" + l.freePort()
	l.writeServices("nginx:1", "checkout")
	d := l.run()
	p := d.page("checkout")
	p.Says(pageLimit, "#state", "Converged")
	p.Says(pageLimit, "#link", "Live")
	began := browser.Eval[float64](p, "performance.timeOrigin")
	for round, end := range []func(){d.stop, func() { d.kill() }} {
		end()
		p.Says(pageLimit, "#lost", "No connection since")
		p.Says(pageLimit, "#lost", "What is shown is how things stood then")
		p.Says(pageLimit, "#link", "No connection")
		image := fmt.Sprintf("nginx:2.%d", round)
		l.writeServices(image, "checkout")
		d = l.run()
		p.Says(pageLimit, "#link", "Live again")
		p.Eventually(pageLimit, "document.getElementById('lost').hidden")
		p.Says(pageLimit, "#state", "Converged")
		p.Says(pageLimit, ".detail .fields", image)
	}
	if now := browser.Eval[float64](p, "performance.timeOrigin"); now != began {
		t.Error("the page was loaded again")
	}
	p.Silent("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
}

// While the API server is away the page says so, and shows how things stood.
func TestThePageTellsOfAnOutage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig, l.http = proxy.Kubeconfig(t, l.kubeconfig), "--http-addr=127.0.0.1:0"
	l.writeServices("nginx:1", "checkout")
	d := l.run(everySecond)
	p := d.page("checkout")
	p.Says(pageLimit, "#state", "Converged")
	proxy.Down()
	p.Says(pageLimit, "#state", "Not ready")
	p.Says(pageLimit, "#why", "Below is how things stood when it last could work")
	proxy.Up(t)
	p.Says(2*pageLimit, "#state", "Converged")
	p.Silent()
}
