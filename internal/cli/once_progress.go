package cli

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"labhub.io/webservice-controller/internal/evidence"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/source"
	"labhub.io/webservice-controller/internal/term"
)

// progress shows, on a line that is written over, how far a command has come that
// ends when all is done. It is told of every decision, as engine.Evidence.
type progress struct {
	title string
	show  func(line string)
	// ready says why nothing can be done yet.
	ready func() error

	mu sync.Mutex
	// files is how many objects the files name.
	files int
	// waits says of each object that was judged what it waits for; "" is nothing.
	waits map[plan.Key]string
}

// expect takes over how many objects there are to be.
func (p *progress) expect(s *source.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = len(s.Objects)
}

// Decided notes the verdict on an object of ours. Steps aren't noted: the verdict
// comes after them.
func (p *progress) Decided(in *plan.Input, d *plan.Decision) {
	if !d.Verdict() || !in.Known || !evidence.Concerns(in) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits == nil {
		p.waits = map[plan.Key]string{}
	}
	p.waits[in.Key] = ""
	if d.Action == plan.Requeue && !d.Held {
		p.waits[in.Key] = d.Reason
	}
}

// Cleaned says nothing of how far things are.
func (p *progress) Cleaned(plan.Key, plan.Live, string, []string) {}

// Gone forgets an object.
func (p *progress) Gone(key plan.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waits, key)
}

// drawing is how often the line is drawn.
const drawing = 100 * time.Millisecond

// run draws until ctx ends, and leaves nothing behind.
func (p *progress) run(ctx context.Context) {
	defer p.show("")
	ticker := time.NewTicker(drawing)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.show(p.title + p.line())
		}
	}
}

const barWidth = 20

// line says how many objects are done, and what the first of the others waits for.
func (p *progress) line() string {
	if err := p.ready(); err != nil {
		return "waiting: " + err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	total, done := max(p.files, len(p.waits)), 0
	var first plan.Key
	reason := ""
	for key, waits := range p.waits {
		if waits == "" {
			done++
		} else if reason == "" || cmp.Less(key.String(), first.String()) {
			first, reason = key, waits
		}
	}
	line := term.Bar(done, total, barWidth) + " " + strconv.Itoa(done) + " of " + plural(total, "object")
	if reason != "" {
		line += "; " + first.String() + ": " + reason
	}
	return line
}
