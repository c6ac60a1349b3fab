package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
)

// verify runs `verify` on the lab's files.
func (l *lab) verify(args ...string) result {
	l.Helper()
	return l.exec(append(append([]string{"verify"}, l.flags()...), args...)...)
}

// verdict is the last line of stdout.
func (r result) verdict() string {
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[len(lines)-1]
}

// rows are the words of the table's lines, by kind/name.
func (r result) rows() map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(r.stdout) {
		if words := strings.Fields(line); len(words) > 5 && (words[0] == "webservice" || words[0] == "configmap") {
			rows[words[0]+"/"+words[2]] = words
		}
	}
	return rows
}

func TestVerifyProvesThatASecondPassChangesNothing(t *testing.T) {
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	var before map[string]string
	for _, lab := range []string{"a fresh one", "a converged one"} {
		mark := l.cluster.Audit().Mark(t)
		r := l.verify()
		if r.code != 0 || r.verdict() != "proven: a second pass over 3 objects changed nothing and sent 0 writes" {
			t.Fatalf("%s: exit code %d\n%s\n%s", lab, r.code, r.stdout, r.stderr)
		}
		rows := r.rows()
		if len(rows) != 6 {
			t.Errorf("%s: %d rows, want 3 objects and a ConfigMap for each\n%s", lab, len(rows), r.stdout)
		}
		for name, state := range l.states() {
			row := rows[strings.Replace(strings.Replace(name, "webservices/", "webservice/", 1), "configmaps/", "configmap/", 1)]
			if len(row) < 6 || row[3] != row[4] || !strings.Contains(state, "version "+row[3]+" ") {
				t.Errorf("%s: of %s the table says %q, and the server %s", lab, name, row, state)
			}
		}
		if before != nil {
			l.equal(before, l.states())
			l.readsAnew(mark) // where the CRD is new, a first look may come too soon
		}
		before = l.states()
	}
}

// readsAnew wants that WebServices were listed or watched from nothing twice.
func (l *lab) readsAnew(since labtest.Mark) {
	l.Helper()
	n := 0
	for _, r := range l.cluster.Audit().Requests(l, "webservice-controller/", since) {
		if r.Resource == "webservices" && (r.Verb == "list" || strings.Contains(r.URI, "sendInitialEvents=true")) {
			n++
		}
	}
	if n != 2 {
		l.Errorf("WebServices were read %d times, want once for each pass", n)
	}
}

// labFiles are those that verify NAME leaves.
func labFiles() []string {
	return []string{"observe.json", "decision-1.json", "decision-2.json", "rv-before.txt", "rv-after.txt"}
}

// outFile is a file of the out directory, JSON without its blanks.
func (l *lab) outFile(name string) string {
	l.Helper()
	data, err := os.ReadFile(filepath.Join(l.out, name))
	l.must(err)
	if filepath.Ext(name) != ".json" {
		return string(data)
	}
	var content any
	l.must(json.Unmarshal(data, &content))
	data, err = json.Marshal(content)
	l.must(err)
	return string(data)
}

// The lab's steps 1, 2 and 4: what was seen, what was decided at first, and that
// the second time nothing moved.
func TestVerifyOfOneObjectLeavesTheLabsFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.onceOK("--source=" + l.anotherSource("billing", "nginx:1.26"))
	billing := l.versionOf("billing")

	const desired = `"desired":{"image":"nginx:1.27","replicas":2,"tier":"dev"}`
	const noop = `{"action":"noop","reason":"checkout-desired says what the spec says","target":"configmap/checkout-desired"}`
	for _, c := range []struct{ lab, observed, decision string }{
		{"a fresh one", `{"actual":null,` + desired + `}`,
			`{"action":"create","reason":"the ConfigMap doesn't exist","target":"configmap/checkout-desired"}`},
		{"a converged one", `{"actual":{"image":"nginx:1.27","replicas":"2","tier":"dev"},` + desired + `}`, noop},
	} {
		r := l.verify("checkout", "-n", l.namespace)
		if r.code != 0 || r.verdict() != "proven: a second pass over 1 object changed nothing and sent 0 writes" {
			t.Fatalf("%s: exit code %d\n%s\n%s", c.lab, r.code, r.stdout, r.stderr)
		}
		child, err := l.child("checkout")
		l.must(err)
		for file, want := range map[string]string{
			"observe.json": c.observed, "decision-1.json": c.decision, "decision-2.json": noop,
			"rv-before.txt": child.ResourceVersion + "\n", "rv-after.txt": child.ResourceVersion + "\n",
		} {
			if got := l.outFile(file); got != want {
				t.Errorf("%s: %s is\n%s want\n%s", c.lab, file, got, want)
			}
		}
	}
	if now := l.versionOf("billing"); now != billing {
		t.Errorf("billing wasn't asked for, and went from version %s to %s", billing, now)
	}
}

// anotherSource is a directory with one file, for the same source.
func (l *lab) anotherSource(name, image string) string {
	l.Helper()
	dir := l.TempDir()
	l.must(os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(service(name, image)), 0o644))
	return dir
}

func (l *lab) versionOf(name string) string {
	l.Helper()
	ws, err := l.webservice(name)
	l.must(err)
	return ws.ResourceVersion
}

// Work on one object leaves alone what others need: their report, and a person's
// approval of what is held.
func TestVerifyOfOneObjectLeavesReportAndApprovalsAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "a", "b", "c", "d", "checkout")
	l.onceOK()
	for _, name := range []string{"a", "b", "c", "d"} {
		l.must(os.Remove(filepath.Join(l.source, name+".yaml")))
	}
	if r := l.once(); r.code != 4 {
		t.Fatalf("exit code %d, want 4: deletions are held\n%s", r.code, r.stderr)
	}
	held := l.lastReport()
	if r := l.exec("approve", held.HeldDigest, "--out="+l.out); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if r := l.verify("checkout", "-n", l.namespace); r.code != 0 {
		t.Fatalf("exit code %d: what is held is others' business\n%s%s", r.code, r.stdout, r.stderr)
	}
	if now := l.lastReport(); !now.Started.Equal(held.Started) {
		t.Errorf("the report is another one: %+v", now.Summary)
	}
	if r := l.verify("a", "-n", l.namespace); r.code != 4 || !strings.HasPrefix(r.verdict(), "proven: ") {
		t.Errorf("of what is held: exit code %d, want 4 after a proof\n%s%s", r.code, r.stdout, r.stderr)
	}
	if r := l.once(); r.code != 0 {
		t.Errorf("the approval is gone: exit code %d\n%s", r.code, r.stderr)
	}
}

// Somebody who changes an object again and again, though nothing of it is ours:
// nothing is written, and yet nothing stays as it is.
func TestVerifyFailsWhereSomethingWritesEachTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.onceOK()
	stop := l.meddle("checkout")
	r := l.verify()
	stop()
	l.notProven(r, "somebody else changed webservice "+l.namespace+"/checkout", "--show-managed-fields")
	rows := r.rows()
	if row := rows["webservice/checkout"]; len(row) < 6 || row[3] == row[4] {
		t.Errorf("checkout didn't move: %q", row)
	}
	if row := rows["webservice/billing"]; len(row) < 6 || row[3] != row[4] {
		t.Errorf("billing moved: %q", row)
	}
	if r := l.verify(); r.code != 0 {
		t.Errorf("once that has ended: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// notProven wants that the proof has failed and that what the error says helps.
func (l *lab) notProven(r result, says ...string) {
	l.Helper()
	lines := r.errorLines()
	if r.code != 1 || len(lines) != 1 || !strings.HasPrefix(r.verdict(), "not proven: ") {
		l.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for _, part := range says {
		if !strings.Contains(lines[0], part) {
			l.Errorf("the error doesn't say %q: %s", part, lines[0])
		}
	}
}

// meddle changes an annotation of a WebService again and again, until it is told
// to stop.
func (l *lab) meddle(name string) (stop func()) {
	ctx, cancel := context.WithCancel(l.Context())
	var meddling sync.WaitGroup
	meddling.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				patch := `{"metadata":{"annotations":{"example.org/turn":"` + strconv.Itoa(n) + `"}}}`
				if err := l.patch(ctx, webservices(), name, patch); err != nil && ctx.Err() == nil {
					l.Error(err)
				}
			}
		}
	})
	return func() { cancel(); meddling.Wait() }
}

// Somebody who undoes what the first pass wrote: the second one wants to write
// again, says what, and doesn't.
func TestVerifyFailsWhereASecondPassWouldWriteAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	proxy := labtest.NewProxy(t, l.cluster)
	l.kubeconfig = proxy.Kubeconfig(t, l.kubeconfig)
	undo := func() {
		l.edit(configmaps(), "checkout-desired", `{"data":{"tier":"other"}}`)
		l.edit(webservices(), "search", `{"spec":{"image":"nginx:0.1"}}`)
	}
	proxy.Set(atTheSecondReading(undo))
	r := l.verify()
	l.notProven(r, "configmap "+l.namespace+"/checkout-desired", "data.tier", "--show-managed-fields")
	if want := "not proven: a second pass over 3 objects would write to 2 of them"; r.verdict() != want {
		t.Errorf("the verdict is %q, want %q", r.verdict(), want)
	}
	if row := strings.Join(r.rows()["webservice/search"], " "); !strings.Contains(row, "would update it: spec.image") {
		t.Errorf("of search it says %q", row)
	}
	if !strings.Contains(r.stdout, "requests of the second pass: 0 reads, 0 writes") {
		t.Errorf("something was sent:\n%s", r.stdout)
	}
	child, err := l.child("checkout")
	l.must(err)
	ws, err := l.webservice("search")
	l.must(err)
	if child.Data["tier"] != "other" || ws.Spec.Image != "nginx:0.1" {
		t.Errorf("the second pass has written: %v, %s", child.Data, ws.Spec.Image)
	}

	proxy.Set(nil)
	if r := l.verify(); r.code != 0 {
		t.Errorf("once nobody undoes it: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// atTheSecondReading does something just before WebServices are read anew for the
// second time. A reading that goes on from a version isn't one.
func atTheSecondReading(do func()) labtest.Fault {
	var readings atomic.Int64
	begins := func(r *http.Request) bool {
		q := r.URL.Query()
		return strings.HasSuffix(r.URL.Path, "/webservices") && r.Method == http.MethodGet &&
			(!labtest.IsWatch(r) || q.Get("sendInitialEvents") == "true")
	}
	return labtest.When(begins, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if readings.Add(1) == 2 {
			do()
		}
		next.ServeHTTP(w, r)
	})
}

func TestVerifyEndsAsOnceDoesWhereThereIsNothingToProve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(l *lab) (args []string)
		code    int
		proven  bool
		says    []string
	}{
		"no such object": {func(l *lab) []string { return []string{"chekout", "-n", l.namespace} },
			1, false, []string{"no WebService", "/chekout is in the files", "check NAME and -n"}},
		"a namespace without a name": {func(*lab) []string { return []string{"-n", "crd-lab"} },
			64, false, []string{"-n crd-lab is the namespace of a NAME"}},
		"two names": {func(*lab) []string { return []string{"a", "b"} },
			64, false, []string{"takes one NAME"}},
		"no time": {func(*lab) []string { return []string{"--timeout=-1s"} },
			64, false, []string{"--timeout -1s isn't greater than 0"}},
		"no kubeconfig": {func(l *lab) []string { l.kubeconfig = ""; return nil },
			64, false, []string{"no cluster is configured"}},
		"server away": {func(l *lab) []string { l.kubeconfig = l.unreachable(); return nil },
			1, false, []string{"nothing can be verified: ", "the API server can't be reached", "127.0.0.1:1"}},
		"no rights": {func(l *lab) []string { l.kubeconfig = l.cluster.ServiceAccount(l, l.namespace, "nobody"); return nil },
			1, false, []string{"cannot list resource"}},
		"source missing": {func(*lab) []string { return []string{"--source=nowhere"} },
			5, false, []string{"source nowhere doesn't exist"}},
		"one of several files is broken": {func(l *lab) []string { l.write(map[string]string{"bad.yaml": "kind: WebService\n"}); return nil },
			3, true, []string{"1 problem in the source"}},
		"a file of another is broken": {func(l *lab) []string {
			l.write(map[string]string{"bad.yaml": "kind: WebService\n"})
			return []string{"checkout", "-n", l.namespace}
		}, 0, true, nil},
		"its own file is broken": {func(l *lab) []string {
			l.onceOK()
			l.write(map[string]string{"checkout.yaml": service("checkout", "[]")})
			return []string{"checkout"}
		}, 3, true, []string{"checkout.yaml"}},
		"it waits for what isn't there": {func(l *lab) []string {
			l.write(map[string]string{"checkout.yaml": service("checkout", "nginx:1.27", "annotations:", "  webservice.labhub.io/depends-on: database")})
			return []string{"checkout", "--timeout=3s"}
		}, 5, false, []string{"/checkout: waits for ", "/database"}},
		"another process has the lease, and nothing is to be written": {func(l *lab) []string {
			l.run().converges()
			other := l.beside()
			other.writeServices("nginx:1.27", "checkout")
			*l = *other
			return nil
		}, 0, true, nil},
		"another process has the lease": {func(l *lab) []string {
			l.run().converges()
			other := l.beside()
			other.writeServices("nginx:1.28", "checkout")
			*l = *other
			return nil
		}, 1, false, []string{"the lease"}},
		"another process has the out directory": {func(l *lab) []string { l.run().converges(); return nil },
			1, false, []string{"is in use by process"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout")
			r := l.verify(c.prepare(l)...)
			if proven := strings.HasPrefix(r.verdict(), "proven: "); r.code != c.code || proven != c.proven {
				t.Fatalf("exit code %d, want %d; proven: %v, want %v\n%s%s", r.code, c.code, proven, c.proven, r.stdout, r.stderr)
			}
			lines := r.errorLines()
			if c.code == 0 {
				return
			}
			if len(lines) != 1 || strings.Contains(r.stderr, "goroutine ") {
				t.Fatalf("%d lines of errors, want one\n%s", len(lines), r.stderr)
			}
			for _, part := range c.says {
				if !strings.Contains(lines[0], part) {
					t.Errorf("the error doesn't say %q: %s", part, lines[0])
				}
			}
		})
	}
}

// A run that ends early leaves no files of an earlier one: side by side they would
// prove what never happened.
func TestVerifyLeavesNoFilesOfAnotherRun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	if r := l.verify("checkout"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	l.kubeconfig = l.unreachable()
	if r := l.verify("checkout"); r.code != 1 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	for _, file := range labFiles() {
		if _, err := os.Stat(filepath.Join(l.out, file)); err == nil {
			t.Error(fmt.Errorf("%s is still there", file))
		}
	}
}
