package source

import (
	"io/fs"
	"time"
)

// stamp is what can be known of a file without opening it. Two equal stamps mean
// the same content, if the file was at rest between them.
type stamp struct {
	device, inode uint64
	size          int64
	mode          fs.FileMode
	modified      int64 // nanoseconds
	changed       int64 // when content, name or rights changed last; 0 if unknown
}

// lastChange is the time that the system gives for the last change. A copied file
// keeps its modification time, so the time of change counts where there is one.
func (s stamp) lastChange() time.Time {
	if s.changed != 0 {
		return time.Unix(0, s.changed)
	}
	return time.Unix(0, s.modified)
}
