package cli

import (
	"path/filepath"
	"strings"

	"labhub.io/webservice-controller/internal/report"
)

// approvals are those in the out directory, with the command that gives one.
type approvals struct {
	report.Approvals
	program string
}

// newApprovals are the approvals in the out directory, of the program as it was started.
func newApprovals(p *Process, out string) *approvals {
	if abs, err := filepath.Abs(out); err == nil {
		out = abs
	}
	return &approvals{Approvals: report.Approvals{Dir: out}, program: p.program()}
}

// Command is what a person types into a shell, in any directory, to approve the
// digest.
func (a *approvals) Command(digest string) string {
	return commandLine(a.program, "approve", digest, "--out", a.Dir)
}

// commandLine writes words as a POSIX shell reads them.
func commandLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

func shellWord(word string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
