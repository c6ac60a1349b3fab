// Command webservice-controller keeps a cluster's WebServices as a directory of
// files says.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"labhub.io/webservice-controller/internal/cli"
)

// version is stamped by the build, with the commit after a blank.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	version, commit, _ := strings.Cut(version, " ")
	code := cli.Run(ctx, cli.Process{
		Program: os.Args[0], Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Version: version, Commit: commit, LibraryLog: cli.KubernetesLog,
	})
	stop()
	os.Exit(code)
}
