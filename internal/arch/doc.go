// Package arch holds the architecture: its test compares what each package
// imports with what it may import. There is no code in it.
package arch
