// Package browser is a real browser for tests of the status page: pages that are
// opened, typed into, clicked on and looked at, as a person does. Only tests use it.
package browser
