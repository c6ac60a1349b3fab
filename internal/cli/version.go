package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/term"
)

// versionPatience is how long version waits for a cluster: it isn't what was asked
// for in the first place.
const versionPatience = 2 * time.Second

func versionCommand(p *Process) *cobra.Command {
	var output string
	var client bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and of the cluster",
		Long: "version prints what this program was built from, the Kubernetes release whose libraries\n" +
			"it uses, and, where one answers within two seconds, the version of the cluster.",
		Example: "  webservice-controller version\n" +
			"  webservice-controller version --client -o json",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usagef("--output %s isn't known: write text or json", strconv.Quote(output))
			}
			return printVersion(cmd, p, client, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&client, "client", false, "leave the cluster out")
	return cmd
}

// versions is what version prints.
type versions struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go_version"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes_version"`
	// Server is the cluster's version, and ServerError why there is none. Both are
	// empty where nobody asked.
	Server      string `json:"server_version,omitempty"`
	ServerError string `json:"server_error,omitempty"`
}

// versionsOf reads what the build has left in the binary. info may be nil.
func versionsOf(p *Process, info *debug.BuildInfo) versions {
	v := versions{
		Version: p.Version, Commit: p.Commit, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info != nil {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/client-go" {
				v.Kubernetes = release(dep.Version)
			}
		}
		i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
		if v.Commit == "" && i >= 0 {
			v.Commit = info.Settings[i].Value
		}
	}
	v.Commit, v.Kubernetes = cmp.Or(v.Commit, "unknown"), cmp.Or(v.Kubernetes, "unknown")
	return v
}

// release is the Kubernetes release that a library's version belongs to: v0.37.2 is
// that of v1.37.2.
func release(library string) string {
	if rest, ok := strings.CutPrefix(library, "v0."); ok {
		return "v1." + rest
	}
	return library
}

func printVersion(cmd *cobra.Command, p *Process, client, asJSON bool) error {
	info, _ := debug.ReadBuildInfo()
	v := versionsOf(p, info)
	if !client {
		server, err := serverVersion(cmd, p)
		switch {
		case cmd.Context().Err() != nil:
			return failed(errors.New("interrupted: the cluster hasn't told its version yet; --client leaves it out"))
		case codeOf(err) == exitUsage:
			return err
		case err != nil:
			v.ServerError = err.Error()
		}
		v.Server = server
	}
	write := v.text
	if asJSON {
		write = v.json
	}
	if err := write(p.Stdout); err != nil {
		return failed(err)
	}
	return nil
}

// serverVersion asks the cluster. That there is none is no misuse; a kubeconfig that
// can't be used is.
func serverVersion(cmd *cobra.Command, p *Process) (string, error) {
	p.bridge(slog.New(slog.DiscardHandler))
	kubeconfig, context := flagValue(cmd, "kubeconfig"), flagValue(cmd, "context")
	reader, err := p.reader(kubeconfig, context, versionPatience)
	switch {
	case errors.Is(err, kube.ErrNoCluster) && kubeconfig == "" && context == "":
		return "", failed(errors.New("no cluster is configured"))
	case err != nil:
		return "", usagef("%w; --client leaves the cluster out", err)
	}
	version, err := reader.ServerVersion(cmd.Context())
	if err != nil {
		return "", failed(err)
	}
	return version, nil
}

func (v *versions) text(w io.Writer) error {
	text := fmt.Sprintf("%s %s\ncommit:     %s\ngo:         %s %s\nkubernetes: %s\n", programName, v.Version, v.Commit, v.Go, v.Platform, v.Kubernetes)
	switch {
	case v.ServerError != "":
		text += "cluster:    unknown, " + oneLine(v.ServerError) + "\n"
	case v.Server != "":
		text += "cluster:    " + oneLine(v.Server) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func (v *versions) json(w io.Writer) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, term.JSON(string(text))+"\n")
	}
	return err
}
