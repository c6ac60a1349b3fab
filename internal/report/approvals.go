package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const approvalsName = "approvals"

// Approvals are the files in which people allow held deletions, each named by the
// digest of the set that it is about. The name alone counts: what is in the file
// is for people. Links aren't followed.
type Approvals struct {
	// Dir is the out directory.
	Dir string
}

// Approval is what an approval's file says.
type Approval struct {
	Digest   string    `json:"digest"`
	Approved time.Time `json:"approved"`
	// Source is the name of the source that the objects belong to.
	Source string `json:"source"`
	// Held are the deletions that are allowed, with why they were held.
	Held []Held `json:"held"`
}

// ValidDigest says whether text can be the digest of a set of deletions: 64
// digits, of which letters are small.
func ValidDigest(text string) bool {
	digits, err := hex.DecodeString(text)
	return err == nil && len(digits) == sha256.Size && text == strings.ToLower(text)
}

// Approved says whether there is an approval of that digest. A directory that
// doesn't exist has none.
func (a *Approvals) Approved(digest string) (bool, error) {
	if !ValidDigest(digest) {
		return false, nil
	}
	root, err := a.open()
	if root == nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(digest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, a.unreadable(err)
	}
	return info.Mode().IsRegular(), nil
}

// Retain removes every approval but the one of that digest; "" removes all. What
// isn't named like an approval stays, and so does a directory.
func (a *Approvals) Retain(digest string) error {
	root, err := a.open()
	if root == nil {
		return err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return a.unreadable(err)
	}
	var errs []error
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || name == digest || !ValidDigest(name) {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, &WriteError{Path: filepath.Join(a.Dir, approvalsName, name), Err: plain(err)})
		}
	}
	return errors.Join(errs...)
}

// Approve writes an approval, in place of an earlier one of that digest. It needs
// no lock on the out directory. The error is a *WriteError.
func (a *Approvals) Approve(approval *Approval) error {
	name := filepath.Join(approvalsName, approval.Digest)
	if !ValidDigest(approval.Digest) {
		return &WriteError{Path: filepath.Join(a.Dir, name), Err: fs.ErrInvalid}
	}
	file := *approval
	file.Approved, file.Held = utc(file.Approved), list(file.Held)
	return replaceBelow(a.Dir, name, func(w io.Writer) error { return newEncoder(w).Encode(&file) })
}

// open is nil where there is no directory of approvals.
func (a *Approvals) open() (*os.Root, error) {
	root, err := openBelow(a.Dir, approvalsName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, a.unreadable(err)
	}
	return root, nil
}

func openBelow(dir, name string) (*os.Root, error) {
	outer, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = outer.Close() }()
	return outer.OpenRoot(name)
}

func (a *Approvals) unreadable(err error) error {
	return &ReadError{Path: filepath.Join(a.Dir, approvalsName), Err: plain(err)}
}

// makeApprovals makes the directory, so that it is ours: we can then remove what
// anybody puts there.
func makeApprovals(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &WriteError{Path: dir, Err: plain(err)}
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(approvalsName, 0o755); err != nil {
		return &WriteError{Path: filepath.Join(dir, approvalsName), Err: plain(err)}
	}
	return nil
}
