package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// cache remembers what is known of every entry of a source between looks.
type cache struct {
	records map[string]*record
	look    int // counts looks
	// dirty says that the records differ from the last snapshot.
	dirty bool
}

// record is what is known of one entry.
type record struct {
	entry entry
	since time.Time // of the look that saw this stamp first
	look  int       // the last look that saw the entry
	gone  bool      // that wasn't the last look of all
	moves bool      // not at rest

	parsed *Parsed // content; nil before the first read
	of     entry   // the entry that parsed is about
	err    error   // of the last read
	doubt  bool    // it changed against the clock: only what is watched counts
}

func newCache() cache { return cache{records: make(map[string]*record)} }

// note compares a look with the one before. It returns the paths that aren't at
// rest, and how long to wait for them: 0 if all are.
func (c *cache) note(entries []entry, now time.Time, quiet time.Duration) (changing []string, pause time.Duration) {
	c.look++
	for i := range entries {
		r := c.meet(&entries[i], now)
		r.moves = false
		if rest := r.restIn(now, quiet); rest > 0 {
			r.moves = true
			changing = append(changing, r.entry.path)
			pause = max(pause, rest)
		}
	}
	if len(c.records) > len(entries) {
		changing, pause = c.miss(changing, pause, now, quiet)
	}
	return changing, pause
}

// meet finds the record of an entry that a look saw, or makes one.
func (c *cache) meet(e *entry, now time.Time) *record {
	r := c.records[e.path]
	if r == nil {
		r = &record{entry: *e, since: now}
		c.records[e.path] = r
		c.dirty = true
	}
	if !r.entry.same(e) || r.gone {
		r.since = now
		c.dirty = true
	}
	if r.moves {
		c.dirty = true
	}
	r.entry, r.look, r.gone = *e, c.look, false
	return r
}

// miss deals with the records that a look didn't see. A name may be away for a
// moment only, while an editor replaces its file, so it must be away for quiet.
func (c *cache) miss(changing []string, pause time.Duration, now time.Time, quiet time.Duration) ([]string, time.Duration) {
	for path, r := range c.records {
		if r.look == c.look {
			continue
		}
		c.dirty = true
		if !r.gone {
			r.gone, r.since = true, now
		}
		if rest := quiet - now.Sub(r.since); rest > 0 {
			r.moves = true
			changing = append(changing, path)
			pause = max(pause, rest)
			continue
		}
		delete(c.records, path)
	}
	return changing, pause
}

// restIn is how long it takes until an entry counts as being at rest, if it doesn't
// change again. One that the clock says to be at rest since long is so at once.
func (r *record) restIn(now time.Time, quiet time.Duration) time.Duration {
	watched := now.Sub(r.since)
	if r.doubt {
		return max(quiet, minPause) - watched
	}
	return quiet - max(watched, now.Sub(r.entry.stamp.lastChange()))
}

// same says whether two looks at a path saw the same thing.
func (e *entry) same(other *entry) bool {
	return e.stamp == other.stamp && e.refused == other.refused && errorText(e.err) == errorText(other.err)
}

// refresh reads every entry at rest whose content isn't known, and says whether
// there was one: then another look must confirm what was read.
func (c *cache) refresh(ctx context.Context, root *os.Root, opts Options) (read bool) {
	for path, r := range c.records {
		if ctx.Err() != nil {
			return true
		}
		if r.moves || r.gone || r.known() {
			continue
		}
		if c.load(path, r, root, opts) {
			read = true
		}
	}
	return read
}

// known says whether an entry needs no reading.
func (r *record) known() bool {
	return r.err == nil && r.parsed != nil && r.of.same(&r.entry)
}

// load gets an entry's content, and says whether anything became different.
func (c *cache) load(path string, r *record, root *os.Root, opts Options) bool {
	before := r.err
	switch e := &r.entry; {
	case e.err != nil:
		r.err, r.parsed = e.err, nil
	case e.refused != "":
		r.set(refusal(path, e.refused))
	case e.stamp.size > MaxFileSize:
		r.set(refusal(path, tooLarge(e.stamp.size).message))
	default:
		data, err := readFile(root, path, e.stamp)
		if errors.Is(err, errChanged) || errors.Is(err, fs.ErrNotExist) {
			r.since, r.doubt = time.Now(), true
			return true // the next look sees what became of it
		}
		if r.err = err; err == nil {
			r.set(Parse(path, data, opts))
		} else {
			r.parsed = nil
		}
	}
	if r.err != nil && errorText(before) == errorText(r.err) {
		return false
	}
	c.dirty = true
	return true
}

func (r *record) set(p *Parsed) { r.parsed, r.of, r.err, r.doubt = p, r.entry, nil, false }

// refusal is the content of an entry that isn't read.
func refusal(path, why string) *Parsed {
	return &Parsed{Problems: []Problem{{Path: path, Message: why}}, Anonymous: true}
}

// files makes the records into what Build takes.
func (c *cache) files() []File {
	files := make([]File, 0, len(c.records))
	for path, r := range c.records {
		files = append(files, File{
			Path: path, Parsed: r.parsed, Err: r.err,
			Directory: r.entry.directory, Unsettled: r.moves,
		})
	}
	return files
}
