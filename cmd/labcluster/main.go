// Command labcluster is a real Kubernetes API server in one process, for trying things out and for tests:
// etcd, kube-apiserver, the garbage collector and the namespace controller, on 127.0.0.1 only. Nothing runs
// in it: there is no scheduler and no kubelet.
//
// It is a module of its own, so that the dependencies of k8s.io/kubernetes stay out of the controller's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 64
)

const usage = `labcluster is a real Kubernetes API server in one process, on 127.0.0.1.

Usage:
  labcluster up --dir DIR [flags]   start it, and serve until Ctrl-C
  labcluster kubectl ARGS...        kubectl; finds the cluster by KUBECONFIG or --kubeconfig
  labcluster version                print the Kubernetes version that is built in

Flags of up:
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printUsage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "up":
		return runUp(args[1:], stdout, stderr)
	case "kubectl":
		return runKubectl(args[1:])
	case "version", "--version":
		fmt.Fprintln(stdout, "labcluster, Kubernetes "+kubernetesVersion())
		return exitOK
	case "help", "--help", "-h":
		printUsage(stdout)
		return exitOK
	}
	fmt.Fprintf(stderr, "labcluster: unknown command %q; see labcluster --help\n", args[0])
	return exitUsage
}

func runUp(args []string, stdout, stderr io.Writer) int {
	opts, err := parseUp(args)
	if errors.Is(err, pflag.ErrHelp) {
		printUsage(stdout)
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "labcluster up: %v; see labcluster --help\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// After the first signal the default handling is back, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := up(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "labcluster: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, usage, upFlags(&upOptions{}).FlagUsages())
}

// kubernetesVersion is read from the module graph, the one place that states it.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return dep.Version
		}
	}
	return "unknown"
}
