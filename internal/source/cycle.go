package source

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// judgeCycles: an object that depends on itself, whatever way, would never be
// made. Nobody knows which dependency is the wrong one, so none of the objects on
// a cycle counts. One beside it, that only depends on one of them, waits.
func (b *builder) judgeCycles() {
	if len(b.depending) == 0 {
		return
	}
	g := b.dependencies()
	for _, group := range g.groups() {
		for _, at := range group {
			o := b.out.Objects[g.keys[at]]
			problem := *o.dependsAt
			problem.Message = g.message(at, problem.Field)
			b.out.Problems = append(b.out.Problems, problem)
			b.broken(o.Key, problem)
			delete(b.out.Objects, o.Key)
		}
	}
}

// dependencies are those among the usable objects that have any: no other is on a
// cycle.
func (b *builder) dependencies() *graph {
	g := &graph{}
	number := make(map[types.NamespacedName]int, len(b.depending))
	for _, key := range b.depending {
		if _, usable := b.out.Objects[key]; usable {
			number[key] = len(g.keys)
			g.keys = append(g.keys, key)
		}
	}
	g.next = make([][]int, len(g.keys))
	for at, key := range g.keys {
		for _, other := range b.out.Objects[key].DependsOn {
			if to, depending := number[other]; depending {
				g.next[at] = append(g.next[at], to)
			}
		}
	}
	return g
}

// message says which cycle an object is on, with names as its file would have them.
func (g *graph) message(at int, field string) string {
	cycle, whole := g.cycle(at)
	if whole && len(cycle) == 1 {
		return field + " names the object itself: take it out"
	}
	var names []string
	for _, step := range cycle {
		names = append(names, g.name(step, at))
	}
	if !whole {
		names = append(names, "…")
	}
	names = append(names, g.name(at, at))
	return fmt.Sprintf("%s makes a cycle: %s: take one of these dependencies out", field, strings.Join(names, " → "))
}

// name is that of an object as another's file would have it.
func (g *graph) name(step, at int) string {
	if g.keys[step].Namespace == g.keys[at].Namespace {
		return g.keys[step].Name
	}
	return g.keys[step].String()
}
