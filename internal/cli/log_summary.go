package cli

import (
	"io"
	"slices"
	"strings"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/term"
)

// startSummary is what a command that reconciles works with.
type startSummary struct {
	version, cluster string
	cfg              *config.Config
}

// tell writes the summary, a line for each thing that a person may have got wrong:
// the source, the cluster, and each other setting that isn't the default.
func (s *startSummary) tell(w io.Writer, screen term.Screen) {
	source := s.cfg.Source.Path
	if name := s.cfg.Source.Name; name != "default" {
		source += ", as " + name
	}
	var b strings.Builder
	b.WriteString(screen.Paint(term.Bold, term.Line("webservice-controller "+s.version)) + "\n")
	line := func(title, text string) {
		const indent = len("  settings  ")
		lines := term.Wrap(term.Line(text), roomLeft(screen, indent))
		b.WriteString("  " + title + strings.Repeat(" ", indent-2-len(title)) +
			strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n")
	}
	line("source", source)
	line("cluster", s.cluster)
	line("out", s.cfg.Out)
	title := "settings"
	for _, setting := range s.cfg.NonDefault() {
		if key, _, _ := strings.Cut(setting, "="); !slices.Contains([]string{"source.path", "source.name", "out"}, key) {
			line(title, setting)
			title = ""
		}
	}
	_, _ = io.WriteString(w, b.String()) // as a log: nobody is left to tell
}
