package report

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk that fills up in the middle of a write leaves the old file, and
// nothing of the new one. /dev/full is such a disk.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	err = replaceFile(path, func(file io.Writer) error {
		if _, err := file.Write([]byte("ne")); err != nil {
			return err
		}
		_, err := full.Write([]byte("w"))
		return err
	})
	var failed *WriteError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v (%T)", err, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "old" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// When there is room again after a full disk, reports are written again. A limit
// on the size of files stands in for the disk: it fails in the middle of a write.
func TestDiskHasRoomAgain(t *testing.T) {
	w := Writer{Dir: t.TempDir()}
	if err := w.Write(&Report{Cycle: 1}); err != nil {
		t.Fatal(err)
	}
	var unlimited syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &unlimited); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: unlimited.Max}); err != nil {
		t.Fatal(err)
	}
	full := w.Write(&Report{Cycle: 2})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &unlimited); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(full, syscall.EFBIG) {
		t.Fatalf("error %v", full)
	}
	if err := w.Write(&Report{Cycle: 3}); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}
