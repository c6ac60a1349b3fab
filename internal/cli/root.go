package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/config"
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
	// Version is this build's.
	Version string
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
		tell(p.Stderr, err)
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
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		// Without this, cobra would answer an unknown command with help and 0.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	config.AddFlags(root.PersistentFlags())
	root.AddCommand(runCommand(p), onceCommand(p), approveCommand(p), validateCommand(p), versionCommand(p))
	return root
}

// tell writes each of several errors on a line of its own.
func tell(w io.Writer, err error) {
	for _, e := range flatten(err) {
		fmt.Fprintln(w, "error: "+oneLine(e.Error()))
	}
}

func flatten(err error) []error {
	switch e := err.(type) { //nolint:errorlint // the tree itself is wanted, not what is in it
	case *exitError:
		return flatten(e.err)
	case interface{ Unwrap() []error }:
		var all []error
		for _, each := range e.Unwrap() {
			all = append(all, flatten(each)...)
		}
		return all
	}
	return []error{err}
}
