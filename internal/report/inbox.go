package report

import (
	"context"
	"slices"
	"sync"
	"time"
)

// inbox holds what is to be written: one change a file, in the order in which
// they came.
type inbox struct {
	news chan struct{}

	mu     sync.Mutex
	order  []*change
	byFile map[EvidenceFile]*change
}

// change is what has to be done to one file.
type change struct {
	file    EvidenceFile
	renders []Render
	// whole: the first of renders doesn't ask what the file holds.
	whole bool
}

func (i *inbox) put(file EvidenceFile, render Render) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := i.of(file)
	c.renders, c.whole = append(c.renders[:0], render), true
}

func (i *inbox) change(file EvidenceFile, render Render) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := i.of(file)
	c.renders = append(c.renders, render)
}

// of is the change of that file, made where there is none. The inbox is locked.
func (i *inbox) of(file EvidenceFile) *change {
	c := i.byFile[file]
	if c == nil {
		c = &change{file: file}
		i.add(c)
	}
	return c
}

func (i *inbox) add(c *change) {
	if i.byFile == nil {
		i.byFile = map[EvidenceFile]*change{}
	}
	i.byFile[c.file] = c
	i.order = append(i.order, c)
	select {
	case i.news <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (i *inbox) take() []*change {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := i.order
	i.order, i.byFile = nil, nil
	return all
}

// putBack returns what was taken and couldn't be done. What came meanwhile is
// done after it, or instead of it.
func (i *inbox) putBack(c *change) {
	i.mu.Lock()
	defer i.mu.Unlock()
	newer := i.byFile[c.file]
	switch {
	case newer == nil:
		i.add(c)
	case !newer.whole:
		newer.renders, newer.whole = slices.Concat(c.renders, newer.renders), c.whole
	}
}

func (i *inbox) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.order)
}

// wait waits for something to come, or for the time to try again what failed.
func (i *inbox) wait(ctx context.Context, failing bool) {
	news, again := i.news, (<-chan time.Time)(nil)
	if failing {
		timer := time.NewTimer(evidenceRetry)
		defer timer.Stop()
		news, again = nil, timer.C
	}
	select {
	case <-ctx.Done():
	case <-news:
	case <-again:
	}
}
