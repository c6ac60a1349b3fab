package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/term"
	"labhub.io/webservice-controller/manifests"
)

// session is a command in a terminal, as a user sees it.
type session struct {
	*lab
	terminal *labtest.Terminal
	columns  int
	process  *os.Process
	done     chan int // its exit code
}

// types runs a command in a terminal with that many columns.
func (l *lab) types(columns int, args ...string) *session {
	l.Helper()
	s := &session{lab: l, terminal: labtest.NewTerminal(l, uint16(columns)), columns: columns, done: make(chan int, 1)}
	cmd := l.command(context.WithoutCancel(l.Context()), append(append([]string{args[0]}, l.flags()...), args[1:]...)...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdout, cmd.Stderr = s.terminal.File, s.terminal.File
	l.must(cmd.Start())
	s.process = cmd.Process
	go func() {
		_ = cmd.Wait() // how it ended is in its ProcessState
		s.done <- cmd.ProcessState.ExitCode()
	}()
	l.Cleanup(func() { _ = s.process.Kill() })
	return s
}

// shows waits until every part was shown.
func (s *session) shows(parts ...string) {
	s.Helper()
	labtest.Eventually(s, convergeLimit, func() error { return says(s.terminal.String(), parts...) })
}

// interrupt presses Ctrl-C.
func (s *session) interrupt() {
	s.Helper()
	s.must(s.process.Signal(syscall.SIGINT))
}

// ends waits for the end, with that exit code.
func (s *session) ends(code int) {
	s.Helper()
	select {
	case got := <-s.done:
		if got != code {
			s.Errorf("exit code %d, want %d\n%s", got, code, s.terminal.String())
		}
	case <-time.After(stopLimit):
		s.Fatalf("it didn't end within %s\n%s", stopLimit, s.terminal.String())
	}
}

// ourSequences are the ones that we write: colours, and taking a line away.
func ourSequences() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[(0|1|2|31|32|33|36)m|\r\x1b\\[K")
}

// isClean wants that nothing reached the terminal that it would obey, beside what
// we have written ourselves, that every line fits, and that no line is left that
// was to be written over.
func (s *session) isClean() {
	s.Helper()
	shown := s.terminal.String()
	if i := strings.LastIndex(shown, "[#"); i >= 0 && !strings.Contains(shown[i:], "\x1b[K") {
		s.Errorf("the line that is written over is left: %q", shown[i:])
	}
	// What was taken away again doesn't count as a line.
	shown = regexp.MustCompile("(?m)[^\n\r]*\r\x1b\\[K").ReplaceAllString(shown, "")
	shown = ourSequences().ReplaceAllString(shown, "")
	for line := range strings.Lines(shown) {
		line = strings.TrimSuffix(line, "\n")
		if line != term.Line(line) {
			s.Errorf("it isn't harmless: %q", line)
		}
		if n := term.Columns(line); n > s.columns && !strings.HasPrefix(line, "error: ") {
			s.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestRunInATerminalTellsWhatItWorksWithAndEachChange(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.writeServices("nginx:1.27", "checkout")
			s := l.types(columns, "run", "--prune-after=2s")
			s.shows("webservice-controller ", "\n  source    ", "\n  cluster   https://", "prune.after=2s",
				"created\x1b[0m webservice "+l.namespace+"/checkout: ", "created\x1b[0m configmap "+l.namespace+"/checkout-desired: ")
			l.writeServices("nginx:1.28", "checkout")
			s.shows(`updated` + "\x1b[0m webservice " + l.namespace + `/checkout: spec.image is "ngin`)
			s.interrupt()
			s.ends(0)
			s.shows("stopped\n")
			s.isClean()
		})
	}
}

// Names, values and errors from files, from the cluster and from the kubeconfig
// are shown, and never obeyed.
func TestHostileTextNeverReachesTheTerminal(t *testing.T) {
	t.Parallel()
	const escape = "\x1b]0;owned\a\x1b[2J\u009b31m\u202e"
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing")
	l.write(map[string]string{
		"evil.yaml":    service(`"a\e[2Jb"`, `"\e]0;owned\a"`),
		"bad\x1b.yaml": "kind: WebService\n",
	})
	l.onceProblems()
	s := l.types(80, "run")
	s.shows(`a\x1b[2Jb`, `bad\x1b.yaml`)
	l.edit(configmaps(), "checkout-desired", `{"data":{"image":"\u001b[31mred\u009b0m"}}`)
	labtest.Eventually(t, convergeLimit, func() error { return l.done("checkout", "nginx:1.27") })
	s.shows("updated\x1b[0m configmap " + l.namespace + "/checkout-desired")
	s.interrupt()
	s.ends(0)
	s.isClean()

	for _, command := range []string{"once", "verify"} {
		s = l.types(80, command)
		s.ends(3)
		s.shows("error:\x1b[0m ", `bad\x1b.yaml`)
		s.isClean()
		s = l.types(80, command, "--context="+escape)
		s.ends(64)
		s.isClean()
		s = l.types(80, command, "--kubeconfig="+l.file("bad.kubeconfig", `{"current-context": "`+"\u009b31m"+`", "clusters": "\u001b[2J"}`))
		s.ends(64)
		s.isClean()
		s = l.types(80, command, "--source="+filepath.Join(l.home, escape))
		s.ends(5)
		s.isClean()
	}
}

// onceProblems is once where there are problems in the files.
func (l *lab) onceProblems() {
	l.Helper()
	if r := l.once(); r.code != 3 {
		l.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
}

// While it waits, once shows for what; when it ends, that is gone.
func TestOnceInATerminalShowsHowFarItIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout", "billing", "search")
	l.write(map[string]string{"web.yaml": service("web", "nginx:1.27", "annotations:", "  webservice.labhub.io/depends-on: database")})
	s := l.types(200, "once")
	s.shows("[###############·····] 3 of 4 objects; " + l.namespace + "/web: waits for " + l.namespace + "/database")
	s.interrupt()
	s.ends(5)
	s.shows("error:\x1b[0m interrupted: not converged: ")
	s.isClean()

	l.writeServices("nginx:1.27", "database")
	s = l.types(80, "once")
	s.ends(0)
	s.shows("converged: 5 objects; 2 created, 0 updated, 0 deleted, 3 unchanged; ")
	s.isClean()
}

// Elsewhere there are plain lines, each of which can be read by itself.
func TestOnceWithoutATerminalWritesPlainLines(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	shared.Apply(t, manifests.CRD()) // else that is written, too
	l.writeServices("nginx:1.27", "checkout")
	l.environ = append(l.environ, "TERM=xterm-256color")
	r := l.once()
	if r.code != 0 || r.stdout != "converged: 1 object; 1 created, 0 updated, 0 deleted, 0 unchanged; 3 writes\n" {
		t.Errorf("exit code %d, stdout %q", r.code, r.stdout)
	}
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
}

// Ctrl-C ends a proof in the middle: nothing is proven then.
func TestAnInterruptedProofIsNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.writeServices("nginx:1.27", "checkout")
	l.write(map[string]string{"web.yaml": service("web", "nginx:1.27", "annotations:", "  webservice.labhub.io/depends-on: checkout, database")})
	s := l.types(80, "verify")
	s.shows("1 of 2 objects")
	s.interrupt()
	s.ends(5)
	s.shows("error:\x1b[0m interrupted: ")
	if strings.Contains(s.terminal.String(), "proven") {
		t.Error(s.terminal.String())
	}
	s.isClean()
}
