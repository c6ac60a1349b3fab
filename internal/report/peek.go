package report

import (
	"os"
	"path/filepath"
	"strings"
)

// PeekIdentity is the identity of whoever uses the out directory dir, without using
// it: no lock is needed and nothing is made. It is "" where there is none yet.
func PeekIdentity(dir string) string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, identityName))
	id := strings.TrimSpace(string(text))
	if err != nil || !validID(id) {
		return ""
	}
	return host + "_" + id
}
