// Package e2e tests the controller as users have it: the built binary, run as a
// process under the rights that it is shipped with, against a real API server.
// It has tests only.
package e2e
