package web

import (
	"embed"
	"net/http"
	"path"
	"strings"
)

// files are the page as it is sent: there is no step that builds it.
//
//go:embed page
var files embed.FS

// page sends a file of the page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	data, err := files.ReadFile(path.Join("page", name))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mediaType(name))
	_, _ = w.Write(data) // the client has gone: nobody is left to tell
}

// mediaType doesn't ask the machine, whose tables differ.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return "application/octet-stream"
	}
}
