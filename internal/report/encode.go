package report

import (
	"encoding/json"
	"io"
	"time"
)

// Encode writes the report as it stands in the file: indented, times in UTC
// to the millisecond, empty lists as [] and never null. The report isn't
// changed. Errors are those of the writer.
func Encode(w io.Writer, r *Report) error {
	return newEncoder(w).Encode(normal(r))
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc
}

// normal is a copy in the form of the file.
func normal(r *Report) *Report {
	n := *r
	n.Schema = Schema
	n.Started, n.Finished, n.Source.LastScan = utc(n.Started), utc(n.Finished), utc(n.Source.LastScan)
	n.Items, n.Held = list(n.Items), list(n.Held)
	n.Problems, n.Warnings = list(n.Problems), list(n.Warnings)
	return &n
}

// utc leaves the zero time alone, so that omitzero still sees it.
func utc(t time.Time) time.Time {
	return t.UTC().Truncate(time.Millisecond)
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
