// Package export makes live WebServices into the files that a source is read from.
//
// A file says what a user wants and nothing that the server or the controller adds,
// so that the same directory brings the same objects about in an empty cluster. Every
// file is read back as the source would read it before it counts as good. Of the
// directory, nothing is changed before all of it was looked at.
package export
