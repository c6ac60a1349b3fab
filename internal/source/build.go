package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Build makes the files of one scan into a snapshot. rootErr says why the directory
// as a whole couldn't be read; prev is the snapshot before, or nil. Build is pure,
// and the order of files doesn't matter.
func Build(files []File, rootErr error, prev *Snapshot) *Snapshot {
	b := newBuilder(len(files), prev)
	if rootErr != nil {
		b.lost(rootErr)
	}
	for i := range files {
		b.file(&files[i])
	}
	b.judgeDuplicates()
	b.keepHeld(files)
	b.judgeCycles()
	if len(b.out.Unsettled) > 0 {
		b.keepAbsent()
	}
	return b.finish()
}

// builder collects a snapshot.
type builder struct {
	out, prev *Snapshot
	twice     map[types.NamespacedName][]Object // every place of names with several
	depending []types.NamespacedName            // objects with dependencies
}

func newBuilder(files int, prev *Snapshot) *builder {
	if prev == nil {
		prev = new(Snapshot)
	}
	return &builder{prev: prev, out: &Snapshot{
		Complete: true,
		Objects:  make(map[types.NamespacedName]Object, files),
		Broken:   make(map[types.NamespacedName]Problem),
		held:     make(map[string]memory, files),
	}, twice: make(map[types.NamespacedName][]Object)}
}

// lost: nothing could be read. Every name that is known stays known.
func (b *builder) lost(err error) {
	b.out.Complete, b.out.Err = false, err
	for path, m := range b.prev.held {
		b.out.held[path] = m
		for _, key := range m.names {
			b.out.Broken[key] = Problem{Message: err.Error()}
		}
	}
}

// file adds what one file says.
func (b *builder) file(f *File) {
	b.out.Warnings = append(b.out.Warnings, f.Warnings...)
	if f.Unsettled {
		b.out.Unsettled = append(b.out.Unsettled, f.Path)
	}
	if f.Err != nil {
		b.out.Problems = append(b.out.Problems, unreadable(f))
		b.out.Unreadable = append(b.out.Unreadable, f.Path)
	}
	if !f.Directory {
		b.out.Files++
	}
	if f.Parsed != nil {
		b.parsed(f.Path, f.Parsed)
	}
}

func unreadable(f *File) Problem {
	return Problem{Path: f.Path, Message: "can't be read: " + reasonOf(f.Err)}
}

func (b *builder) parsed(path string, p *Parsed) {
	b.out.Problems = append(b.out.Problems, p.Problems...)
	b.out.Warnings = append(b.out.Warnings, p.Warnings...)
	b.out.Skipped += p.Skipped
	for key, problem := range p.Broken {
		b.broken(key, problem)
	}
	for _, o := range p.Objects {
		if known, twice := b.out.Objects[o.Key]; twice {
			if b.twice[o.Key] == nil {
				b.twice[o.Key] = []Object{known}
			}
			b.twice[o.Key] = append(b.twice[o.Key], o)
			continue
		}
		b.out.Objects[o.Key] = o
		if len(o.DependsOn) > 0 {
			b.depending = append(b.depending, o.Key)
		}
	}
	b.out.held[path] = memory{names: p.names()}
}

// broken keeps the problem that a reader meets first.
func (b *builder) broken(key types.NamespacedName, problem Problem) {
	if known, ok := b.out.Broken[key]; !ok || compareProblems(problem, known) < 0 {
		b.out.Broken[key] = problem
	}
}

// judgeDuplicates: of an object that is written in several places none counts,
// since nobody knows which is meant. The same goes for one that a broken document
// names as well.
func (b *builder) judgeDuplicates() {
	for key, places := range b.twice {
		slices.SortFunc(places, comparePlaces)
		for i, o := range places {
			problem := duplicate(o, places, i)
			b.out.Problems = append(b.out.Problems, problem)
			b.broken(key, problem)
		}
	}
	for key := range b.out.Broken {
		delete(b.out.Objects, key)
	}
}

func comparePlaces(a, b Object) int {
	return compareProblems(
		Problem{Path: a.File, Document: a.Document, Line: a.Line},
		Problem{Path: b.File, Document: b.Document, Line: b.Line},
	)
}

// mostPlaces is how many other places the problem of a duplicate names: with all of
// them, a file of nothing but copies would cost the square of its size.
const mostPlaces = 3

// duplicate is the problem of one of several places, which names the others.
func duplicate(o Object, places []Object, self int) Problem {
	var others []string
	for i := 0; i < len(places) && len(others) < mostPlaces; i++ {
		if i != self {
			others = append(others, fmt.Sprintf("%s:%d", places[i].File, places[i].Line))
		}
	}
	if more := len(places) - 1 - len(others); more > 0 {
		others = append(others, fmt.Sprintf("%d more places", more))
	}
	return Problem{
		Path: o.File, Document: o.Document, Line: o.Line, Column: o.Column, Field: "metadata.name",
		Message: fmt.Sprintf("%s is written in %s as well: keep one", o.Key, strings.Join(others, ", ")),
	}
}

// keepHeld makes the names broken that a file held when it could last be read,
// and that may still be in it.
func (b *builder) keepHeld(files []File) {
	for i := range files {
		f := &files[i]
		switch {
		case f.Err != nil && f.Directory:
			b.keepBelow(f.Path, unreadable(f), true)
		case f.Directory && f.Parsed != nil && f.Parsed.Anonymous:
			b.keepBelow(f.Path, f.Parsed.Problems[0], false)
		case f.Err != nil:
			b.keep(f.Path, unreadable(f), true)
		case f.Parsed != nil && f.Parsed.Anonymous:
			b.keep(f.Path, f.Parsed.Problems[0], false)
		}
		if !f.Directory {
			b.judgeCutOff(f)
		}
	}
}

// keepBelow keeps the names of all files of a directory that can't be read, or
// that something else has taken the place of.
func (b *builder) keepBelow(dir string, problem Problem, against bool) {
	for path := range b.prev.held {
		if strings.HasPrefix(path, dir+"/") {
			b.keep(path, problem, against)
		}
	}
}

// keep keeps the names of one file. Where nothing of the file could be read it
// also stands against another file that names the same object; a file of which a
// document is broken doesn't.
func (b *builder) keep(path string, problem Problem, against bool) {
	before, kept := b.prev.held[path], b.out.held[path]
	for _, key := range before.names {
		_, named := b.out.Objects[key]
		if named && !against {
			continue
		}
		delete(b.out.Objects, key)
		if _, known := b.out.Broken[key]; !known {
			b.out.Broken[key] = problem
		}
		if !slices.Contains(kept.names, key) {
			kept.names = append(slices.Clip(kept.names), key)
		}
	}
	kept.whole = before.whole
	b.out.held[path] = kept
}

// keepAbsent: while files change, an object may just be on its way from one to
// another. What was there before is there still.
func (b *builder) keepAbsent() {
	for key, o := range b.prev.Objects {
		if !b.knows(key) {
			b.out.Objects[key] = o
		}
	}
	for key, problem := range b.prev.Broken {
		if !b.knows(key) {
			b.out.Broken[key] = problem
		}
	}
	for path, m := range b.prev.held {
		if _, known := b.out.held[path]; !known {
			b.out.held[path] = m
		}
	}
}

func (b *builder) knows(key types.NamespacedName) bool {
	_, usable := b.out.Objects[key]
	_, broken := b.out.Broken[key]
	return usable || broken
}

// finish sorts what came in any order.
func (b *builder) finish() *Snapshot {
	s := b.out
	slices.SortFunc(s.Problems, compareProblems)
	slices.SortFunc(s.Warnings, compareProblems)
	slices.Sort(s.Unreadable)
	slices.Sort(s.Unsettled)
	s.Digest = s.digest()
	return s
}

// empty makes the error of a source that was read whole, without a problem, and
// holds no WebService; nil if s isn't that.
func (s *Snapshot) empty(path string) error {
	if !s.Complete || len(s.Objects)+len(s.Broken)+len(s.Problems)+len(s.Unsettled) > 0 {
		return nil
	}
	e := &RootError{Path: path, Reason: ErrEmpty}
	if s.Files > 0 {
		e.Cause = errors.New(counted(s.Files, s.Skipped))
	}
	return e
}

func counted(files, skipped int) string {
	return plural(files, "file") + ", " + plural(skipped, "document") + " of other kinds"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names are all names that the file says, usable or not.
func (p *Parsed) names() []types.NamespacedName {
	names := make([]types.NamespacedName, 0, len(p.Objects)+len(p.Broken))
	for i := range p.Objects {
		names = append(names, p.Objects[i].Key)
	}
	for key := range p.Broken {
		names = append(names, key)
	}
	return names
}
