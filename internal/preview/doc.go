// Package preview says what a pass would do, without doing it.
//
// It lets the engine itself work, on a world in memory: what the cluster holds, as
// it was read once, with the steps laid over it that the engine takes. Each step is
// carried out by plan.Simulate, or by the API server as a dry run. So who decides is
// the same code as ever, and what it decides is what a pass would do on a cluster
// that nobody else changes meanwhile.
//
// Time is left out: what prune.after lets go later is gone in the preview, and says
// so. What else has to come about from outside is a wait.
package preview
