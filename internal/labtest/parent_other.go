//go:build !linux

package labtest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
