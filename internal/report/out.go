package report

import (
	"errors"
	"os"
	"strings"
)

// Out is the out directory in the hands of this process: no other one that
// uses OpenOut has it at the same time. Keep it for as long as that must hold;
// the lock is on an open file, which an unreachable Out closes.
type Out struct {
	dir      string
	lock     *os.File
	identity string
}

// OpenOut makes the directory if need be, locks it, and removes what a process
// that died left half-written. The lock ends with Close or with the process,
// however it dies. Errors: *LockedError when another process has it,
// *WriteError otherwise.
func OpenOut(dir string) (*Out, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &WriteError{Path: dir, Err: err}
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	out := &Out{dir: dir, lock: lock}
	if err := out.prepare(); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func (o *Out) prepare() error {
	if err := removeStale(o.dir); err != nil {
		return &WriteError{Path: o.dir, Err: err}
	}
	if err := makeApprovals(o.dir); err != nil {
		return err
	}
	identity, err := readIdentity(o.dir)
	o.identity = identity
	return err
}

// Dir is the directory as it was given to OpenOut.
func (o *Out) Dir() string { return o.dir }

// Identity is who this process is to the lease: the host's name as it is now,
// "_", and a random id that the directory keeps, so that a restart is
// recognised. It doesn't change while the directory is open.
func (o *Out) Identity() string { return o.identity }

// Retake makes the directory anew where somebody has removed it, or put another in
// its place, and locks it; else it does nothing. Only then is made true. The identity
// stays what it was. Call it before what is written with the lock in mind, and not
// while Close runs. Errors: *LockedError when another process was faster,
// *WriteError otherwise.
func (o *Out) Retake() (made bool, err error) {
	if o.lock == nil || !isLost(o.lock) {
		return false, nil
	}
	fresh, err := OpenOut(o.dir)
	if err != nil {
		return false, err
	}
	if err := writeID(o.dir, o.identity[strings.LastIndexByte(o.identity, '_')+1:]); err != nil {
		return false, errors.Join(err, fresh.Close())
	}
	lost := o.lock
	o.lock = fresh.lock
	_ = lost.Close() // it locks a file that nobody can find
	return true, nil
}

// Close lets go of the directory. A second call does nothing.
func (o *Out) Close() error {
	if o.lock == nil {
		return nil
	}
	lock := o.lock
	o.lock = nil
	return errors.Join(lock.Truncate(0), lock.Close())
}
