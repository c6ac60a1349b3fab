package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"labhub.io/webservice-controller/internal/engine"
	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// asked has n objects of one namespace ask at once, each of which would take a
// second, and returns how many did and what all were told.
func asked(t *testing.T, f *findings, n int, answer error) (sent int64, told []error) {
	t.Helper()
	var count atomic.Int64
	var all sync.WaitGroup
	told = make([]error, n)
	for i := range n {
		all.Go(func() {
			_, told[i] = f.ask(t.Context(), "lab", func() error {
				count.Add(1)
				<-time.After(time.Second)
				return answer
			})
		})
	}
	all.Wait()
	return count.Load(), told
}

// TestFindings: of those who come at once one asks, and all are told what it has
// found. Some time later somebody asks again.
func TestFindings(t *testing.T) {
	t.Parallel()
	missing := errors.New("missing")
	synctest.Test(t, func(t *testing.T) {
		var f findings
		for _, answer := range []error{missing, missing, nil} {
			sent, told := asked(t, &f, 100, answer)
			for _, err := range told {
				if !errors.Is(err, answer) {
					t.Fatalf("told %v, found %v", err, answer)
				}
			}
			if known, err := f.last("lab"); sent != 1 || !known || !errors.Is(err, answer) {
				t.Errorf("%d have asked; known %t: %v", sent, known, err)
			}
			<-time.After(findingLasts - time.Nanosecond)
			if sent, _ := asked(t, &f, 100, answer); sent != 0 {
				t.Errorf("%d have asked though it was known", sent)
			}
			<-time.After(2 * time.Nanosecond)
			if known, _ := f.last("lab"); known {
				t.Error("it is known for longer than it lasts")
			}
		}
		if known, _ := f.last("other"); known {
			t.Error("it is known of another namespace")
		}
	})
}

// TestFindingsGivenUp: who can't wait any longer is let go, and the others are told
// all the same.
func TestFindingsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f findings
		hangs, missing := make(chan error), errors.New("missing")
		var all sync.WaitGroup
		all.Go(func() { _, _ = f.ask(t.Context(), "lab", func() error { return <-hangs }) })
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if sent, err := f.ask(short, "lab", nil); sent || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sent %t: %v", sent, err)
		}
		hangs <- missing
		all.Wait()
		if sent, err := f.ask(t.Context(), "lab", nil); sent || !errors.Is(err, missing) {
			t.Errorf("sent %t: %v", sent, err)
		}
	})
}

// TestOneAsksForAll: a thousand objects of a namespace that takes none cost a
// request every few seconds, and not a thousand.
func TestOneAsksForAll(t *testing.T) {
	onlyCRD(t, manifests.CRD())
	watching := account(t, "namespaces-unmade", append(allBut("namespaces"), `{apiGroups: [""], resources: [namespaces], verbs: [list, watch]}`)...)
	for _, tt := range []struct {
		name    string
		account string
		creates bool
		counts  func(labtest.Request) bool
	}{
		{"it is missing, and namespaces can't be watched", without(t, "namespaces"), false, func(r labtest.Request) bool {
			return r.Resource == "webservices" && r.Code == http.StatusNotFound
		}},
		{"it is missing and can't be made", watching, true, func(r labtest.Request) bool {
			return r.Resource == "namespaces" && r.Verb == "create"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			missing := fmt.Sprintf("missing-%t", tt.creates)
			c := connect(t, tt.account)
			r := work(t, c, func(o *engine.Options) { o.Workers, o.Policy.CreateNamespaces = 16, tt.creates })
			var keys []plan.Key
			for i := range 1000 {
				keys = append(keys, plan.Key{Namespace: missing, Name: fmt.Sprintf("web-%d", i)})
			}
			mark, began := shared.Audit().Mark(t), time.Now()
			r.take("nginx:1.27", keys...)
			sent := func() (n int) {
				for _, req := range writes(t, mark) {
					if tt.counts(req) {
						n++
					}
				}
				return n
			}
			labtest.Eventually(t, 4*findingLasts, func() error {
				if n := sent(); n < 3 || !allWait(r) {
					return fmt.Errorf("%d requests", n)
				}
				return nil
			})
			n, periods := sent(), int(time.Since(began)/findingLasts)
			t.Logf("%d requests in %v", n, time.Since(began).Round(time.Millisecond))
			if n > periods+1 || n != len(writes(t, mark)) {
				t.Errorf("%d requests in %d periods, %d writes in all", n, periods, len(writes(t, mark)))
			}

			r.take("nginx:1.27", keys[:20]...)
			shared.Apply(t, fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", missing))
			r.converges()
		})
	}
}

// allWait says whether every object of the report is one that waits or fails.
func allWait(r *rig) bool {
	rep := r.Report()
	for _, it := range rep.Items {
		if it.Action != report.ActionRequeue {
			return false
		}
	}
	return len(rep.Items) > 0
}
