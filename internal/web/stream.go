package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// What bounds an open stream.
const (
	// chunkTimeout is how long a reader may take for a chunk of at most chunkSize: who
	// is slower is dropped.
	chunkTimeout = 10 * time.Second
	chunkSize    = 64 << 10
	// beatEvery is how often a page hears of us at the least, so that it notices when
	// it doesn't.
	beatEvery = 10 * time.Second
)

// stream sends server-sent events until the reader goes or the server ends:
//
//	report   what has changed since the last one, or all; its id may be given back
//	beat     whether the controller is ready, and its time; at least every ten seconds
//	stopping the controller is being stopped
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	sub := s.subscribers.join(s.feed.begin)
	if sub == nil {
		w.Header().Set("Retry-After", "10")
		text(w, http.StatusServiceUnavailable, "too many pages are open: close one, or look again later")
		return
	}
	defer s.subscribers.leave(sub, s.feed.end)
	out := &events{w: w, control: http.NewResponseController(w)}
	seen := r.Header.Get("Last-Event-ID")
	if since := r.URL.Query().Get("since"); since != "" {
		seen = since
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for out.sendBeat(s.ready()) == nil {
		data, now, err := s.feed.since(seen)
		if err != nil || data != nil && out.send("report", now, data) != nil {
			return
		}
		seen = now
		select {
		case <-sub.news:
		case <-beat.C:
		case <-r.Context().Done():
			return
		case <-s.ending:
			_ = out.send("stopping", "", []byte("{}")) // the reader may have gone before us
			return
		}
	}
}

// events writes server-sent events. The server's limit is for short answers, so each
// write has one of its own.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// sendBeat says that we are here, and what keeps the controller from working.
func (e *events) sendBeat(unready error) error {
	var beat struct {
		NotReady string `json:"not_ready"`
		Now      int64  `json:"now"` // milliseconds
	}
	beat.Now = time.Now().UnixMilli()
	if unready != nil {
		beat.NotReady = unready.Error()
	}
	data, err := json.Marshal(&beat)
	if err != nil {
		return err
	}
	return e.send("beat", "", data)
}

// send writes one event. data is one line of JSON.
func (e *events) send(name, id string, data []byte) error {
	var head strings.Builder
	head.WriteString("event: " + name + "\n")
	if id != "" {
		head.WriteString("id: " + id + "\n")
	}
	head.WriteString("data: ")
	for _, part := range [][]byte{[]byte(head.String()), data, []byte("\n\n")} {
		if err := e.write(part); err != nil {
			return err
		}
	}
	return e.control.Flush()
}

func (e *events) write(data []byte) error {
	for len(data) > 0 {
		if err := e.control.SetWriteDeadline(time.Now().Add(chunkTimeout)); err != nil {
			return err
		}
		chunk := data[:min(chunkSize, len(data))]
		if _, err := e.w.Write(chunk); err != nil {
			return err
		}
		data = data[len(chunk):]
	}
	return nil
}

// object answers with all that is known of one object.
func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	view := s.view()
	if view == nil {
		text(w, http.StatusServiceUnavailable, "objects can't be looked at yet")
		return
	}
	o, ok := view.Object(r.PathValue("namespace"), r.PathValue("name"))
	if !ok {
		text(w, http.StatusNotFound, "no such object: no file names it, and the cluster has none of ours by that name")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(o) // the client has gone: nobody is left to tell
}
