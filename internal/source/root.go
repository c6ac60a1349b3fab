package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// rootID tells whether source.path still leads to the same directory.
type rootID struct {
	path          string // absolute, links resolved
	device, inode uint64
}

// openRoot resolves source.path once and opens the directory that it leads to.
// Everything else is read through that handle.
func openRoot(path string) (*os.Root, rootID, error) {
	resolved, err := resolveRoot(path)
	if err != nil {
		return nil, rootID{}, err
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, rootID{}, rootError(path, err)
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, rootID{}, errors.Join(rootError(path, err), root.Close())
	}
	s := stampOf(info)
	return root, rootID{path: resolved, device: s.device, inode: s.inode}, nil
}

// resolveRoot follows the links of path. It doesn't open anything: what isn't a
// directory may block whoever opens it.
func resolveRoot(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", rootError(path, err)
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		if _, there := os.Lstat(absolute); errors.Is(err, fs.ErrNotExist) && there == nil {
			return "", &RootError{Path: path, Reason: ErrDangling}
		}
		return "", rootError(path, err)
	}
	info, err := os.Stat(resolved)
	switch {
	case err != nil:
		return "", rootError(path, err)
	case !info.IsDir():
		return "", &RootError{Path: path, Reason: ErrNotDirectory}
	}
	return resolved, nil
}

// rootError sorts an error of the operating system.
func rootError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return &RootError{Path: path, Reason: ErrMissing}
	}
	return &RootError{Path: path, Reason: ErrUnreadable, Cause: err}
}
