package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/manifests"
)

// asking is a Reader that is asked for what answers with these errors, one after the
// other, and with the last one for ever. It returns how often it asked, and for how long.
func asking(t *testing.T, answers ...error) (times int, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &Reader{patience: 10*time.Second + askAgain/2}
		err = r.patiently(t.Context(), func(context.Context, func()) error {
			times++
			return answers[min(times, len(answers))-1]
		})
		took = time.Since(began)
	})
	return times, took, err
}

// TestPatience: only where nobody answers, a Reader asks again.
func TestPatience(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: v1.Resource}, "", errors.New("no such right"))
	for name, c := range map[string]struct {
		answers []error
		times   int
		took    time.Duration
		says    string // "" for no error
	}{
		"at once":           {[]error{nil}, 1, 0, ""},
		"the third time":    {[]error{syscall.ECONNREFUSED, syscall.ECONNREFUSED, nil}, 3, time.Second, ""},
		"never":             {[]error{syscall.ECONNREFUSED}, 21, 10*time.Second + askAgain/2, "the API server can't be reached: connection refused; check"},
		"a refusal":         {[]error{forbidden}, 1, 0, "grant the rights in manifests/rbac.yaml"},
		"a refusal in time": {[]error{syscall.ECONNREFUSED, forbidden}, 2, 500 * time.Millisecond, "grant the rights"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, took, err := asking(t, c.answers...)
			if times != c.times || took != c.took {
				t.Errorf("asked %d times in %s, want %d in %s", times, took, c.times, c.took)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestPatienceWithSilence: who gives no answer at all is left when the time is over.
func TestPatienceWithSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &Reader{patience: 10 * time.Second}
		began := time.Now()
		err := r.patiently(t.Context(), func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); took != 10*time.Second || err == nil || !strings.Contains(err.Error(), "it gives no answer") {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestPatienceEndsWithTheUsers: an interrupt isn't an error of the server.
func TestPatienceEndsWithTheUsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &Reader{patience: 10 * time.Second}
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		err := r.patiently(ctx, func(context.Context, func()) error { return syscall.ECONNREFUSED })
		if took := time.Since(began); took > 4*time.Second || !errors.Is(err, context.Canceled) {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestPatienceWithALongList: what takes its time page by page isn't cut off, and what
// breaks off in the middle isn't begun anew for ever.
func TestPatienceWithALongList(t *testing.T) {
	t.Parallel()
	list := func(t *testing.T, last error) (got int, took time.Duration, err error) {
		synctest.Test(t, func(t *testing.T) {
			r, pages := &Reader{patience: 10 * time.Second}, 0
			page := func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(6 * time.Second):
				}
				pages++
				list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 500)}
				if pages == 3 {
					return list, last
				}
				list.SetContinue("more")
				return list, nil
			}
			began := time.Now()
			err = r.list(t.Context(), page, func(runtime.Object) error { got++; return nil })
			took = time.Since(began)
		})
		return got, took, err
	}
	if got, took, err := list(t, nil); got != 1500 || took != 18*time.Second || err != nil {
		t.Errorf("got %d after %s, %v", got, took, err)
	}
	if got, took, err := list(t, syscall.ECONNRESET); got != 0 || took != 18*time.Second || err == nil {
		t.Errorf("got %d after %s, %v", got, took, err)
	}
}

// TestReader reads what is there, with no more rights than those to list.
func TestReader(t *testing.T) {
	t.Parallel()
	namespace, other := shared.Namespace(t), shared.Namespace(t)
	shared.Apply(t, manifests.CRD())
	for _, name := range []string{"web", "api"} {
		shared.Apply(t, fmt.Appendf(nil, "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: %s, namespace: %s}\nspec: {image: a, tier: ''}\n", name, namespace))
	}
	r := reader(t, shared.Kubeconfig)
	ws, err := r.WebServices(t.Context(), namespace, other)
	if err != nil || len(ws) != 2 {
		t.Fatal(ws, err)
	}
	slices.SortFunc(ws, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	if tier, found, _ := unstructured.NestedString(ws[0].Object, "spec", "tier"); ws[0].GetName() != "api" || !found || tier != "" || ws[0].GetManagedFields() != nil {
		t.Errorf("got %v", ws[0].Object)
	}
	if names, err := r.WebServiceNames(t.Context(), namespace); err != nil || !slices.Equal(names, []string{"api", "web"}) {
		t.Error(names, err)
	}
	if names, err := r.WebServiceNames(t.Context(), other); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	if names, err := r.Namespaces(t.Context()); err != nil || !slices.Contains(names, namespace) || !slices.IsSorted(names) {
		t.Error(names, err)
	}
	if version, err := r.ServerVersion(t.Context()); err != nil || !strings.HasPrefix(version, "v1.") {
		t.Error(version, err)
	}
	nobody := reader(t, shared.ServiceAccount(t, namespace, "nobody"))
	if _, err := nobody.WebServices(t.Context(), namespace); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
}

func reader(t *testing.T, kubeconfig string) *Reader {
	t.Helper()
	cfg, err := LoadConfig(kubeconfig, "", t.Name())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(cfg, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
