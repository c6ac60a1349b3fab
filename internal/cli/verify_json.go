package cli

import (
	"encoding/json"
	"io"
	"strings"

	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/internal/term"
)

// verifySchema names the format of verify -o json; it changes when a reader would break.
const verifySchema = "webservice-controller/verify/v1"

// verifyFile is what verify prints as JSON.
type verifyFile struct {
	Schema string `json:"schema"`
	// Proven: the second pass wanted to write nothing, and no version has moved.
	Proven  bool   `json:"proven"`
	Verdict string `json:"verdict"`
	// Requests are those of the second pass, beside its own lists.
	Requests report.Requests `json:"requests"`
	Objects  []verifyRow     `json:"objects"`
}

// verifyRow is one object before and after the second pass.
type verifyRow struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Before and After are resourceVersions, "" where there is no such object.
	Before string `json:"before"`
	After  string `json:"after"`
	// Wanted is the write that the second pass wanted, absent where there was none.
	Wanted string `json:"wanted,omitempty"`
}

// json writes the proof for programs.
func (p *proof) json(w io.Writer) error {
	text, _ := p.verdict()
	file := verifyFile{Schema: verifySchema, Proven: p.err() == nil, Verdict: text, Requests: p.requests, Objects: []verifyRow{}}
	for i := range p.rows {
		r := &p.rows[i]
		file.Objects = append(file.Objects, verifyRow{r.kind, r.namespace, r.name, r.before, r.after, r.wanted})
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(file); err != nil {
		return err
	}
	_, err := io.WriteString(w, term.JSON(b.String()))
	return err
}
