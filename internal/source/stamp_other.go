//go:build !linux

package source

import "io/fs"

// stampOf reads a stamp from what stat gave.
func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), mode: info.Mode(), modified: info.ModTime().UnixNano()}
}
