package report

import (
	"encoding/json"
	"io"
	"path/filepath"
	"sync"
)

// FileName is the report's name in the out directory.
const FileName = "reconcile-report.json"

// Writer replaces the report in a directory. It keeps its buffers from one
// report to the next. Its methods may be called concurrently; it must not be
// copied after the first use.
type Writer struct {
	// Dir is the out directory; it must exist.
	Dir string

	mu sync.Mutex
	// enc is kept, since it owns the buffer that it indents in: a report of
	// 10,000 items takes megabytes. It writes through dst.
	enc *json.Encoder
	dst destination
}

// Write replaces the report as a whole: a reader sees the old file or the new
// one. After an error, which is a *WriteError, the old one is still there and
// nothing else is left behind. The report isn't changed.
func (w *Writer) Write(r *Report) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.enc == nil {
		w.enc = newEncoder(&w.dst)
	}
	return replaceFile(filepath.Join(w.Dir, FileName), func(file io.Writer) error {
		w.dst.Writer = file
		defer func() { w.dst.Writer = nil }()
		err := w.enc.Encode(normal(r))
		if err != nil {
			w.enc = nil // an encoder never writes again after an error
		}
		return err
	})
}

// destination lets one encoder write to one file after another.
type destination struct{ io.Writer }
