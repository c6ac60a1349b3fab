package source

import (
	"io/fs"
	"syscall"
)

// stampOf reads a stamp from what stat gave.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mode: info.Mode(), modified: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = sys.Dev, sys.Ino
		s.changed = sys.Ctim.Nano()
	}
	return s
}
