package e2e

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"labhub.io/webservice-controller/internal/labtest"
)

// modes are what a terminal does with what is typed and written.
func (s *session) modes() unix.Termios {
	s.Helper()
	modes, err := unix.IoctlGetTermios(int(s.terminal.File.Fd()), unix.TCGETS)
	s.must(err)
	return *modes
}

// isSane wants that whoever types next finds the terminal as it was: no colour is
// on, the cursor is visible and at the start of a line, and no line that was to be
// written over is left.
func (s *session) isSane() {
	s.Helper()
	s.isClean()
	shown := s.terminal.String()
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m").FindAllString(shown, -1)
	if n := len(colours); n == 0 || colours[n-1] != "\x1b[0m" {
		s.Errorf("a colour is left on, or none was used: %q", shown)
	}
	if strings.Contains(shown, "\x1b[?25l") && !strings.HasSuffix(shown, "\x1b[?25h") {
		s.Errorf("the cursor is hidden: %q", shown)
	}
	if i := strings.LastIndex(shown, "\nwaiting: "); i >= 0 && !strings.Contains(shown[i:], "\r\x1b[K") {
		s.Errorf("the line that is written over is left: %q", shown[i:])
	}
	if !strings.HasSuffix(shown, "\n") {
		s.Errorf("the last line is open: %q", shown)
	}
	if strings.Contains(shown, "goroutine ") || strings.Contains(shown, "panic") {
		s.Errorf("a stack trace: %s", shown)
	}
}

// However a command ends, the terminal is as it was before.
func TestATerminalIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	wrongContext := func(*lab) []string { return []string{"--context=nope"} }
	unreadable := func(l *lab) []string { l.shut(l.source); return nil }
	away := func(*lab) []string { return nil }
	fresh := (&session{lab: alone(t), terminal: labtest.NewTerminal(t, 80)}).modes()
	for name, c := range map[string]struct {
		command string
		prepare func(l *lab) (flags []string) // nil: Ctrl-C while the server gives no answer
		code    int
		says    string
	}{
		"run, interrupted":             {"run", nil, 0, "stopped\n"},
		"once, interrupted":            {"once", nil, 5, "error:\x1b[0m interrupted: not converged: "},
		"verify, interrupted":          {"verify", nil, 1, "error:\x1b[0m interrupted: nothing can be verified: "},
		"run, wrong context":           {"run", wrongContext, 64, `error:` + "\x1b[0m" + ` the kubeconfig can't be used: context "nope"`},
		"once, wrong context":          {"once", wrongContext, 64, `error:` + "\x1b[0m" + ` the kubeconfig can't be used: context "nope"`},
		"verify, wrong context":        {"verify", wrongContext, 64, `error:` + "\x1b[0m" + ` the kubeconfig can't be used: context "nope"`},
		"once, server away":            {"once", away, 5, "error:\x1b[0m not converged: the API server can't be reached"},
		"verify, server away":          {"verify", away, 1, "error:\x1b[0m nothing can be verified: the API server can't be reached"},
		"once, unreadable directory":   {"once", unreadable, 5, "permission denied: make it readable\n"},
		"verify, unreadable directory": {"verify", unreadable, 5, "permission denied: make it readable\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := offline(t)
			var flags []string
			var asked func() error
			if c.prepare != nil {
				flags = c.prepare(l)
			} else {
				l.kubeconfig, asked = l.mute()
			}
			if c.command == "once" && c.prepare != nil {
				flags = append(flags, shortly)
			}
			s := l.types(80, append([]string{c.command}, flags...)...)
			if asked != nil {
				labtest.Eventually(s, convergeLimit, asked)
				s.showsWork(c.command)
				s.interrupt()
			}
			s.ends(c.code)
			s.shows(c.says)
			s.isSane()
			if after := s.modes(); after != fresh {
				t.Errorf("the terminal's modes are %+v, and were %+v", after, fresh)
			}
		})
	}
}

// showsWork waits until there is something on the screen that is to go.
func (s *session) showsWork(command string) {
	s.Helper()
	if command == "run" {
		s.shows("\n  cluster   http://")
		return
	}
	s.shows("\nwaiting: the API server")
}
