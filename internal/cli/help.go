package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/near"
	"labhub.io/webservice-controller/internal/term"
)

const (
	// helpWidth is how wide help is where nobody says how much room there is, and
	// maxHelpWidth what a reader's eye can follow.
	helpWidth    = 80
	maxHelpWidth = 110
)

// explain gives the commands their help, and whoever has mistyped one a hint.
func (p *Process) explain(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		advice := cmd.CommandPath() + " --help lists the flags"
		if near := nearFlag(cmd, err); near != "" {
			advice = "did you mean --" + near + "?"
		}
		return usagef("%w: %s", err, advice)
	})
	root.Version = p.Version
	root.SetVersionTemplate(programName + " {{.Version}}\n")
	root.SetHelpCommand(helpCommand())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(p.Stdout, helpOf(cmd, term.ScreenOf(p.Stdout, p.Environ)))
	})
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    "help explains a command, as --help does.",
		Example: "  webservice-controller help export",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("help explains one command at a time, and %d are named", len(args))
			}
			return knownCommand(cmd.Root(), args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, each := range cmd.Root().Commands() {
				if each.IsAvailableCommand() && len(args) == 0 {
					names = append(names, each.Name()+"\t"+each.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return usage(err)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// knownCommand refuses a command that there isn't, with the one that may be meant.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
		return nil
	}
	advice := root.Name() + " --help lists all"
	if meant := root.SuggestionsFor(args[0]); len(meant) > 0 {
		advice = "did you mean " + strings.Join(meant, " or ") + "?"
	}
	return usagef("unknown command %q: %s", args[0], advice)
}

// nearFlag is the flag that may be meant where err is about one that there isn't; ""
// where none is near.
func nearFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return near.Name(unknown.GetSpecifiedName(), names)
}

// noArgs refuses arguments, which cobra would call unknown commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no arguments, and %s is one: %s --help shows how it is called",
		cmd.Name(), strconv.Quote(args[0]), cmd.CommandPath())
}

// help is the text that explains a command, for a screen of that width.
type help struct {
	strings.Builder
	width int
}

// helpOf is what cmd's --help prints.
func helpOf(cmd *cobra.Command, screen term.Screen) string {
	h := &help{width: helpWidth}
	if screen.Width > 0 {
		h.width = min(screen.Width, maxHelpWidth)
	}
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	h.prose(about)
	h.section("Usage", "  "+useLine(cmd)+"\n")
	h.section("Examples", strings.TrimRight(cmd.Example, "\n")+"\n")
	h.section("Commands", h.commands(cmd))
	h.section("Flags", h.flags(flagsOf(cmd.LocalNonPersistentFlags(), nil)))
	h.section("Settings", h.flags(flagsOf(cmd.Root().PersistentFlags(), settingsOf(cmd.Name()))))
	h.section("Exit codes", h.exits(cmd.Name()))
	h.prose(pointer(cmd))
	return h.String()
}

// pointer says where to read on.
func pointer(cmd *cobra.Command) string {
	switch {
	case cmd.HasSubCommands():
		return "Each setting is a key of config.yaml and a variable as well: --source-max-wait is source.maxWait " +
			"and WEBSERVICE_CONTROLLER_SOURCE_MAX_WAIT. " + cmd.Name() + " COMMAND --help explains a command."
	case slices.Contains(settingsOf(cmd.Name()), "source-name"):
		return programName + " --help lists all settings."
	}
	return ""
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasSubCommands() {
		return cmd.CommandPath() + " COMMAND [flags]"
	}
	return cmd.UseLine()
}

// prose breaks paragraphs anew. Lines that begin with a blank stay as they are.
func (h *help) prose(text string) {
	if text == "" {
		return
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if h.Len() > 0 {
			h.WriteByte('\n')
		}
		if !strings.Contains("\n"+paragraph, "\n ") {
			paragraph = strings.Join(term.Wrap(strings.ReplaceAll(paragraph, "\n", " "), h.width), "\n")
		}
		h.WriteString(paragraph + "\n")
	}
}

// section adds a titled part, unless there is nothing in it.
func (h *help) section(title, text string) {
	if strings.TrimSpace(text) != "" {
		h.WriteString("\n" + title + ":\n" + text)
	}
}

func (h *help) commands(cmd *cobra.Command) string {
	var text strings.Builder
	const indent = 14
	for _, each := range cmd.Commands() {
		if each.IsAvailableCommand() {
			fmt.Fprintf(&text, "  %-12s%s\n", each.Name(), h.beside(indent, each.Short))
		}
	}
	return text.String()
}

// beside breaks a text that stands right of something else.
func (h *help) beside(indent int, text string) string {
	return strings.Join(term.Wrap(text, h.width-indent), "\n"+strings.Repeat(" ", indent))
}

// settingsOf are the settings, by their flags, that a command's help lists: those that
// it reads, or of many the ones that people use every day. Nil is all.
func settingsOf(command string) []string {
	switch command {
	case "approve":
		return []string{"config", "out"}
	case "completion", "help":
		return []string{}
	case "export":
		return []string{"config", "context", "kubeconfig", "namespaces-only"}
	case "manifests":
		return []string{"config", "crd-install", "lease-namespace", "namespaces-create", "namespaces-only", "prune-enabled", "source", "source-name"}
	case "validate":
		return []string{"config", "namespaces-only", "source", "source-namespace"}
	case "version":
		return []string{"context", "kubeconfig"}
	case programName:
		return nil
	}
	if command == "plan" {
		return []string{"config", "context", "kubeconfig", "namespaces-only", "out", "source", "source-name", "source-namespace"}
	}
	return []string{"config", "context", "evidence", "kubeconfig", "namespaces-only", "out", "source", "source-name", "source-namespace"}
}

// flagsOf are the flags of these names, sorted; of nil, all.
func flagsOf(from *pflag.FlagSet, names []string) []*pflag.Flag {
	var flags []*pflag.Flag
	from.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && (names == nil || slices.Contains(names, flag.Name)) {
			flags = append(flags, flag)
		}
	})
	return flags
}

// flags lists flags in two columns. A name that is too long for the first has a line
// of its own.
func (h *help) flags(flags []*pflag.Flag) string {
	const most, gap = 28, 2
	column := 0
	for _, flag := range flags {
		if n := len(flagName(flag)); n <= most {
			column = max(column, n)
		}
	}
	indent := strings.Repeat(" ", column+gap)
	var text strings.Builder
	for _, flag := range flags {
		name := flagName(flag)
		if len(name) > column {
			text.WriteString(name + "\n" + indent)
		} else {
			text.WriteString(name + indent[len(name):])
		}
		text.WriteString(h.beside(len(indent), flagText(flag)) + "\n")
	}
	return text.String()
}

func flagName(flag *pflag.Flag) string {
	name := "      --" + flag.Name
	if flag.Shorthand != "" {
		name = "  -" + flag.Shorthand + ", --" + flag.Name
	}
	if kind, _ := pflag.UnquoteUsage(flag); kind != "" && flag.Value.Type() != "bool" {
		name += " " + kind
	}
	return name
}

// flagText is what a flag is for, with its default where that isn't nothing.
func flagText(flag *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(flag)
	switch {
	case flag.Name == "help":
		return "print this"
	case flag.Name == "version":
		return "print the version"
	case flag.Value.Type() == "string" && flag.DefValue != "":
		return text + " (default " + strconv.Quote(flag.DefValue) + ")"
	case slices.Contains([]string{"", "false", "[]"}, flag.DefValue):
		return text
	}
	return text + " (default " + defaultText(flag) + ")"
}

// defaultText is a flag's default as a person would type it: 2m, not 2m0s.
func defaultText(flag *pflag.Flag) string {
	text := flag.DefValue
	if flag.Value.Type() == "duration" {
		for _, nothing := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(text, nothing) {
				text = text[:len(text)-2]
			}
		}
	}
	return text
}

// exits lists the exit codes of a command.
func (h *help) exits(command string) string {
	var text strings.Builder
	for _, e := range exitsOf(command) {
		const indent = 6
		fmt.Fprintf(&text, "  %-4d%s\n", e.code, h.beside(indent, e.meaning))
	}
	return text.String()
}
