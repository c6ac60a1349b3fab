package export

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/source"
)

// maxFileName is how long the name of a file may be, in bytes, on the file systems
// that people have.
const maxFileName = 255

// extension ends the names of files.
const extension = ".yaml"

// Set is an export: what becomes files, and what doesn't, each sorted by namespace
// and name.
type Set struct {
	Files []File
	Left  []Left
}

// File is the file of one object.
type File struct {
	Key types.NamespacedName
	// Path is namespace/name.yaml.
	Path string
	// Text is the same for the same object, whenever and wherever it is written.
	Text []byte
	// Problems are those that the source would find in the file, with places in Path.
	// The file says what the cluster says all the same.
	Problems []source.Problem
	// Suspended: the object asks to be left alone. A file that says so brings nothing
	// about in an empty cluster.
	Suspended bool
}

// Left is an object that has no file.
type Left struct {
	Key types.NamespacedName
	// Terminating: it is being deleted, so nobody wants it back. Else no file can say
	// what it is.
	Terminating bool
	// Why is a half sentence.
	Why string
}

// New makes an export of live objects. They aren't changed.
func New(objects []unstructured.Unstructured) *Set {
	s := &Set{}
	for i := range objects {
		s.add(&objects[i])
	}
	slices.SortFunc(s.Files, func(a, b File) int { return compare(a.Key, b.Key) })
	slices.SortFunc(s.Left, func(a, b Left) int { return compare(a.Key, b.Key) })
	return s
}

func (s *Set) add(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	switch {
	case u.GetDeletionTimestamp() != nil:
		s.Left = append(s.Left, Left{Key: key, Terminating: true, Why: "it is being deleted"})
		return
	case len(key.Name+extension) > maxFileName:
		s.Left = append(s.Left, Left{Key: key, Why: "its name is too long for a file"})
		return
	}
	path := key.Namespace + "/" + key.Name + extension
	text, problems, err := write(path, clean(u))
	if err != nil {
		s.Left = append(s.Left, Left{Key: key, Why: err.Error()})
		return
	}
	_, suspended := u.GetAnnotations()[v1.ReconcileAnnotation]
	s.Files = append(s.Files, File{Key: key, Path: path, Text: text, Problems: problems, Suspended: suspended})
}

func compare(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
