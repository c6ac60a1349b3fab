// Package walk takes a long random walk with the built binary: files, objects, the
// process and the connection to the API server change at any time and in any order.
// A judge that knows the documented rules, and nothing of the code, looks at every
// request that the controller sent. It has tests only.
//
// WALK_SEED repeats a walk's choices (not its timing), WALK_STEPS sets its length:
//
//	WALK_STEPS=50000 WALK_SEED=7 go test -v -run TestARandomWalk -timeout 3h ./internal/walk
package walk
