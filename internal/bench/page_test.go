package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/browser"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// How many pages look on, by how much that may slow the work down, and by how much
// memory may grow from the first round to the last.
const (
	pages      = 20
	mostSlower = 1.05
	mostGrowth = 1.25
)

// TestPagesCostLittle changes 1,000 WebServices again and again, in turns with 20 pages
// that follow and with none, and at last with a real browser.
func TestPagesCostLittle(t *testing.T) {
	cluster := labtest.Start(t)
	cluster.Apply(t, manifests.CRD())
	w := startWatched(t, cluster)
	w.change(t) // everything is created
	w.change(t)
	var alone, watched costs
	tooSlow := "not measured"
	for range tries {
		for range rounds {
			alone.add(w.measure(t, w.change))
			watched.add(w.measure(t, w.changeWatched))
		}
		if tooSlow = slower(t, &alone, &watched); tooSlow == "" {
			break
		}
	}
	if tooSlow != "" {
		t.Error(tooSlow)
	}
	if grown := float64(watched.memory[len(watched.memory)-1]) / float64(watched.memory[0]); grown > mostGrowth {
		t.Errorf("memory has grown to %.2f of what it was", grown)
	}
	p := browser.Start(t).Open("http://"+w.addr+"/", browser.Wide())
	p.Says(time.Minute, "#count", "1,000 objects")
	w.changeWatched(t)
	p.Says(time.Minute, ".rows", fmt.Sprintf("should be \"nginx:%d\"", w.round))
	p.Silent()
}

// costs is what rounds took: time, the controller's use of processors, and the memory
// that it had after.
type costs struct {
	took, cpu []time.Duration
	memory    []int64
}

func (c *costs) add(took, cpu time.Duration, memory int64) {
	c.took, c.cpu, c.memory = append(c.took, took), append(c.cpu, cpu), append(c.memory, memory)
}

// measure is one round.
func (w *watchedRun) measure(t *testing.T, change func(*testing.T) time.Duration) (took, cpu time.Duration, memory int64) {
	t.Helper()
	before := w.cpu(t)
	took = change(t)
	return took, w.cpu(t) - before, w.memory(t)
}

// slower says by how much the pages slow the work down, if that is too much. What else
// the machine does shows in time, and hardly in the use of processors. So the time may
// be longer by as much more as rounds with nobody looking differ among themselves.
func slower(t *testing.T, alone, watched *costs) string {
	t.Helper()
	sorted := slices.Sorted(slices.Values(alone.took))
	noise := sorted[len(sorted)*3/4].Seconds()/sorted[len(sorted)/4].Seconds() - 1
	inTime := median(watched.took).Seconds() / median(alone.took).Seconds()
	inCPU := median(watched.cpu).Seconds() / median(alone.cpu).Seconds()
	t.Logf("%d changes, medians of %d rounds: with nobody looking %v and %v of CPU, with %d pages %v and %v; "+
		"in time %.3f, where the machine's noise is %.3f, in CPU %.3f; memory %d, then %d MB",
		objects, len(alone.took), median(alone.took).Round(time.Millisecond), median(alone.cpu), pages,
		median(watched.took).Round(time.Millisecond), median(watched.cpu), inTime, noise, inCPU,
		watched.memory[0]>>20, watched.memory[len(watched.memory)-1]>>20)
	switch {
	case inCPU > mostSlower:
		return fmt.Sprintf("with %d pages the controller uses %.3f of the CPU, want at most %.2f", pages, inCPU, mostSlower)
	case inTime > mostSlower+noise:
		return fmt.Sprintf("with %d pages the work takes %.3f of the time, want at most %.2f", pages, inTime, mostSlower+noise)
	}
	return ""
}

// watchedRun is a controller at work on files that change all at once.
type watchedRun struct {
	cluster      *labtest.Cluster
	cmd          *exec.Cmd
	addr         string
	home, source string
	namespace    string
	round        int
}

func startWatched(t *testing.T, cluster *labtest.Cluster) *watchedRun {
	t.Helper()
	home := t.TempDir()
	w := &watchedRun{cluster: cluster, home: home, source: filepath.Join(home, "files"), namespace: cluster.Namespace(t), addr: freeAddr(t)}
	w.swap(t)
	w.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), controllerBinary(t), "run", "--kubeconfig", cluster.Kubeconfig,
		"--source", w.source, "--out", filepath.Join(home, "out"), "--source-name", w.namespace, "--namespaces-only", w.namespace,
		"--source-scan-interval", "1h", "--http-addr", w.addr, "--log-level", "warn")
	var stderr bytes.Buffer
	w.cmd.Stderr = &stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, stderr.String())
		}
	})
	return w
}

func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// swap puts files in the place of the ones that are there, all with another image.
func (w *watchedRun) swap(t *testing.T) {
	t.Helper()
	w.round++
	dir := filepath.Join(w.home, fmt.Sprint("round-", w.round))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		text := fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: web-%04d\n  namespace: %s\nspec:\n  image: nginx:%d\n",
			i+1, w.namespace, w.round)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("web-%04d.yaml", i+1)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(w.home, "next")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, w.source); err != nil {
		t.Fatal(err)
	}
}

// change changes every WebService, and returns how long it took until the report said
// that all is converged.
func (w *watchedRun) change(t *testing.T) time.Duration {
	t.Helper()
	path := filepath.Join(w.home, "out", report.FileName)
	before := digestOf(path)
	if w.round > 1 || before != "" {
		w.swap(t)
	}
	began := time.Now()
	var took time.Duration
	var seen time.Time
	labtest.Eventually(t, 2*time.Minute, func() error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.ModTime().Equal(seen) {
			return errors.New("no new report")
		}
		seen = info.ModTime()
		if digest := digestOf(path); digest == "" || digest == before {
			return errors.New("not converged on the new files")
		}
		took = info.ModTime().Sub(began)
		return nil
	})
	return took
}

// digestOf is the digest of the files on which a report says that all is converged.
func digestOf(path string) string {
	var r struct {
		Converged bool
		Source    struct{ Digest string }
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &r) != nil || !r.Converged {
		return ""
	}
	return r.Source.Digest
}

// changeWatched is change with pages that look on. Each must be told of all.
func (w *watchedRun) changeWatched(t *testing.T) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	begun := make(chan error, pages)
	told := make(chan int, pages)
	for range pages {
		following.Go(func() { told <- w.follow(ctx, begun) })
	}
	for range pages {
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	took := w.change(t)
	for range pages {
		if n := <-told; n != objects {
			t.Errorf("a page was told of %d changes", n)
		}
	}
	cancel()
	following.Wait()
	return took
}

// follow reads the stream as a page does until every object has changed, and says of
// how many it was told.
func (w *watchedRun) follow(ctx context.Context, begun chan<- error) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.addr+"/api/stream", nil)
	if err != nil {
		begun <- err
		return 0
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		begun <- err
		return 0
	}
	defer response.Body.Close()
	changed := map[string]bool{}
	all := false
	lines := bufio.NewReader(response.Body)
	for len(changed) < objects {
		line, err := lines.ReadString('\n')
		if err != nil {
			return len(changed)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, `{"not_ready"`) {
			continue
		}
		var frame struct {
			Full  bool
			Items []struct{ Name, Reason string }
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			return -1
		}
		if frame.Full && !all {
			all = true
			begun <- nil
			continue
		}
		for _, item := range frame.Items {
			changed[item.Name] = true
		}
	}
	return len(changed)
}

// cpu is what the controller has used of the processor until now.
func (w *watchedRun) cpu(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// After the name, which may have blanks, user and system time are the 12th and 13th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	const perSecond = 100 // as Linux counts for everybody
	return time.Duration(ticks) * time.Second / perSecond
}

// memory is what the controller has of the machine's.
func (w *watchedRun) memory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("the system doesn't say how much memory the controller has")
	return 0
}
