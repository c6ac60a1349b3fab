// Package install makes of the manifests that are shipped those of one
// installation: with its names, its settings, and no right that these don't need.
//
// It works on the YAML itself, so that what the shipped files say in comments is in
// the result as well. Whatever an item of a list needs to be there is in its comment:
// one that begins with a key and a colon, as in "# crd.install: …", goes where that
// key is off. The result depends on the Options alone, down to the last byte.
package install
