package source

import (
	"context"
	"sync"
	"time"
)

// Config says what to watch and how patiently.
type Config struct {
	// Path is the directory, or a link to it.
	Path string
	// Options decide what the files mean.
	Options Options
	// Quiet is how long files must be at rest before they are read.
	Quiet time.Duration
	// MaxWait is the most that files at rest wait for others that still change.
	MaxWait time.Duration
	// ScanInterval is the time between full scans that need no hint. It must be
	// greater than 0 for a Source.
	ScanInterval time.Duration
	// NewNotifier makes what gives hints; nil: fsnotify. An error of it, or of what
	// it made, makes the source poll.
	NewNotifier func() (Notifier, error)
}

// Mode says how a Source learns of changes.
type Mode string

const (
	// ModeWatch means that the file system gives hints.
	ModeWatch Mode = "watch"
	// ModePoll means that it can't; the source looks every PollInterval.
	ModePoll Mode = "poll"
)

const (
	// PollInterval is the time between scans where the file system gives no hints.
	PollInterval = 2 * time.Second
	// watchRetry is how long a source polls before it tries to watch again.
	watchRetry = time.Minute
)

// Status is how a Source does.
type Status struct {
	// Mode is how changes are learned of.
	Mode Mode
	// Reason says why the mode is ModePoll; "" otherwise.
	Reason string
	// LastScan is when the files were last looked at; zero before the first scan.
	LastScan time.Time
	// Interval is the time between scans without a hint, as things are.
	Interval time.Duration
	// Waiting says what keeps a scan from ending, such as a running git command;
	// "" otherwise.
	Waiting string
	// Locked: it is a running git command, and nothing is read until it ends.
	Locked bool
}

// Source keeps a snapshot up to date: it scans on every hint and on a timer.
type Source struct {
	cfg     Config
	scanner *Scanner
	// asked has room for one word that another scan is wanted.
	asked chan struct{}

	mu     sync.Mutex
	status Status
}

// New makes a Source; Run starts it.
func New(cfg Config) *Source {
	if cfg.NewNotifier == nil {
		cfg.NewNotifier = newWatcher
	}
	return &Source{
		cfg: cfg, scanner: NewScanner(cfg), asked: make(chan struct{}, 1),
		status: Status{Mode: ModeWatch, Interval: cfg.ScanInterval},
	}
}

// Status may be called at any time, from any goroutine.
func (s *Source) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Waiting, status.Locked = s.scanner.Waiting(), s.scanner.locked.Load()
	return status
}

// Rescan asks for another scan soon, as a hint would, also where nobody gives hints.
// One that begins after the call is handed out, even if nothing has changed; several
// calls before it are one. It may be called at any time, from any goroutine, and
// returns at once.
func (s *Source) Rescan() {
	select {
	case s.asked <- struct{}{}:
	default: // it is wanted already
	}
}

// begin takes the word that a scan is wanted: one begins now.
func (s *Source) begin() {
	select {
	case <-s.asked:
	default:
	}
}

// Run scans until ctx ends, and hands every snapshot to out, the unchanged ones
// too, since a scan interval that is over makes every key due. out is called from
// one goroutine, and should return soon. Run returns nil once ctx is done and
// everything that it started is over. It may be called once.
func (s *Source) Run(ctx context.Context, out func(*Snapshot)) error {
	r := &runner{Source: s, interval: time.NewTicker(s.cfg.ScanInterval)}
	defer r.interval.Stop()
	defer r.unwatch("")
	next := occasion{cause: CauseStart, since: time.Now()}
	for ctx.Err() == nil {
		s.begin()
		snapshot, err := s.scanner.scan(ctx, next.since)
		if err != nil {
			break // ctx is done
		}
		again := r.watch() || len(snapshot.Unsettled) > 0
		r.note(snapshot)
		r.rested = time.Now().Add(idleShare * s.scanner.worked)
		snapshot.Cause, snapshot.Noticed = next.cause, next.since
		out(snapshot)
		next = r.wait(ctx, again)
	}
	return nil
}
