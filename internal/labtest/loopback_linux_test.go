package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListensOnLoopbackOnly(t *testing.T) {
	proc := fmt.Sprintf("/proc/%d", shared.server.cmd.Process.Pid)
	own := socketsOf(t, proc)
	var listening []string
	for _, table := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(proc, "net", table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			const local, state, inode = 1, 3, 9
			fields := strings.Fields(line)
			if len(fields) > inode && fields[state] == "0A" && own[fields[inode]] {
				listening = append(listening, fields[local])
			}
		}
	}
	const loopback = "0100007F:" // 127.0.0.1, in the byte order of the table
	if len(listening) != 1 || !strings.HasPrefix(listening[0], loopback) {
		t.Errorf("want one listener, on 127.0.0.1; got %q", listening)
	}
}

func socketsOf(t *testing.T, proc string) map[string]bool {
	t.Helper()
	descriptors, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	inodes := map[string]bool{}
	for _, d := range descriptors {
		target, err := os.Readlink(filepath.Join(proc, "fd", d.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes
}
