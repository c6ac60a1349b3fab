package labtest

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Terminal is a terminal without a screen: what is written to it is kept as it is.
type Terminal struct {
	// File is what a process has as its standard output or input.
	File *os.File

	mu    sync.Mutex
	shown bytes.Buffer
}

// NewTerminal opens a terminal with that many columns, until the test's end.
func NewTerminal(t testing.TB, columns uint16) *Terminal {
	t.Helper()
	screen, file, err := openTerminal(columns)
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{File: file}
	var reading sync.WaitGroup
	reading.Go(func() { term.follow(screen) })
	t.Cleanup(func() {
		_ = file.Close() // ends the reading, once no process has it open any more
		reading.Wait()
		_ = screen.Close()
	})
	return term
}

// String is all that was shown so far, with line ends as programs write them.
func (t *Terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ReplaceAll(t.shown.Bytes(), []byte("\r\n"), []byte("\n")))
}

func (t *Terminal) follow(screen *os.File) {
	buffer := make([]byte, 4096)
	for {
		n, err := screen.Read(buffer)
		t.mu.Lock()
		t.shown.Write(buffer[:n])
		t.mu.Unlock()
		if err != nil {
			return // EIO: nobody has it open
		}
	}
}

// openTerminal makes a pair: what the user sees, and what programs have.
func openTerminal(columns uint16) (screen, file *os.File, err error) {
	if screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err == nil {
		file, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = screen.Close()
		return nil, nil, err
	}
	return screen, file, nil
}
