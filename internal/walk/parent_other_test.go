//go:build !linux

package walk

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
