// Package evidence keeps, for each object, files that show what was seen of it
// and what was decided: what observe.json, decision.json, requeue.json,
// terminating.json and cleanup.txt hold.
//
// It is told of every decision, so it first looks whether anything is new: a pass
// over objects at rest costs a comparison each.
package evidence
