package labtest

import "syscall"

// dieWithParent ends the server with a test binary that couldn't stop it: one that panicked or ran out of time.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
