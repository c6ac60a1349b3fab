package walk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

const (
	sourceName = "walk"
	// account is the name of the ServiceAccount that manifests.RBAC makes, and of
	// its namespace.
	account = "webservice-controller"
	// defaultSteps are what takes about four minutes on two cores.
	defaultSteps = 2000
	// defaultSeed is one of many: with it, a failure belongs to the change that is
	// being tested. WALK_SEED takes others.
	defaultSeed = 3
	// toldSteps are how many of the last steps a failure tells.
	toldSteps  = 150
	pruneAfter = 500 * time.Millisecond
)

// TestARandomWalk changes whatever can change, in any order and mostly without
// waiting for anything. Every few dozen steps all that stands in the way of
// convergence is taken away, and then the cluster must be as the directory says.
// What the controller did in between is judged by its documented rules.
func TestARandomWalk(t *testing.T) {
	seed := number(t, "WALK_SEED", defaultSeed)
	steps := number(t, "WALK_STEPS", defaultSteps)
	t.Logf("WALK_SEED=%d WALK_STEPS=%d", seed, steps)
	w := newWalk(t, seed)
	began := time.Now()
	for n := uint64(0); n < steps && !t.Failed(); {
		for range 20 + w.IntN(21) {
			w.step()
			n++
		}
		w.checkpoint()
	}
	w.controller.stop()
	w.sawAllWrites()
	if w.counts["deletion judged"] == 0 && !t.Failed() {
		t.Error("nothing was deleted: the walk proves nothing")
	}
	t.Logf("%d steps in %s: %v", steps, time.Since(began).Round(time.Second), w.counts)
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// walk is one walk: the choices, what they act on, and what is known of it.
type walk struct {
	testing.TB
	*rand.Rand
	cluster    *labtest.Cluster
	core       kubernetes.Interface
	objects    dynamic.Interface
	line       *line
	controller *controller
	mirror     *mirror
	disk       *disk
	history    *history
	out        string
	began      labtest.Mark

	steps     []weighted
	attic     map[string]file        // files that were removed
	edits     map[string][]time.Time // of fields that the controller takes back
	digests   []string               // that were held once
	faultLeft int                    // steps until a fault is healed
	told      []string
	counts    map[string]int
	sent      tally     // by requests that history has forgotten
	judged    time.Time // when history was judged last
}

// weighted is a kind of step, and how often it is taken beside others.
type weighted struct {
	weight int
	// do says what it did; "" where there was nothing to do.
	do func(*walk) string
}

func newWalk(t *testing.T, seed uint64) *walk {
	cluster, home := labtest.Start(t), t.TempDir()
	cluster.Apply(t, manifests.RBAC())
	w := &walk{
		TB: t, Rand: rand.New(rand.NewPCG(seed, 0)), cluster: cluster, core: cluster.Client(t),
		history: &history{source: sourceName}, out: filepath.Join(home, "out"), began: cluster.Audit().Mark(t),
		attic: map[string]file{}, edits: map[string][]time.Time{}, counts: map[string]int{}, sent: tally{},
	}
	w.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last steps:\n%s", strings.Join(w.told, "\n"))
		}
	})
	var err error
	w.objects, err = dynamic.NewForConfig(cluster.Config(t))
	w.must(err)
	w.disk, err = newDisk(filepath.Join(home, "files"), w.history)
	w.must(err)
	w.line = &line{open: map[*http.Request]context.CancelFunc{}, fault: passOn}
	proxy := labtest.NewProxy(t, cluster)
	proxy.Set(w.history.recorded(w.line.handle))
	w.controller = newController(t, home, w.history,
		"--kubeconfig="+proxy.Kubeconfig(t, cluster.ServiceAccount(t, account, account)),
		"--source="+w.disk.link, "--source-name="+sourceName, "--source-namespace="+walkNamespaces()[0],
		"--out="+w.out, "--lease-namespace="+account, "--http-addr=",
		"--source-quiet=20ms", "--source-max-wait=200ms", "--source-scan-interval=1s",
		"--prune-after="+pruneAfter.String(), "--prune-after-takeover=1s",
		"--reconcile-backoff-initial=50ms", "--reconcile-backoff-max=1s")
	w.controller.run(append([]string{"once"}, w.controller.flags...)...) // an empty source: 5, but the definition is there
	w.mirror = newMirror(t, w.objects, w.history)
	for range 12 {
		w.newDocument()
	}
	w.controller.start()
	w.steps = allSteps()
	return w
}

// walkRules: what the settings say, and how much the machine may be busy.
func walkRules() rules {
	return rules{after: pruneAfter, lag: 3 * time.Second, blink: 2 * time.Second, late: 3 * time.Second}
}

// step takes one step of a kind that there is something to do for, and then rests
// a little, mostly.
func (w *walk) step() {
	total := 0
	for _, s := range w.steps {
		total += s.weight
	}
	for did := ""; did == ""; {
		pick := w.IntN(total)
		for _, s := range w.steps {
			if pick -= s.weight; pick < 0 {
				did = s.do(w)
				break
			}
		}
		if did != "" {
			w.tell("%s", did)
		}
	}
	if w.faultLeft > 0 {
		if w.faultLeft--; w.faultLeft == 0 {
			w.heal()
			w.tell("the connection is well again")
		}
	}
	if w.controller.ended() {
		w.Fatal("the daemon has ended by itself")
	}
	switch w.IntN(10) {
	case 0:
		w.rest(500 * time.Millisecond)
	case 1, 2, 3:
		w.rest(80 * time.Millisecond)
	case 4, 5, 6:
		w.rest(10 * time.Millisecond)
	}
}

// rest lets up to so much time pass: the rhythm of steps is part of the walk.
func (w *walk) rest(atMost time.Duration) { w.wait(time.Duration(w.Int64N(int64(atMost)))) }

func (w *walk) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.Context().Done():
	}
}

func (w *walk) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	kind, _, _ := strings.Cut(text, ":")
	w.counts[kind]++
	w.told = append(w.told, time.Now().Format(clock)+" "+text)
	w.told = w.told[max(0, len(w.told)-toldSteps):]
}

func (w *walk) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// chance is true p times in a hundred.
func (w *walk) chance(p int) bool { return w.IntN(100) < p }

func pick[T any](w *walk, from []T) T { return from[w.IntN(len(from))] }

// report is the report of the present daemon.
func (w *walk) report() (*report.Report, error) {
	data, err := os.ReadFile(filepath.Join(w.out, report.FileName))
	if err != nil {
		return nil, err
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if d := w.controller.daemon; d != nil && r.Started.Before(d.started) {
		return nil, errors.New("there is no report of this process yet")
	}
	return &r, nil
}

// sawAllWrites holds what was judged against the server's own record.
func (w *walk) sawAllWrites() {
	w.Helper()
	w.sent.count(w.history.requests)
	if err := w.sent.covers(audited(w, w.cluster, w.began)); err != nil {
		w.Error(err)
	}
}

func walkNamespaces() []string { return []string{"walk-a", "walk-b", "walk-c"} }

const namesPerNamespace = 8

// anyKey is one of the names that files use.
func (w *walk) anyKey() plan.Key {
	return plan.Key{Namespace: pick(w, walkNamespaces()), Name: fmt.Sprint("web-", w.IntN(namesPerNamespace))}
}

func allSteps() []weighted {
	return slices.Concat(fileSteps(), objectSteps(), daemonSteps(), faultSteps())
}
