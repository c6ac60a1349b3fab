package promcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"labhub.io/webservice-controller/internal/labtest"
)

// limit is far more than anything takes here, on a machine that has other work.
const limit = time.Minute

// lab is a control plane with a directory of files.
type lab struct {
	testing.TB
	proxy      *labtest.Proxy
	kubeconfig string
	namespace  string
	files      string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	cluster := labtest.Start(t)
	l := &lab{TB: t, proxy: labtest.NewProxy(t, cluster), namespace: cluster.Namespace(t), files: t.TempDir()}
	l.kubeconfig = l.proxy.Kubeconfig(t, cluster.Kubeconfig)
	return l
}

// write makes or replaces the file of an object.
func (l *lab) write(name, text string) {
	l.Helper()
	fresh := filepath.Join(l.files, "."+name)
	if err := errors.Join(os.WriteFile(fresh, []byte(text), 0o644), os.Rename(fresh, filepath.Join(l.files, name+".yaml"))); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) remove(names ...string) {
	l.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(l.files, name+".yaml")); err != nil {
			l.Fatal(err)
		}
	}
}

func service(name, image string) string {
	return fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: %s}\nspec: {image: '%s'}\n", name, image)
}

// controller is one that runs.
type controller struct {
	*lab
	stderr text
}

// text is written by one process and read by the test meanwhile.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}

// run starts a controller, until the test ends.
func (l *lab) run() *controller {
	l.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "..", "bin", "webservice-controller"))
	if err != nil {
		l.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		l.Fatal("bin/webservice-controller is missing: run make build first")
	}
	c := &controller{lab: l}
	home := l.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(l.Context()), binary, "run", "--kubeconfig="+l.kubeconfig, "--source="+l.files,
		"--source-namespace="+l.namespace, "--out="+filepath.Join(home, "out"), "--http-addr=127.0.0.1:0",
		"--source-scan-interval=1s", "--prune-after=1s", "--reconcile-backoff-max=300ms", "--log-format=json")
	cmd.Dir, cmd.Env, cmd.Stderr = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, &c.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended: Wait tells
		if err := cmd.Wait(); err != nil || l.Failed() {
			l.Logf("the controller: %v\n%s", err, c.stderr.String())
		}
	})
	return c
}

// scrape reads the metrics once.
func (c *controller) scrape() (scrape, error) {
	match := regexp.MustCompile(`"serving http","addr":"([^"]+)"`).FindStringSubmatch(c.stderr.String())
	if match == nil {
		return scrape{}, errors.New("it doesn't serve yet")
	}
	req, err := http.NewRequestWithContext(c.Context(), http.MethodGet, "http://"+match[1]+"/metrics", nil)
	if err != nil {
		return scrape{}, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return scrape{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return scrape{}, fmt.Errorf("%s %s: %w", answer.Status, body, err)
	}
	at := time.Now()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return scrape{}, err
	}
	samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())},
		slices.Collect(maps.Values(families))...)
	return scrape{at: at, samples: samples}, err
}

// sum adds the samples of one metric of ours whose labels have all of the parts.
func (s scrape) sum(name string, parts ...string) float64 {
	sum := 0.0
	for _, sample := range s.samples {
		if string(sample.Metric[model.MetricNameLabel]) != "webservice_controller_"+name {
			continue
		}
		text := sample.Metric.String()
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) }) {
			sum += float64(sample.Value)
		}
	}
	return sum
}

// when waits for a scrape that fits.
func (c *controller) when(what string, fits func(scrape) bool) scrape {
	c.Helper()
	var found scrape
	labtest.Eventually(c, limit, func() (err error) {
		if found, err = c.scrape(); err == nil && !fits(found) {
			err = errors.New("not yet: " + what)
		}
		return err
	})
	return found
}

// growing waits for so many scrapes, in each of which a sum has grown.
func (c *controller) growing(n int, name string, parts ...string) []scrape {
	c.Helper()
	var all []scrape
	last := -1.0
	for range n {
		s := c.when("more of "+name, func(s scrape) bool { return s.sum(name, parts...) > max(last, 0) })
		all, last = append(all, s), s.sum(name, parts...)
	}
	return all
}

// objects is how many there are where all is as it should be.
const objects = 5

// converged waits until that is so.
func (c *controller) converged() scrape {
	c.Helper()
	return c.when("converged", func(s scrape) bool {
		return s.sum("converged") == 1 && s.sum("objects") == objects && s.sum("ready") == 1
	})
}
