package source

import "k8s.io/apimachinery/pkg/types"

// Parsed is what one file says.
type Parsed struct {
	// Objects are the usable objects in the order of the file. An object that the
	// file writes twice is here twice: Build judges that.
	Objects []Object
	// Broken are the names of documents that can't be used, with the first
	// problem of each.
	Broken map[types.NamespacedName]Problem
	// Problems and Warnings are in the order of the file.
	Problems, Warnings []Problem
	// Skipped counts the documents of other kinds.
	Skipped int
	// Anonymous says that a document which can't be used doesn't say its name: what
	// the file held before must not count as absent.
	Anonymous bool

	// outline is that of the text; nil for JSON, and where a document can't be used.
	outline *outline
}

// File is one file of a scan, as Build takes it.
type File struct {
	// Path is the path in the source, with slashes.
	Path string
	// Parsed is what the file says; for an unsettled file what it said before.
	Parsed *Parsed
	// Err says why the file, or the directory, can't be read.
	Err error
	// Directory says that Path is a directory that can't be read.
	Directory bool
	// Unsettled says that the file still changes: Parsed is its previous content,
	// nil if there is none.
	Unsettled bool
	// Warnings aren't about the content.
	Warnings []Problem
}
