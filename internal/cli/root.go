package cli

import (
	"cmp"
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/term"
)

const programName = "webservice-controller"

// Process is what a command has of the process that it runs in.
type Process struct {
	// Program is the program's name, as it was started; "" is the usual one.
	Program string
	Args    []string // without the program's name
	Environ []string // as os.Environ has it
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Version is this build's, and Commit what it was built from; "" is unknown.
	Version, Commit string
	// LibraryLog makes the log that of the libraries, which have one for the whole
	// process; nil leaves it as it is.
	LibraryLog func(*slog.Logger)
}

// Run runs the command that p.Args name until it ends, or ctx does, and returns
// the exit code. Errors are told on p.Stderr.
func Run(ctx context.Context, p Process) int {
	root := rootCommand(&p)
	root.SetArgs(p.Args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		tell(p.Stderr, term.ScreenOf(p.Stderr, p.Environ), err)
	}
	return codeOf(err)
}

func (p *Process) program() string { return cmp.Or(p.Program, programName) }

func rootCommand(p *Process) *cobra.Command {
	root := &cobra.Command{
		Use:   programName,
		Short: "Keep a cluster's WebServices as a directory of files says",
		Long: "webservice-controller applies the WebService files of a directory to a cluster,\n" +
			"keeps a ConfigMap and a status for each, and reports what it did and what it waits for.",
		Example: "  webservice-controller validate\n" +
			"  webservice-controller plan\n" +
			"  webservice-controller run --source desired",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		// Near enough for a slip of the finger.
		SuggestionsMinimumDistance: 2,
		// Without this, cobra would answer an unknown command with help and 0.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	config.AddFlags(root.PersistentFlags())
	root.AddCommand(runCommand(p), onceCommand(p), planCommand(p), verifyCommand(p), validateCommand(p),
		exportCommand(p), approveCommand(p), manifestsCommand(p), versionCommand(p), completionCommand(p))
	p.explain(root)
	p.complete(root)
	return root
}
