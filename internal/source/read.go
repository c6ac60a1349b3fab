package source

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// errChanged: a file isn't the one that the walk saw, or changed while it was read.
var errChanged = errors.New("changed while it was read")

// readFile reads a file if it still has the stamp want, before and after. It never
// blocks: whatever took the file's place is opened without waiting, and not read
// unless it is a regular file.
func readFile(root *os.Root, path string, want stamp) (data []byte, err error) {
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := unchanged(file, want); err != nil {
		return nil, err
	}
	data = make([]byte, 0, want.size+1)
	data, err = readAll(file, data)
	if err != nil {
		return nil, err
	}
	return data, unchanged(file, want)
}

// readAll reads until the end or until the buffer, which has room for one byte
// more than there should be, is full.
func readAll(file *os.File, buffer []byte) ([]byte, error) {
	n, err := io.ReadFull(file, buffer[:cap(buffer)])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return buffer[:n], err
}

func unchanged(file *os.File, want stamp) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if stampOf(info) != want {
		return errChanged
	}
	return nil
}
