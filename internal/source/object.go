package source

import (
	"k8s.io/apimachinery/pkg/types"
)

// Object is one WebService as its file states it. It is read-only: snapshots
// share it.
type Object struct {
	// Key is the object's namespace and name; a file without a namespace gets
	// Options.DefaultNamespace.
	Key types.NamespacedName
	// Labels are the labels to apply: the file's, without v1.SourceLabel. Nil if
	// there are none.
	Labels map[string]string
	// Annotations are the annotations to apply: the file's, without the one that
	// suspends (see Suspended) and without kubectl's last-applied configuration.
	// Nil if there are none.
	Annotations map[string]string
	// Finalizers holds v1.CleanupFinalizer if the file names it, and nothing else.
	Finalizers []string

	// Image is spec.image, never empty.
	Image string
	// Replicas is spec.replicas; nil where the file doesn't state it.
	Replicas *int32
	// Tier is spec.tier; nil where the file doesn't state it.
	Tier *string

	// Suspended says that the file's v1.ReconcileAnnotation is "disabled".
	Suspended bool
	// DependsOn are the objects that must be ready first, in the file's order and
	// each once.
	DependsOn []types.NamespacedName

	// File is the path in the source, with slashes.
	File string
	// Line and Column are those of the document's first key, counted in the file from 1.
	Line, Column int
	// Document is the document's place in the file, from 1, empty ones included.
	Document int
	// dependsAt is the place of the annotation that DependsOn comes from; nil where
	// there is none.
	dependsAt *Problem

	// Digest changes whenever something above changes that is applied or steers
	// the controller, and never with the place.
	Digest string
}

// Options are the settings that decide what a file means.
type Options struct {
	// DefaultNamespace is the namespace of objects whose file names none.
	DefaultNamespace string
	// Namespaces are the only ones that a file may name; empty: any.
	Namespaces []string
}
