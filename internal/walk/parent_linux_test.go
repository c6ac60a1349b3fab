package walk

import "syscall"

// dieWithParent ends a controller with a test binary that couldn't stop it: one
// that panicked or ran out of time.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
