package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// history is what happens to the WebServices and ConfigMaps of a namespace, as
// the server tells those who watch. What comes and goes between two looks is in
// it all the same.
type history struct {
	*lab
	mu     sync.Mutex
	events []event
}

type event struct {
	what    string // such as "DELETED configmaps/checkout-desired"
	version string
	object  *unstructured.Unstructured
}

// follow begins a history at what there is now. It ends with the test.
func (l *lab) follow() *history {
	l.Helper()
	h := &history{lab: l}
	var watching sync.WaitGroup
	l.Cleanup(watching.Wait)
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.Context()))
	l.Cleanup(cancel)
	for _, resource := range []schema.GroupVersionResource{webservices(), configmaps()} {
		client := l.objects.Resource(resource).Namespace(l.namespace)
		list, err := client.List(ctx, metav1.ListOptions{})
		l.must(err)
		stream, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		l.must(err)
		watching.Go(func() {
			for e := range stream.ResultChan() {
				if u, ok := e.Object.(*unstructured.Unstructured); ok {
					h.add(event{fmt.Sprintf("%s %s/%s", e.Type, resource.Resource, u.GetName()), u.GetResourceVersion(), u})
				}
			}
		})
	}
	return h
}

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// of are the events that contain the text, by version: the server counts all
// resources together.
func (h *history) of(text string) []event {
	h.mu.Lock()
	events := slices.DeleteFunc(slices.Clone(h.events), func(e event) bool { return !strings.Contains(e.what, text) })
	h.mu.Unlock()
	slices.SortFunc(events, func(a, b event) int {
		if len(a.version) != len(b.version) {
			return len(a.version) - len(b.version)
		}
		return strings.Compare(a.version, b.version)
	})
	return events
}

// tells wants exactly these events of those that contain the text, in order.
func (h *history) tells(text string, want ...string) error {
	var got []string
	for _, e := range h.of(text) {
		got = append(got, e.what)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("what happened is %q, want %q", got, want)
	}
	return nil
}
