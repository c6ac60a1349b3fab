package cli

import (
	"fmt"
	"strings"

	"labhub.io/webservice-controller/internal/install"
	"labhub.io/webservice-controller/internal/term"
)

// warn says what is left to be filled in, and what shouldn't have been.
func (i *installing) warn(p *Process) {
	warning := term.ScreenOf(p.Stderr, p.Environ).Paint(term.Yellow, "warning:")
	if left := i.left(); len(left) > 0 {
		fmt.Fprintln(p.Stderr, warning, "what is printed has examples in it: name", strings.Join(left, " and "))
	}
	if credentials(i.files.Repository) {
		fmt.Fprintln(p.Stderr, warning, "--git-repo has credentials in it, and now the Deployment has them for all who may read it: "+
			"leave them out, and give git-sync a Secret with them, as its manual says")
	}
}

// left are the examples that nobody has replaced.
func (i *installing) left() []string {
	var left []string
	if i.image == "" {
		left = append(left, "the image by --image")
	}
	if i.files == (install.Files{Ref: i.files.Ref}) { // a branch alone names none
		left = append(left, "the repository by --git-repo")
	}
	return left
}

// credentials says whether a repository's address has a password in it, or for http a
// name, which is a token with some servers. Over ssh a name is only a name. The text
// is looked at, and not a parsed address: git takes passwords that no address has.
func credentials(repository string) bool {
	scheme, rest, _ := strings.Cut(repository, "://")
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	if at < 0 {
		return false
	}
	return strings.Contains(authority[:at], ":") || strings.HasPrefix(strings.ToLower(scheme), "http")
}
