package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/export"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/source"
)

const (
	// exportPatience is how long export waits for an API server that is away.
	exportPatience = 10 * time.Second
	// toStdout stands for standard output in the place of a directory.
	toStdout = "-"
)

// exporting is how export was called.
type exporting struct {
	to        string
	namespace string
	all       bool
	force     bool
}

func exportCommand(p *Process) *cobra.Command {
	var e exporting
	cmd := &cobra.Command{
		Use:   "export --to DIR [-n NAMESPACE | -A]",
		Short: "Write the cluster's WebServices into files",
		Long: "export writes live WebServices into files that run and once take as their source:\n" +
			"DIR/namespace/name.yaml, each with what a user wants and nothing else. Left out are\n" +
			"what the server sets, status, values that are the default, the source's label and\n" +
			"the finalizers of others. It changes nothing in the cluster.\n\n" +
			"Everything is looked at before anything is written. A file that says something else\n" +
			"already stops it, unless --force is given; one that says the same is no hindrance, and\n" +
			"other files stay. Objects that are being deleted are left out.",
		Example: "  webservice-controller export --to lab-state -n crd-lab\n" +
			"  webservice-controller export --to lab-state -A --force\n" +
			"  webservice-controller export --to - | webservice-controller validate -",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd, p, &e) },
	}
	flags := cmd.Flags()
	flags.StringVar(&e.to, "to", "", "the `directory` to write into; - is standard output")
	flags.StringVarP(&e.namespace, "namespace", "n", "", "the namespace to export (default that of the kubeconfig's context)")
	flags.BoolVarP(&e.all, "all-namespaces", "A", false, "export all namespaces, or those of namespaces.only")
	flags.BoolVar(&e.force, "force", false, "write over files that say something else")
	return cmd
}

// check refuses what contradicts itself.
func (e *exporting) check(cmd *cobra.Command) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case e.to == "":
		return usagef("--to is missing: name the directory to write into, or - for standard output")
	case e.all && given("namespace"):
		return usagef("-n and -A contradict each other: give one of them")
	case e.namespace == "" && given("namespace"):
		return usagef("-n is empty: name a namespace, or give -A for all")
	case e.to == toStdout:
		return nil
	}
	switch err := export.CheckDir(e.to); {
	case err == nil:
		return nil
	case errors.Is(err, export.ErrNotDirectory):
		return usagef("--to: %w; name another place", err)
	default:
		return failed(fmt.Errorf("--to: %w; name another place", err))
	}
}

func runExport(cmd *cobra.Command, p *Process, e *exporting) error {
	if err := e.check(cmd); err != nil {
		return err
	}
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	if err != nil {
		return usage(err)
	}
	p.bridge(newLogger(newConsole(p), cfg.Log))
	reader, err := p.reader(cfg.Kubeconfig, cfg.Context, exportPatience)
	if err != nil {
		return badKubeconfig(err)
	}
	namespaces, err := e.namespaces(&cfg)
	if err != nil {
		return badKubeconfig(err)
	}
	objects, err := liveObjects(cmd.Context(), reader, namespaces)
	if err != nil {
		return err
	}
	set := export.New(objects)
	x := &exporter{p: p, set: set, namespaces: namespaces, force: e.force}
	if e.to == toStdout {
		return x.print()
	}
	return x.write(cmd.Context(), e.to, sourceConfig(&cfg).Options)
}

// namespaces are those to export; "" is all.
func (e *exporting) namespaces(cfg *config.Config) ([]string, error) {
	switch {
	case e.all && len(cfg.Namespaces.Only) > 0:
		return cfg.Namespaces.Only, nil
	case e.all:
		return []string{""}, nil
	case e.namespace != "":
		return []string{e.namespace}, nil
	}
	namespace, err := kube.Namespace(cfg.Kubeconfig, cfg.Context)
	return []string{namespace}, err
}

// reader reads from the cluster that the kubeconfig names. An error is about that.
func (p *Process) reader(kubeconfig, context string, patience time.Duration) (*kube.Reader, error) {
	rc, err := kube.LoadConfig(kubeconfig, context, p.Version)
	if err != nil {
		return nil, err
	}
	return kube.NewReader(rc, patience)
}

// liveObjects are the WebServices of the namespaces.
func liveObjects(ctx context.Context, reader *kube.Reader, namespaces []string) ([]unstructured.Unstructured, error) {
	objects, err := reader.WebServices(ctx, namespaces...)
	switch {
	case ctx.Err() != nil:
		return nil, failed(errExportInterrupted)
	case err != nil:
		return nil, failed(err)
	}
	return objects, nil
}

// errExportInterrupted is for whoever has pressed Ctrl-C.
var errExportInterrupted = errors.New("interrupted: nothing was written")

// exporter tells of an export and carries it out.
type exporter struct {
	p          *Process
	set        *export.Set
	namespaces []string
	force      bool
}

// print writes all files as one.
func (x *exporter) print() error {
	x.tellLeft()
	for i, f := range x.set.Files {
		text := string(f.Text)
		if i > 0 {
			text = "---\n" + text
		}
		if _, err := fmt.Fprint(x.p.Stdout, text); err != nil {
			return failed(err)
		}
	}
	for _, f := range x.set.Files {
		for _, problem := range f.Problems {
			x.warn(f.Key.String() + ": " + problem.Message)
		}
	}
	return x.refused()
}

// write writes the files into a directory.
func (x *exporter) write(ctx context.Context, dir string, opts source.Options) error {
	target, err := export.Look(ctx, dir, x.set, x.namespaces, opts)
	if err == nil {
		err = x.inTheWay(target)
	}
	if err == nil {
		x.tellLeft()
		err = target.Write(ctx)
	}
	if errors.Is(err, context.Canceled) {
		err = errExportInterrupted
	}
	if err != nil {
		return failed(err)
	}
	x.tellBeside(target)
	if err := x.tellWritten(target); err != nil {
		return failed(err)
	}
	for i := range x.set.Files {
		f := &x.set.Files[i]
		for _, problem := range f.Problems {
			problem.Path = target.Path(f)
			x.warn(problem.Error())
		}
	}
	return x.refused()
}
