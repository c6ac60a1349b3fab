// Package plan decides what to do next about one WebService.
//
// Decide takes what is wanted (the file), what is (the live object, its
// ConfigMap, its namespace) and answers with one Decision: a step to take now,
// or a verdict that says nothing can be done now and why. Taking the step and
// asking again leads, in at most six steps, to a verdict.
//
// What concerns more than one object is judged apart and handed to Decide: Guard
// says whether objects without a file may be deleted, DependencyOf how far another
// object has come. Contests counts what has been taken back from somebody else.
//
// The package is pure: no input or output, no clock, no logger, no client.
// Decide is total: every combination of inputs has an answer, and no step
// leaves its own verdict unchanged. On an object that needs nothing Decide
// doesn't allocate.
package plan
