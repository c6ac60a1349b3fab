// Package config is what the user can set: the keys with their defaults, and
// how a flag, a variable and the file come together.
//
// One table, settings, drives all of it: the flag and the variable of a key
// follow from its path. A flag is stronger than a variable, a variable than
// the file, the file than the default. Nothing that the user wrote is ignored:
// a key or variable that isn't known is an error, and so is a value that isn't
// of its key's type. Load finds all errors in one go.
package config
