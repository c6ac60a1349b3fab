package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func versionCommand(p *Process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Stdout, "webservice-controller "+p.Version)
			return err
		},
	}
}
