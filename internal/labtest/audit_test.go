package labtest

import (
	"os"
	"path/filepath"
	"testing"
)

// A mark is often taken while the server writes down a request of somebody else.
func TestAMarkWithinALineLeavesThatLineOut(t *testing.T) {
	audit := &Audit{path: filepath.Join(t.TempDir(), "audit.log")}
	line := func(name string) string {
		return `{"stage":"ResponseComplete","verb":"get","userAgent":"somebody/1","objectRef":{"resource":"configmaps","name":"` + name + `"},"responseStatus":{"code":200}}` + "\n"
	}
	whole := line("before")
	write := func(text string) {
		if err := os.WriteFile(audit.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ atMark, later, want string }{
		"empty":            {"", line("a"), "get a 200"},
		"between lines":    {whole, line("a") + line("b"), "get a 200, get b 200"},
		"within a line":    {whole + line("half")[:20], line("half")[20:] + line("a"), "get a 200"},
		"before its end":   {whole + line("half")[:len(line("half"))-1], "\n" + line("a"), "get a 200"},
		"still being half": {whole + line("half")[:20], "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			write(c.atMark)
			mark := audit.Mark(t)
			write(c.atMark + c.later)
			if got := summary(audit.Requests(t, "somebody/", mark)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
