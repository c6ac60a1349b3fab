// Package report is what the controller says about its own work, and the
// directory that this lives in: reconcile-report.json with its model, evidence
// files, and the files in which people approve deletions.
//
// A reader of a file sees it whole at every moment: each one is written beside
// the old one and renamed over it. One process at a time owns the directory; a
// lock on it says so, and goes with its process. Approving needs no lock.
package report
