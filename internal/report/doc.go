// Package report is what the controller says about its own work: the model of
// reconcile-report.json, and the directory that the file lives in.
//
// A reader of the file sees a whole report at every moment: each one is
// written beside the old one and renamed over it. One process at a time owns
// the directory; a lock on it says so, and goes with its process.
package report
