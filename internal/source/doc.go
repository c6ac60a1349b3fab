// Package source turns a directory of WebService files into a Snapshot: what the
// files ask for, what is wrong with them, and whether they could be read whole.
//
// It has three layers. Parse and Build are pure: bytes in, values out. A Scanner
// looks at the directory, waits until the files are at rest, reads only what
// changed and checks afterwards that nothing moved meanwhile. A Source repeats
// that: on every hint from the file system and on a timer.
//
// What the package promises:
//
//   - A file never means something that its author didn't write. A value that
//     YAML readers disagree on is refused with the words to write instead.
//   - All problems of all documents are reported in one pass, and each harms only
//     its own document.
//   - Absence is certain or it isn't reported: what an unreadable, broken or
//     changing file held before isn't in Objects, but it is in Broken, or it stays
//     as it was. Snapshot.Doubt says why an absence means nothing.
//   - No file outside the source is opened, except the few that say which commit
//     an enclosing git checkout is at.
package source
