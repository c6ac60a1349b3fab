// Package engine runs the loop: a key comes off the queue, both sides of it are
// gathered from memory, package plan decides, the step is done, and so on until
// nothing is left to do.
//
// An Engine takes snapshots of the source and news from the cluster. Both only
// make keys runnable: what is to be done is decided when a key's turn comes, on
// what is true then. What no key can know by itself is kept for all of them: a
// ledger of what is ours and what no file names any more, by which the guard judges
// deletions, and who waits for whom. It keeps the account of each object for the
// report and asks package cycle what all of it amounts to.
package engine
