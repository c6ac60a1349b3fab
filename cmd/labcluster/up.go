package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// readyTimeout is far above what a start takes; past it the log is of more use than waiting on.
const readyTimeout = 2 * time.Minute

type upOptions struct {
	dir     string
	port    int
	audit   string
	noFsync bool
}

func upFlags(o *upOptions) *pflag.FlagSet {
	fs := pflag.NewFlagSet("up", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&o.dir, "dir", "", "directory for data, keys and the kubeconfig; made when missing (required)")
	fs.IntVar(&o.port, "port", 0, "port on 127.0.0.1; 0: the one it had before, else a free one")
	fs.StringVar(&o.audit, "audit", "", "file for the API server's audit log, one JSON event a line")
	fs.BoolVar(&o.noFsync, "unsafe-no-fsync", false, "don't wait for the disk: faster, but a power cut may lose data")
	return fs
}

func parseUp(args []string) (upOptions, error) {
	var o upOptions
	fs := upFlags(&o)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.dir == "":
		return o, errors.New("--dir is required")
	case o.port < 0 || o.port > 65535:
		return o, fmt.Errorf("--port %d is not between 0 and 65535", o.port)
	}
	return o, nil
}

// up starts everything, says so, and serves until ctx ends or a part fails. Parts stop in the reverse order of
// their start, each only after the ones that depend on it: controllers, API server, etcd.
func up(ctx context.Context, o upOptions, stdout, stderr io.Writer) (err error) {
	home, err := openHome(o.dir, stderr)
	if err != nil {
		return err
	}
	defer home.close()
	fmt.Fprintf(stderr, "starting a Kubernetes API server in %s\n", o.dir)

	store, err := startEtcd(ctx, home, o.noFsync)
	if err != nil {
		return home.explain(ctx, err)
	}
	defer store.stop()
	server, err := startAPIServer(ctx, home, store.url, o)
	if err != nil {
		return home.explain(ctx, err)
	}
	defer func() { err = errors.Join(err, server.stop()) }()

	return home.explain(ctx, serve(ctx, home, store, server, stdout, stderr))
}

func serve(ctx context.Context, home *home, store *etcd, server *apiServer, stdout, stderr io.Writer) error {
	// Whichever part ends first ends the others. A signal doesn't count until all has started: an API server that is
	// stopped half-way through its start takes the process with it, etcd included.
	parts, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(server.ended, func() { cancel(errAPIServerEnded) })()
	defer context.AfterFunc(store.ended, func() { cancel(errEtcdEnded) })()

	starting, cancelStarting := context.WithTimeoutCause(parts, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancelStarting()
	if err := waitReady(starting, server.client); err != nil {
		return err
	}
	controllers, err := startControllers(ctx, server.client)
	if err != nil {
		return err
	}
	defer controllers.stop()
	if err := controllers.waitSynced(starting); err != nil {
		return err
	}
	if err := home.writeKubeconfig(server.client); err != nil {
		return err
	}
	if ctx.Err() == nil {
		announce(home, stdout, stderr)
	}
	select {
	case <-ctx.Done():
	case <-parts.Done():
	}
	return context.Cause(parts)
}

func announce(home *home, stdout, stderr io.Writer) {
	kubeconfig := home.given(kubeconfigFile)
	fmt.Fprintf(stderr, "next: export KUBECONFIG=%s, then %s kubectl get namespaces; Ctrl-C stops it, the data stays\n", kubeconfig, os.Args[0])
	fmt.Fprintf(stdout, "ready kubeconfig=%s\n", kubeconfig)
}
