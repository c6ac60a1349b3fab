package source

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what is kept of a file from snapshot to snapshot.
type memory struct {
	// names are those that the file held when it could last be read.
	names []types.NamespacedName
	// whole is what it said when it last was without a problem and not cut off;
	// nil where that is nothing that could be lost.
	whole *Parsed
}

// judgeCutOff keeps in mind what a file says, unless that is less than the whole:
// a file may rest while only its beginning is written. Where the rest is missing
// without a syntax error nothing in the text tells that, but what the file was
// before does.
func (b *builder) judgeCutOff(f *File) {
	m := b.out.held[f.Path]
	before := b.prev.held[f.Path].whole
	switch {
	case f.Parsed == nil || f.Unsettled || len(f.Parsed.Problems) > 0:
		m.whole = before
	case before != nil && before != f.Parsed && b.cutOff(f, before):
		return
	case len(f.Parsed.Objects) > 0:
		m.whole = f.Parsed
	}
	b.out.held[f.Path] = m
}

// cutOff says whether a file has lost objects, to nowhere, by being cut off. Then it
// keeps them, and the document in which it ends doesn't count.
func (b *builder) cutOff(f *File, before *Parsed) bool {
	lost := b.lostOf(before)
	if len(lost) == 0 {
		return false
	}
	p := f.Parsed
	how := p.outline.cutOf(before.outline, len(p.Objects)+p.Skipped > 0)
	if how == notCut {
		return false
	}
	problem := Problem{Path: f.Path, Line: len(p.outline.sums), Column: 1, Message: cutMessage(how, lost)}
	b.out.Problems = append(b.out.Problems, problem)
	b.out.held[f.Path] = memory{names: append(p.names(), lost...), whole: before}
	if last := len(p.Objects) - 1; last >= 0 {
		lost = append(lost, p.Objects[last].Key)
	}
	for _, key := range lost {
		b.broken(key, problem)
		delete(b.out.Objects, key)
	}
	return true
}

// lostOf are the objects of a file as it was that nothing names any longer.
func (b *builder) lostOf(before *Parsed) []types.NamespacedName {
	var lost []types.NamespacedName
	for i := range before.Objects {
		if key := before.Objects[i].Key; !b.knows(key) {
			lost = append(lost, key)
		}
	}
	return lost
}

func cutMessage(how cut, lost []types.NamespacedName) string {
	what := lost[0].String()
	if more := len(lost) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	if how == cutInLine {
		return fmt.Sprintf("the file ends in the middle of a line, and doesn't hold %s any longer: write the rest, or end that line if this is all", what)
	}
	return fmt.Sprintf("the file is cut off where it went on before, and doesn't hold %s any longer: write the rest, or end it with a comment if this is all", what)
}
