//go:build race

package plan

// raceFactor thins out the combinations: the race detector makes each ten times
// as slow, and there is nothing in one that isn't in its neighbours.
const raceFactor = 11
