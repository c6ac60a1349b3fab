package labtest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Audit reads the server's own record of requests. The server writes a request down before its answer is complete:
// whoever has the answer finds the request here.
type Audit struct{ path string }

// Mark is a position in the record. The zero Mark is its beginning.
type Mark int64

// Request is one request, as the server saw it.
type Request struct {
	Verb        string // get, list, watch, create, update, patch, delete, deletecollection
	URI         string
	Group       string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	UserAgent   string
	User        string
	Code        int
	Time        time.Time // of its answer; for a watch, of the answer's beginning
}

// IsWrite says whether the request could change anything.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Audit is the record of this cluster's requests, over all restarts.
func (c *Cluster) Audit() *Audit { return &Audit{path: filepath.Join(c.dir, auditFile)} }

// Mark is the position after the last request until now.
func (a *Audit) Mark(t testing.TB) Mark {
	t.Helper()
	info, err := os.Stat(a.path)
	if err != nil {
		t.Fatal(err)
	}
	return Mark(info.Size())
}

// Requests are those answered since a mark, in order, by clients whose user agent begins with the prefix. A watch is
// one request, counted when it begins.
func (a *Audit) Requests(t testing.TB, userAgentPrefix string, since Mark) []Request {
	t.Helper()
	var requests []Request
	for line := range bytes.Lines(a.read(t, since)) {
		if !bytes.Contains(line, []byte(userAgentPrefix)) {
			continue // decoding costs a hundred times as much
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("read the audit log: %v: %s", err, line)
		}
		if e.counts() && strings.HasPrefix(e.UserAgent, userAgentPrefix) {
			requests = append(requests, e.request())
		}
	}
	return requests
}

// Count is the number of requests since a mark that the filter lets through.
func (a *Audit) Count(t testing.TB, since Mark, filter func(Request) bool) int {
	t.Helper()
	count := 0
	for _, r := range a.Requests(t, "", since) {
		if filter(r) {
			count++
		}
	}
	return count
}

// read leaves out a last line that is still being written, and the end of one that
// was when the mark was taken: that request came before.
func (a *Audit) read(t testing.TB, since Mark) []byte {
	t.Helper()
	f, err := os.Open(a.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	from := max(int64(since)-1, 0) // the byte before tells whether a line begins at the mark
	data, err := io.ReadAll(io.NewSectionReader(f, from, 1<<62))
	if err != nil {
		t.Fatal(err)
	}
	if since > 0 {
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	return data[:bytes.LastIndexByte(data, '\n')+1]
}

// event is the part of the server's audit event that tests ask for.
type event struct {
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	StageTimestamp time.Time `json:"stageTimestamp"`
}

// counts picks one event of each request: a watch that was granted has two, and the first shows it while it is open.
func (e *event) counts() bool {
	const ok = 200
	if e.Verb == "watch" && e.ResponseStatus.Code == ok {
		return e.Stage == "ResponseStarted"
	}
	return e.Stage == "ResponseComplete"
}

func (e *event) request() Request {
	return Request{
		Verb:        e.Verb,
		URI:         e.RequestURI,
		Group:       e.ObjectRef.APIGroup,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		UserAgent:   e.UserAgent,
		User:        e.User.Username,
		Code:        e.ResponseStatus.Code,
		Time:        e.StageTimestamp,
	}
}
