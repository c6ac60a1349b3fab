package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/labtest"
)

const withEvidence = "--evidence=true"

// decided is what evidence keeps of a decision.
type decided struct {
	Action, Reason, Target string
	AfterSeconds           *int64 `json:"after_seconds"`
	IsError                *bool  `json:"is_error"`
}

// evidence reads a file about an object of the lab's namespace.
func (l *lab) evidence(name, file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(l.out, "evidence", l.namespace, name, file))
}

// shows waits until a file about an object says what it should.
func shows[T any](l *lab, name, file string, fit func(*T) error) {
	l.Helper()
	labtest.Eventually(l, convergeLimit, func() error {
		data, err := l.evidence(name, file)
		if err != nil {
			return err
		}
		var content T
		if err := json.Unmarshal(data, &content); err != nil {
			return fmt.Errorf("%s: %w: %s", file, err, data)
		}
		if err := fit(&content); err != nil {
			return fmt.Errorf("%s: %w: %s", file, err, data)
		}
		return nil
	})
}

// has wants files about an object, and no others.
func (l *lab) has(name string, want ...string) error {
	entries, err := os.ReadDir(filepath.Join(l.out, "evidence", l.namespace, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the evidence about %s is %q, want %q", name, got, want)
	}
	return nil
}

// observed is what evidence keeps of both sides.
type observed struct {
	Desired, Actual map[string]any
}

// Steps 1 and 2 of the lab, as files that each cycle leaves.
func TestEvidenceShowsWhatIsDesiredWhatThereIsAndWhatFollows(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(map[string]string{"checkout.yaml": "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: checkout}\nspec: {image: nginx:1.27, replicas: 3, tier: dev}\n"})
	d := l.run(withEvidence)
	d.converges()
	shows(l, "checkout", "observe.json", func(o *observed) error {
		if o.Desired["image"] != "nginx:1.27" || o.Desired["replicas"] != 3.0 || o.Desired["tier"] != "dev" {
			return errors.New("desired isn't the spec")
		}
		if o.Actual["image"] != "nginx:1.27" || fmt.Sprint(o.Actual["replicas"]) != "3" || o.Actual["tier"] != "dev" {
			return errors.New("actual isn't the ConfigMap")
		}
		return nil
	})
	shows(l, "checkout", "decision.json", func(d *decided) error {
		if d.Action != "noop" || d.Reason == "" || d.AfterSeconds != nil || d.IsError != nil {
			return errors.New("not a noop")
		}
		return nil
	})
	l.must(l.has("checkout", "observe.json", "decision.json"))
	d.stop()

	// By default none is kept.
	l.elsewhere()
	l.onceOK()
	if _, err := os.Stat(filepath.Join(l.out, "evidence")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("evidence: %v", err)
	}
}

// Step 6 of the lab: what isn't ready yet is asked for again later, and that is
// no error; what fails is one. Neither holds up the others.
func TestARequeueIsNoErrorUnlessSomethingFailed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	later := l.in(l.namespace + "-later")
	l.writeServices("nginx:1.27", "checkout", "taken")
	l.write(map[string]string{"billing.yaml": service("billing", "nginx:1.27", "namespace: "+later.namespace)})
	l.create(configmaps(), configMap("taken-desired"))
	d := l.run(withEvidence, "--namespaces-create=false")
	d.reports(convergeLimit, unconverged, item("billing", waits), item("taken", failing))
	requeue := func(failed bool, target string) func(*decided) error {
		return func(d *decided) error {
			if d.Action != "requeue" || d.Reason == "" || d.Target != target || d.AfterSeconds == nil || *d.AfterSeconds <= 0 || d.IsError == nil || *d.IsError != failed {
				return fmt.Errorf("not a requeue about %s with is_error %t", target, failed)
			}
			return nil
		}
	}
	shows(later, "billing", "requeue.json", requeue(false, "namespace/"+later.namespace))
	shows(l, "taken", "requeue.json", requeue(true, "configmap/taken-desired"))
	l.must(l.done("checkout", "nginx:1.27"))
	l.must(l.has("checkout", "observe.json", "decision.json"))

	// Once it is ready it says so, and the wait stays on record.
	_, err := l.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: later.namespace}}, metav1.CreateOptions{})
	l.must(err)
	l.dropNamespace(later.namespace)
	l.remove(configmaps(), "taken-desired")
	d.converges()
	for _, at := range []struct {
		*lab
		name string
	}{{later, "billing"}, {l, "taken"}} {
		shows(at.lab, at.name, "decision.json", func(d *decided) error {
			if d.Action != "noop" {
				return errors.New("not done")
			}
			return nil
		})
		l.must(at.has(at.name, "observe.json", "decision.json", "requeue.json"))
	}
}

// terminated is the part of an object that shows that it is being deleted.
type terminated struct {
	Metadata struct {
		Name, Namespace   string
		UID               string
		DeletionTimestamp time.Time
		Finalizers        []string
	}
}

// Step 7 of the lab, for an object made by hand and deleted by hand, and for one
// whose file is taken out.
func TestWhatIsDeletedLeavesTheEvidenceOfItsCleanUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ make, end func(l *lab) }{
		"by hand": {
			func(l *lab) { l.makeEphemeral(cleanupFinalizer) },
			func(l *lab) { l.remove(webservices(), "ephemeral") },
		},
		"by its file": {
			func(l *lab) {
				l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "busybox:1.36", named)})
			},
			func(l *lab) { l.withdraw("ephemeral") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout", "billing")
			d := l.prunes(append(l.alsoByHand(), withEvidence)...)
			d.converges()
			c.make(l)
			l.letGo("ephemeral")
			labtest.Eventually(t, convergeLimit, func() error { return l.done("ephemeral", "busybox:1.36") })
			d.converges()
			uid := l.uid("ephemeral")
			l.must(l.has("ephemeral", "observe.json", "decision.json"))
			h, mark := l.follow(), l.mark()

			c.end(l)
			l.goes("ephemeral")
			labtest.Eventually(t, convergeLimit, func() error {
				return h.tells("/ephemeral", "MODIFIED webservices/ephemeral", "DELETED configmaps/ephemeral-desired", "DELETED webservices/ephemeral")
			})
			shows(l, "ephemeral", "terminating.json", func(o *terminated) error {
				m := &o.Metadata
				if m.Name != "ephemeral" || m.Namespace != l.namespace || m.UID != string(uid) || m.DeletionTimestamp.IsZero() || !slices.Equal(m.Finalizers, []string{cleanupFinalizer}) {
					return errors.New("not the object that is being deleted")
				}
				return nil
			})
			labtest.Eventually(t, convergeLimit, func() error {
				text, err := l.evidence("ephemeral", "cleanup.txt")
				if err != nil {
					return err
				}
				return says(string(text), l.namespace, "ephemeral", "configmap/"+v1.ChildName("ephemeral"), cleanupFinalizer)
			})
			d.converges(items("billing", "checkout"))
			if deleted := namesOf(l.since(mark).deleted); name == "by its file" && !slices.Equal(deleted, []string{"ephemeral"}) || name == "by hand" && len(deleted) > 0 {
				t.Errorf("the controller deleted %q", deleted)
			}
		})
	}
}

// The deletion is on record while it waits, with who holds it.
func TestADeletionThatWaitsIsOnRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.write(map[string]string{"ephemeral.yaml": service("ephemeral", "nginx:1.27", named)})
	l.letGo("ephemeral")
	d := l.prunes(withEvidence)
	d.converges()
	l.finalize(webservices(), "ephemeral", hold, cleanupFinalizer)
	d.converges()
	l.withdraw("ephemeral")
	d.reports(convergeLimit, unconverged, item("ephemeral", waitsBecause("being deleted", hold)))
	shows(l, "ephemeral", "terminating.json", func(o *terminated) error {
		if o.Metadata.DeletionTimestamp.IsZero() || !slices.Contains(o.Metadata.Finalizers, hold) {
			return errors.New("not being deleted")
		}
		return nil
	})
	shows(l, "ephemeral", "requeue.json", func(d *decided) error {
		if d.Action != "requeue" || d.IsError == nil || *d.IsError || d.AfterSeconds == nil || *d.AfterSeconds <= 0 {
			return errors.New("not a wait")
		}
		return says(d.Reason, hold)
	})
	l.edit(webservices(), "ephemeral", `{"metadata": {"finalizers": null}}`)
	l.goes("ephemeral")
	d.converges(items("billing", "checkout"))
}
