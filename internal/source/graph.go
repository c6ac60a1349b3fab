package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostSteps is how many names of a cycle are written out, and stepsShown how
	// many are where there are more.
	mostSteps, stepsShown = 10, 5
	// cycleLooks is how many edges are followed to find the shortest cycle through
	// a node. It bounds the work where each object has many.
	cycleLooks = 200
)

// graph has an edge from every object to each that it depends on. Nothing in it
// recurses: a chain may be as long as there are objects.
type graph struct {
	keys []types.NamespacedName
	next [][]int // by number, in the order of the file

	group []int // the number of each node's group, once they are known
	found []int // for cycle: the node that each was reached from, plus 1
}

// groups are the sets of nodes that each can be reached from every other, as far
// as they have a cycle: every node of one is on a cycle, and no other node is.
func (g *graph) groups() [][]int {
	t := &tarjan{graph: g, index: make([]int, len(g.keys)), low: make([]int, len(g.keys))}
	g.group, g.found = make([]int, len(g.keys)), make([]int, len(g.keys))
	for at := range g.keys {
		if t.index[at] == 0 {
			t.visit(at)
		}
	}
	return t.groups
}

// cycle is the shortest cycle through a node, from that node on, or where that has
// more than mostSteps only the first steps of one. The node must be of a group.
func (g *graph) cycle(from int) (steps []int, whole bool) {
	reached := []int{from}
	defer func() {
		for _, at := range reached {
			g.found[at] = 0
		}
	}()
	level, looks := reached, 0
	for range mostSteps {
		done := len(reached)
		for _, at := range level {
			for _, to := range g.next[at] {
				if to == from {
					return g.way(at, from), true
				}
				if looks++; g.group[to] == g.group[from] && g.found[to] == 0 && looks <= cycleLooks {
					g.found[to] = at + 1
					reached = append(reached, to)
				}
			}
		}
		level = reached[done:]
	}
	return g.begin(from), false
}

// way is how cycle came to a node.
func (g *graph) way(at, from int) []int {
	steps := []int{at}
	for at != from {
		at = g.found[at] - 1
		steps = append(steps, at)
	}
	slices.Reverse(steps)
	return steps
}

// begin goes from a node along the first edges within its group: from wherever that
// leads there is a way back.
func (g *graph) begin(from int) []int {
	steps := []int{from}
	for len(steps) < stepsShown {
		at := steps[len(steps)-1]
		i := slices.IndexFunc(g.next[at], func(to int) bool { return g.group[to] == g.group[from] })
		if slices.Contains(steps, g.next[at][i]) {
			break
		}
		steps = append(steps, g.next[at][i])
	}
	return steps
}

// tarjan finds groups by Tarjan's algorithm, with a stack of its own in place of
// the program's.
type tarjan struct {
	*graph
	index, low []int // from 1; 0 for a node that wasn't visited
	count      int
	open       []int // nodes whose group isn't known yet
	path       []step
	groups     [][]int
}

// step is a node on the path, and how many of its edges were followed.
type step struct{ at, edges int }

// visit visits whatever can be reached from a node.
func (t *tarjan) visit(at int) {
	t.enter(at)
	for len(t.path) > 0 {
		s := &t.path[len(t.path)-1]
		if s.edges == len(t.next[s.at]) {
			t.leave(s.at)
			continue
		}
		to := t.next[s.at][s.edges]
		s.edges++
		switch {
		case t.index[to] == 0:
			t.enter(to)
		case t.group[to] == 0:
			t.low[s.at] = min(t.low[s.at], t.index[to])
		}
	}
}

func (t *tarjan) enter(at int) {
	t.count++
	t.index[at], t.low[at] = t.count, t.count
	t.open = append(t.open, at)
	t.path = append(t.path, step{at: at})
}

// leave closes a group where a node is the first of it that was visited.
func (t *tarjan) leave(at int) {
	t.path = t.path[:len(t.path)-1]
	if len(t.path) > 0 {
		above := t.path[len(t.path)-1].at
		t.low[above] = min(t.low[above], t.low[at])
	}
	if t.low[at] < t.index[at] {
		return
	}
	first := len(t.open) - 1
	for t.open[first] != at {
		first--
	}
	members := t.open[first:]
	for _, member := range members {
		t.group[member] = at + 1
	}
	if len(members) > 1 || slices.Contains(t.next[at], at) {
		t.groups = append(t.groups, slices.Clone(members))
	}
	t.open = t.open[:first]
}
