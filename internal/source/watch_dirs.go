package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links a path may lead through.
const maxLinks = 40

// approaches are the directories in which the way to source.path may change: those
// of the links that it leads through, that of the directory itself, or the last one
// there is if the rest is missing.
func approaches(path string) []Directory {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	volume := filepath.VolumeName(absolute) + string(filepath.Separator)
	var found []Directory
	at, rest := volume, components(absolute)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		link := err == nil && info.Mode()&os.ModeSymlink != 0
		if err != nil || link || len(rest) == 1 {
			found = append(found, Directory{Path: at, Only: rest[0], ID: directoryID(at)})
		}
		if err != nil {
			break
		}
		if at, rest = next, rest[1:]; link {
			links++
			at, rest = follow(next, rest, volume)
		}
	}
	return found
}

// follow puts what a link says in the place of the link.
func follow(link string, rest []string, volume string) (at string, todo []string) {
	target, err := os.Readlink(link)
	if err != nil {
		return link, nil
	}
	if filepath.IsAbs(target) {
		return volume, append(components(target), rest...)
	}
	joined := filepath.Join(filepath.Dir(link), target)
	return volume, append(components(joined), rest...)
}

// components are the names in a path.
func components(path string) []string {
	return strings.FieldsFunc(filepath.Clean(path), func(r rune) bool { return r == filepath.Separator })
}

func directoryID(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s := stampOf(info)
	return fmt.Sprint(s.device, ":", s.inode)
}

// directories are all that a watch needs: those of the source, and the way to it.
func (s *Scanner) directories() []Directory {
	dirs := approaches(s.cfg.Path)
	for _, d := range s.dirs {
		dirs = append(dirs, Directory{Path: filepath.Join(s.root, d.Path), ID: d.ID})
	}
	return dirs
}
