package source

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is what a source says at one moment. It is read-only: later snapshots
// share its parts.
type Snapshot struct {
	// Revision is the commit that the enclosing git checkout was at, or "".
	Revision string
	// Digest is equal for two snapshots exactly when they hold the same objects,
	// with the same content, and the same broken names. It depends neither on the
	// order of files nor on where an object is written.
	Digest string

	// Complete is false when the directory itself couldn't be read. Then Objects
	// is empty, every name known before is in Broken, and Err says why.
	//
	// A file or sub-directory that can't be read doesn't make a snapshot
	// incomplete: it is a problem, and in Unreadable.
	Complete bool
	// Err is nil, or a *RootError whose reason is one of ErrMissing, ErrDangling,
	// ErrNotDirectory and ErrUnreadable (Complete is false), or ErrEmpty: the
	// directory was read whole (Complete is true), has no problem, and holds no
	// WebService.
	Err error

	// Objects are the usable objects by key.
	Objects map[types.NamespacedName]Object
	// Broken are the names that must not count as absent, though they aren't in
	// Objects: those of a document that can't be used, of an object that is
	// written twice or that depends on itself, and those that a file held before that
	// is unreadable or cut off now.
	Broken map[types.NamespacedName]Problem
	// Problems are all faults, sorted by path and line.
	Problems []Problem
	// Warnings are harmless: the objects they speak of are used.
	Warnings []Problem
	// Skipped counts the documents of other kinds.
	Skipped int
	// Files counts the YAML and JSON files that were looked at.
	Files int

	// Unreadable are the files and directories of the source that couldn't be
	// read, each with a problem.
	Unreadable []string
	// Unsettled are the files that still changed when the time to wait for them
	// was over. If there are any, they keep their previous content, objects that
	// no file names any longer are still in Objects as they were, and another
	// scan follows at once: such a snapshot says nothing about absence.
	Unsettled []string

	// Scanned is when the files were looked at.
	Scanned time.Time
	// Cause says what led to the scan. Only a Source sets it.
	Cause Cause
	// Noticed is when the first hint came, or the time was over, that led to the scan.
	// Only a Source sets it.
	Noticed time.Time

	// reading numbers what a Scanner has read; 0 where no Scanner did.
	reading int64
	// held is what is remembered of each file, by its path.
	held map[string]memory
}

// Cause says what led to a scan.
type Cause string

const (
	// CauseStart is the first scan of a Source.
	CauseStart Cause = "start"
	// CauseHint means that something may have changed; only keys that differ need a look.
	CauseHint Cause = "hint"
	// CauseInterval means that the scan interval is over; every key is due.
	CauseInterval Cause = "interval"
)

// Keys are the names of the usable objects, by namespace, then name.
func (s *Snapshot) Keys() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(s.Objects), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// SameReading says whether two snapshots of one Scanner were made of the same
// reading, so that they agree in everything that the files say, places included:
// nothing has changed in between. It costs nothing. Either may be nil.
func (s *Snapshot) SameReading(other *Snapshot) bool {
	return s != nil && other != nil && s.reading != 0 && s.reading == other.reading &&
		errorText(s.Err) == errorText(other.Err) && len(s.Warnings) == len(other.Warnings)
}

// Same says whether two snapshots agree in content, problems and completeness.
// Revision, positions and times may differ. Either may be nil.
func (s *Snapshot) Same(other *Snapshot) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Digest == other.Digest &&
		s.Complete == other.Complete &&
		errorText(s.Err) == errorText(other.Err) &&
		s.Skipped == other.Skipped &&
		s.Files == other.Files &&
		slices.Equal(s.Problems, other.Problems) &&
		slices.Equal(s.Warnings, other.Warnings) &&
		slices.Equal(s.Unreadable, other.Unreadable) &&
		slices.Equal(s.Unsettled, other.Unsettled) &&
		maps.Equal(s.Broken, other.Broken)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
