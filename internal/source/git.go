package source

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// maxGitFile is more than any of the small files of a git directory holds.
	maxGitFile = 4 << 10
	// maxSymbolicRefs is how many references may refer to one another.
	maxSymbolicRefs = 5
	// staleLock is the age from which an index.lock was left behind by a git
	// command that died.
	staleLock = 30 * time.Second
)

// checkout is the git checkout around a directory. Only the files that say which
// commit it is at are read, by hand: HEAD, its reference, packed-refs.
type checkout struct {
	own    string // the git directory of this worktree; "" where there is none
	common string // that of the repository
}

// findCheckout looks for .git at dir and above.
func findCheckout(dir string) checkout {
	for {
		if own := gitDirectory(filepath.Join(dir, ".git")); own != "" {
			return checkout{own: own, common: commonDirectory(own)}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return checkout{}
		}
		dir = parent
	}
}

// gitDirectory follows a .git: a directory, or a file that names one.
func gitDirectory(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return path
	}
	target, found := strings.CutPrefix(readSmall(path), "gitdir: ")
	if !found {
		return ""
	}
	return relativeTo(filepath.Dir(path), target)
}

// commonDirectory is where a worktree's repository keeps its references.
func commonDirectory(own string) string {
	if target := readSmall(filepath.Join(own, "commondir")); target != "" {
		return relativeTo(own, target)
	}
	return own
}

func relativeTo(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// revision is the commit that HEAD leads to, or "".
func (c checkout) revision() string {
	if c.own == "" {
		return ""
	}
	text := readSmall(filepath.Join(c.own, "HEAD"))
	for range maxSymbolicRefs {
		ref, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			break
		}
		if text = c.reference(strings.TrimSpace(ref)); text == "" {
			return ""
		}
	}
	if !isCommit(text) {
		return ""
	}
	return text
}

// reference reads a reference: the worktree's, the repository's, or a packed one.
func (c checkout) reference(name string) string {
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(name) || strings.Contains(name, "..") {
		return ""
	}
	for _, dir := range []string{c.own, c.common} {
		if text := readSmall(filepath.Join(dir, name)); text != "" {
			return text
		}
	}
	return c.packed(name)
}

// packed looks a reference up in packed-refs, whose lines are "commit name".
func (c checkout) packed(name string) string {
	file := openRegular(filepath.Join(c.common, "packed-refs"))
	if file == nil {
		return ""
	}
	found := ""
	for lines := bufio.NewScanner(file); found == "" && lines.Scan(); {
		if commit, ref, _ := strings.Cut(lines.Text(), " "); ref == name {
			found = commit
		}
	}
	_ = file.Close() // it was only read
	return found
}

// isCommit: a hash in hexadecimal, SHA-1 or SHA-256.
func isCommit(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	return strings.Trim(text, "0123456789abcdef") == ""
}

// lock is the time of the index.lock that a running git command holds.
func (c checkout) lock() (path string, since time.Time, held bool) {
	if c.own == "" {
		return "", time.Time{}, false
	}
	path = filepath.Join(c.own, "index.lock")
	info, err := os.Lstat(path)
	if err != nil {
		return path, time.Time{}, false
	}
	return path, info.ModTime(), true
}

// readSmall is the text of a small file without the blanks around it; "" if it
// can't be read.
func readSmall(path string) string {
	file := openRegular(path)
	if file == nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(file, maxGitFile))
	if errors.Join(err, file.Close()) != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// openRegular opens a file without blocking on what isn't one.
func openRegular(path string) *os.File {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close() // it was only read
		return nil
	}
	return file
}
