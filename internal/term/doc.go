// Package term is what commands know of the terminal that a person reads them
// on: how wide it is, whether it has colours, how text from elsewhere is made
// harmless, how a table fits, and a line that is written over.
//
// Output that goes elsewhere, into a file or a pipe, is plain, without a width
// and without colours, so that other programs can read it.
package term
