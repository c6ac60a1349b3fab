// Package bench holds the product's speed against measures taken in the same
// run, on the real server. It has tests only.
package bench
