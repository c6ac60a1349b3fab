package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

const (
	kubeconfigFile = "kubeconfig"
	logFile        = "labcluster.log"
	lockFile       = "lock"
	portFile       = "port"
)

// home is the directory that holds everything of one cluster. It is locked while it is open.
type home struct {
	asGiven string
	dir     string // absolute
	lock    *os.File
	log     *os.File
	stderr  io.Writer
}

func openHome(given string, stderr io.Writer) (*home, error) {
	dir, err := filepath.Abs(given)
	if err != nil {
		return nil, fmt.Errorf("find --dir %s: %w", given, err)
	}
	if err := makePrivate(dir); err != nil {
		return nil, fmt.Errorf("--dir must be a directory that you own and may write: %w", err)
	}
	lock, err := lockDir(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	h := &home{asGiven: given, dir: dir, lock: lock, stderr: stderr}
	// Truncated: a log is there to explain the last start.
	h.log, err = os.OpenFile(h.path(logFile), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	h.captureLogs()
	return h, nil
}

// makePrivate also narrows a directory that is there already: it will hold keys.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// lockDir keeps a second server off the same data. The kernel drops the lock with the process, however it ends.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--dir must be a directory that you may write: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another labcluster runs in %s; stop it, or choose another --dir", filepath.Dir(path))
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// captureLogs sends what the Kubernetes parts say to the log file; the terminal is for our few lines.
func (h *home) captureLogs() {
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(h.log))))
	log.SetOutput(h.log)
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		h.gaveUp("the API server")
		exit(code)
	}
}

// gaveUp is for a fatal error that ends the process from deep inside a part: it must not look like a silent death.
func (h *home) gaveUp(part string) {
	fmt.Fprintf(h.stderr, "labcluster: %s gave up; the reason is at the end of %s\n", part, h.given(logFile))
}

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// given is a path as the user would write it, for messages.
func (h *home) given(name string) string { return filepath.Join(h.asGiven, name) }

// explain points at the log, unless ctx has ended: being told to stop is no failure.
func (h *home) explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; details are in %s", err, h.given(logFile))
	}
	return nil
}

func (h *home) close() {
	_ = h.log.Close()
	_ = h.lock.Close()
}

// writePrivate replaces a file in one step, so that a reader, or the next start after a crash, never sees half of it.
func writePrivate(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// readOrMake returns the file's content, made by create where there is none yet.
func readOrMake(path string, create func() ([]byte, error)) ([]byte, error) {
	data, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if data, err = create(); err != nil {
		return nil, err
	}
	return data, writePrivate(path, data)
}
