package source

import "path"

// history says where WebServices were at the last look. What has taken the place of
// a file or a directory without being one must not look like its removal.
type history struct {
	held map[string]memory
	dirs map[string]bool // those with WebServices below; nil until they are asked for
}

// file says whether a file of that name held any.
func (h *history) file(name string) bool { return len(h.held[name].names) > 0 }

// directory says whether a directory of that name did.
func (h *history) directory(name string) bool {
	if h.dirs == nil {
		h.dirs = make(map[string]bool)
		for file, m := range h.held {
			if len(m.names) > 0 {
				h.add(path.Dir(file))
			}
		}
	}
	return h.dirs[name]
}

// add notes a directory and those above it.
func (h *history) add(dir string) {
	for ; dir != "." && !h.dirs[dir]; dir = path.Dir(dir) {
		h.dirs[dir] = true
	}
}
