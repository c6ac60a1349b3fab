// Package cli is the command line: one file a command, and the wiring of
// everything else, with the order in which it starts and stops.
package cli
