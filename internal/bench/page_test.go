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
	var alone, watched, aloneCPU, watchedCPU []time.Duration
	var memory []int64
	ratio := 0.0
	for range tries {
		for range rounds {
			used := w.cpu(t)
			alone = append(alone, w.change(t))
			between := w.cpu(t)
			watched = append(watched, w.changeWatched(t))
			aloneCPU, watchedCPU = append(aloneCPU, between-used), append(watchedCPU, w.cpu(t)-between)
			t.Logf("alone %v, watched %v; CPU %v, %v", alone[len(alone)-1], watched[len(watched)-1], aloneCPU[len(aloneCPU)-1], watchedCPU[len(watchedCPU)-1])
			memory = append(memory, w.memory(t))
		}
		ratio = median(watched).Seconds() / median(alone).Seconds()
		t.Logf("%d changes, medians of %d runs: %v with nobody looking, %v with %d pages: %.3f; memory %d, then %d MB",
			objects, len(alone), median(alone).Round(time.Millisecond), median(watched).Round(time.Millisecond), pages, ratio,
			memory[0]>>20, memory[len(memory)-1]>>20)
		if ratio <= mostSlower {
			break
		}
	}
	if ratio > mostSlower {
		t.Errorf("with %d pages the work takes %.3f of the time, want at most %.2f", pages, ratio, mostSlower)
	}
	if grown := float64(memory[len(memory)-1]) / float64(memory[0]); grown > mostGrowth {
		t.Errorf("memory has grown to %.2f of what it was", grown)
	}
	p := browser.Start(t).Open("http://"+w.addr+"/", browser.Wide())
	p.Says(time.Minute, "#count", "1,000 objects")
	w.changeWatched(t)
	p.Says(time.Minute, ".rows", fmt.Sprintf("should be \"nginx:%d\"", w.round))
	p.Silent()
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
