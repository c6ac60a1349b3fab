package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const lockName = ".lock"

// LockedError says that another process has the out directory.
type LockedError struct {
	// Dir is the directory.
	Dir string
	// PID is the process that holds it; 0 when it hasn't said so yet.
	PID int
}

// Error names the directory and its holder, and says what to do.
func (e *LockedError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop that one, or choose another directory with --out", e.Dir, holder)
}

// lockDir takes the lock file, and makes sure that what it locked is still the
// file at that path: a directory removed meanwhile would else have two owners.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, &WriteError{Path: path, Err: err}
		}
		current, err := lockFile(dir, file)
		if err == nil && current {
			return file, nil
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// lockFile locks without waiting and notes our pid; false when the file isn't
// the one at its path any more.
func lockFile(dir string, file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, &LockedError{Dir: dir, PID: readPID(file)}
	}
	if err == nil {
		err = writePID(file)
	}
	if err != nil {
		return false, &WriteError{Path: file.Name(), Err: err}
	}
	return samePath(file), nil
}

func samePath(file *os.File) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Name())
	return err == nil && os.SameFile(locked, named)
}

// isLost says whether the file that is locked isn't at its path any more. Where that
// can't be seen, it is taken to be.
func isLost(file *os.File) bool {
	_, err := os.Stat(file.Name())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !samePath(file)
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID is 0 when the holder is between taking the lock and noting its pid.
func readPID(file *os.File) int {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
