package evidence_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

var key = plan.Key{Namespace: "crd-lab", Name: "checkout"}

// recorded is what the files of checkout hold after f has told of what happened,
// by the files' names. Each call is a process of its own.
func recorded(t *testing.T, dir string, f func(r *evidence.Recorder)) map[string]string {
	t.Helper()
	files := report.NewEvidence(dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
	f(evidence.New(files))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	files.Run(stopped)
	out := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "evidence/crd-lab/checkout/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = string(text)
	}
	return out
}

func object(uid types.UID, change func(*v1.WebService)) plan.Live {
	replicas := int32(3)
	ws := &v1.WebService{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid, ResourceVersion: "7", Generation: 1},
		Spec:       v1.WebServiceSpec{Image: "nginx:1.27", Replicas: &replicas, Tier: "dev"},
	}
	if change != nil {
		change(ws)
	}
	return plan.Live{WebService: ws}
}

func deleted(finalizers ...string) func(*v1.WebService) {
	return func(ws *v1.WebService) {
		at := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
		ws.DeletionTimestamp, ws.Finalizers = &at, finalizers
	}
}

// input is what a decision about checkout is made from. It is hand-made, and such
// objects are ours to reconcile.
func input(live plan.Live, data map[string]string) *plan.Input {
	in := &plan.Input{Key: key, Policy: &plan.Policy{SourceName: "default", Unlabelled: true}, Live: live}
	if data != nil {
		in.Child = plan.Child{UID: "child", ResourceVersion: "9", Data: data}
	}
	return in
}

// compact is the JSON without blanks.
func compact(t *testing.T, text string) string {
	t.Helper()
	var value json.RawMessage
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestFirstDecision is the lab's first two steps: what is wanted, that there is no
// ConfigMap, and that it is to be created.
func TestFirstDecision(t *testing.T) {
	t.Parallel()
	files := recorded(t, t.TempDir(), func(r *evidence.Recorder) {
		r.Decided(input(object("u1", nil), nil), &plan.Decision{
			Action: plan.Create, Reason: "the ConfigMap doesn't exist", Target: plan.ConfigMap,
		})
	})
	if got := slices.Sorted(maps.Keys(files)); strings.Join(got, " ") != "decision.json observe.json" {
		t.Errorf("files: %s", got)
	}
	want := `{"desired":{"image":"nginx:1.27","replicas":3,"tier":"dev"},"actual":null}`
	if got := compact(t, files["observe.json"]); got != want {
		t.Errorf("observe.json is %s, want %s", got, want)
	}
	want = `{"action":"create","reason":"the ConfigMap doesn't exist","target":"configmap/checkout-desired"}`
	if got := compact(t, files["decision.json"]); got != want {
		t.Errorf("decision.json is %s, want %s", got, want)
	}
}

func TestObservations(t *testing.T) {
	t.Parallel()
	five, prod := int32(5), "prod"
	for name, c := range map[string]struct {
		in   func() *plan.Input
		want string
	}{
		"as it should be": {
			func() *plan.Input {
				return input(object("u1", nil), map[string]string{"image": "nginx:1.27", "replicas": "3", "tier": "dev"})
			},
			`{"desired":{"image":"nginx:1.27","replicas":3,"tier":"dev"},"actual":{"image":"nginx:1.27","replicas":"3","tier":"dev"}}`,
		},
		"a ConfigMap without data": {
			func() *plan.Input {
				in := input(object("u1", nil), nil)
				in.Child = plan.Child{UID: "child"}
				return in
			},
			`{"desired":{"image":"nginx:1.27","replicas":3,"tier":"dev"},"actual":{}}`,
		},
		"no defaults on the server": {
			func() *plan.Input {
				return input(object("u1", func(ws *v1.WebService) { ws.Spec = v1.WebServiceSpec{Image: "nginx:1.27"} }), nil)
			},
			`{"desired":{"image":"nginx:1.27","replicas":1,"tier":"dev"},"actual":null}`,
		},
		"a file without object": {
			func() *plan.Input {
				in := input(plan.Live{}, nil)
				in.Desired = &plan.Desired{Image: "nginx:1.28"}
				return in
			},
			`{"desired":{"image":"nginx:1.28","replicas":1,"tier":"dev"},"actual":null}`,
		},
		"a file that says all": {
			func() *plan.Input {
				in := input(plan.Live{}, nil)
				in.Desired = &plan.Desired{Image: "nginx:1.28", Replicas: &five, Tier: &prod}
				return in
			},
			`{"desired":{"image":"nginx:1.28","replicas":5,"tier":"prod"},"actual":null}`,
		},
		"a file that can't be used": {
			func() *plan.Input {
				in := input(plan.Live{}, nil)
				in.Broken = true
				return in
			},
			`{"desired":null,"actual":null}`,
		},
		"a deleted object has no ConfigMap to wish for": {
			func() *plan.Input { return input(object("u1", deleted()), map[string]string{"image": "nginx:1.27"}) },
			`{"desired":null,"actual":{"image":"nginx:1.27"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := recorded(t, t.TempDir(), func(r *evidence.Recorder) {
				r.Decided(c.in(), &plan.Decision{Action: plan.Noop, Reason: "any"})
			})
			if got := compact(t, files["observe.json"]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The last requeue stays where later decisions are others.
func TestRequeues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision plan.Decision
		want     string
	}{
		"not ready yet": {
			plan.Decision{After: 4100 * time.Millisecond},
			`"after_seconds":5,"is_error":false`,
		},
		"failed": {
			plan.Decision{After: 200 * time.Millisecond, Error: true},
			`"after_seconds":1,"is_error":true`,
		},
		"failed, and nobody says for how long": {
			plan.Decision{Error: true},
			`"after_seconds":1,"is_error":true`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := recorded(t, t.TempDir(), func(r *evidence.Recorder) {
				d := c.decision
				d.Action, d.Reason, d.Target = plan.Requeue, "why", plan.WebService
				r.Decided(input(object("u1", nil), nil), &d)
				r.Decided(input(object("u1", nil), nil), &plan.Decision{Action: plan.Noop, Reason: "done"})
			})
			want := `{"action":"requeue","reason":"why","target":"webservice/checkout",` + c.want + `}`
			if got := compact(t, files["requeue.json"]); got != want {
				t.Errorf("requeue.json is %s, want %s", got, want)
			}
			want = `{"action":"noop","reason":"done","target":"webservice/checkout"}`
			if got := compact(t, files["decision.json"]); got != want {
				t.Errorf("decision.json is %s, want %s", got, want)
			}
		})
	}
}

// TestTerminating: the state in which an object was first seen to be deleted is
// kept, also by a process that comes later; another object of that name has its own.
func TestTerminating(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	see := func(uid types.UID, finalizers ...string) map[string]string {
		return recorded(t, dir, func(r *evidence.Recorder) {
			in := input(object(uid, deleted(finalizers...)), nil)
			r.Decided(in, &plan.Decision{Action: plan.Delete, Reason: "its ConfigMap goes first", Target: plan.ConfigMap})
			in = input(object(uid, deleted("other")), nil)
			r.Decided(in, &plan.Decision{Action: plan.Requeue, Reason: "it waits"})
		})
	}
	first := see("u1", v1.CleanupFinalizer, "other")["terminating.json"]
	for _, part := range []string{
		`"kind":"WebService"`, `"apiVersion":"apps.labhub.io/v1"`, `"name":"checkout"`, `"uid":"u1"`,
		`"deletionTimestamp":"2026-07-01T12:00:00Z"`, `"finalizers":["webservice.labhub.io/cleanup","other"]`,
		`"spec":{"image":"nginx:1.27","replicas":3,"tier":"dev"}`,
	} {
		if got := compact(t, first); !strings.Contains(got, part) {
			t.Errorf("terminating.json lacks %s: %s", part, got)
		}
	}
	if again := see("u1", "other")["terminating.json"]; again != first {
		t.Errorf("after a restart it is %s", again)
	}
	if next := see("u2", "other")["terminating.json"]; !strings.Contains(compact(t, next), `"uid":"u2"`) {
		t.Errorf("for the next object it is %s", next)
	}
}

// TestCleanup: what became of deleted objects.
func TestCleanup(t *testing.T) {
	t.Parallel()
	asked := func(in *plan.Input) *plan.Input {
		in.Desired = &plan.Desired{Image: "nginx:1.27"}
		return in
	}
	going := &plan.Decision{Action: plan.Delete, Reason: "it is being deleted"}
	const head, at = "WebService crd-lab/checkout, uid u1\n", "2000-01-01T00:00:00Z "
	for name, c := range map[string]struct {
		// each is a process.
		processes []func(r *evidence.Recorder)
		want      string
	}{
		"with our finalizer": {
			[]func(r *evidence.Recorder){func(r *evidence.Recorder) {
				live := object("u1", deleted(v1.CleanupFinalizer))
				r.Decided(input(live, nil), going)
				r.Cleaned(key, live, "configmap/checkout-desired", nil)
				r.Gone(key)
			}},
			head + at + "removed configmap/checkout-desired\n" +
				at + "dropped the finalizer webservice.labhub.io/cleanup\n" +
				at + "no other finalizer was on it\n" +
				at + "the object is gone\n",
		},
		"with finalizers of others, and a restart between": {
			[]func(r *evidence.Recorder){
				func(r *evidence.Recorder) {
					live := object("u1", deleted(v1.CleanupFinalizer, "a", "b"))
					r.Decided(input(live, nil), going)
					r.Cleaned(key, live, "", []string{"a", "b"})
					r.Decided(input(object("u1", deleted("a", "b")), nil), going)
				},
				func(r *evidence.Recorder) {
					r.Decided(input(object("u1", deleted("b")), nil), going)
					r.Gone(key)
					r.Gone(key)
				},
			},
			head + at + "removed nothing: there was no ConfigMap of ours\n" +
				at + "dropped the finalizer webservice.labhub.io/cleanup\n" +
				at + "the finalizers of others stay: a, b\n" +
				at + "the object is gone\n",
		},
		"without our finalizer": {
			[]func(r *evidence.Recorder){func(r *evidence.Recorder) {
				r.Decided(input(object("u1", nil), nil), going)
				r.Gone(key)
			}},
			head + at + "the object is gone; it had no finalizer of ours, and its ConfigMap goes by its owner reference\n",
		},
		"a file asks for it again": {
			[]func(r *evidence.Recorder){func(r *evidence.Recorder) {
				live := object("u1", deleted(v1.CleanupFinalizer))
				r.Decided(asked(input(live, nil)), going)
				r.Cleaned(key, live, "configmap/checkout-desired", nil)
				r.Decided(asked(input(plan.Live{}, nil)), &plan.Decision{Action: plan.Create})
				r.Decided(asked(input(object("u2", nil), nil)), &plan.Decision{Action: plan.Create, Target: plan.ConfigMap})
			}},
			head + at + "removed configmap/checkout-desired\n" +
				at + "dropped the finalizer webservice.labhub.io/cleanup\n" +
				at + "no other finalizer was on it\n" +
				at + "the object is gone\n",
		},
		"what never was": {
			[]func(r *evidence.Recorder){func(r *evidence.Recorder) {
				r.Decided(asked(input(plan.Live{}, nil)), &plan.Decision{Action: plan.Requeue})
				r.Gone(key)
			}},
			"",
		},
		"the next object of that name": {
			[]func(r *evidence.Recorder){func(r *evidence.Recorder) {
				r.Decided(input(object("u0", nil), nil), going)
				r.Gone(key)
				r.Decided(input(object("u1", nil), nil), going)
				r.Gone(key)
			}},
			head + at + "the object is gone; it had no finalizer of ours, and its ConfigMap goes by its owner reference\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var files map[string]string
				for _, process := range c.processes {
					files = recorded(t, dir, process)
				}
				if got := files["cleanup.txt"]; got != c.want {
					t.Errorf("cleanup.txt is:\n%s\nwant:\n%s", got, c.want)
				}
			})
		})
	}
}

// Objects that the report doesn't list leave no trace.
func TestNobodysBusiness(t *testing.T) {
	t.Parallel()
	another := func(ws *v1.WebService) { ws.Labels = map[string]string{v1.SourceLabel: "other"} }
	files := recorded(t, t.TempDir(), func(r *evidence.Recorder) {
		d := &plan.Decision{Action: plan.Noop, Reason: "none of ours"}
		r.Decided(input(object("u1", another), nil), d)
		r.Decided(input(plan.Live{}, nil), d)
		in := input(object("u1", nil), nil)
		in.Policy = &plan.Policy{SourceName: "default"}
		r.Decided(in, d)
	})
	if len(files) > 0 {
		t.Errorf("files: %v", files)
	}
}

// A pass over objects at rest writes nothing and costs no memory.
func TestNothingNew(t *testing.T) {
	dir := t.TempDir()
	in, d := input(object("u1", nil), map[string]string{"image": "nginx:1.27"}), &plan.Decision{Action: plan.Noop, Reason: "done"}
	recorded(t, dir, func(r *evidence.Recorder) {
		r.Decided(in, d)
		if allocs := testing.AllocsPerRun(100, func() { r.Decided(in, d) }); allocs > 0 {
			t.Errorf("%v allocations a decision that isn't new", allocs)
		}
	})
}

// Workers tell of different objects at once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	recorded(t, t.TempDir(), func(r *evidence.Recorder) {
		var working sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			working.Go(func() {
				for range 50 {
					in := input(object(types.UID(name), nil), nil)
					in.Key.Name = name
					r.Decided(in, &plan.Decision{Action: plan.Noop})
					r.Cleaned(in.Key, in.Live, "", nil)
					r.Gone(in.Key)
				}
			})
		}
		working.Wait()
	})
}

func BenchmarkNothingNew(b *testing.B) {
	r := evidence.New(report.NewEvidence(b.TempDir(), slog.New(slog.DiscardHandler)))
	in, d := input(object("u1", nil), map[string]string{"image": "nginx:1.27"}), &plan.Decision{Action: plan.Noop, Reason: "done"}
	r.Decided(in, d)
	b.ReportAllocs()
	for b.Loop() {
		r.Decided(in, d)
	}
}
