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
