package cli

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/kube"
)

// completionPatience is how long a user who has pressed Tab waits for a cluster.
const completionPatience = 2 * time.Second

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func completionCommand(p *Process) *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells(), "|"),
		Short: "Print a script that completes command lines with Tab",
		Long: "completion prints the script by which a shell completes commands, flags and their values,\n" +
			"namespaces and the names of live WebServices. bash needs its package bash-completion.",
		Example: "  source <(webservice-controller completion bash)\n" +
			"  echo 'source <(webservice-controller completion bash)' >> ~/.bashrc\n" +
			"  webservice-controller completion zsh > \"${fpath[1]}/_webservice-controller\"\n" +
			"  webservice-controller completion fish | source\n" +
			"  webservice-controller completion powershell | Out-String | Invoke-Expression",
		Args:              oneShell,
		ValidArgsFunction: cobra.FixedCompletions(shells(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeCompletion(cmd.Root(), p, args[0]); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

func oneShell(_ *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usagef("completion takes the name of one shell: write one of %s", strings.Join(shells(), ", "))
	case !slices.Contains(shells(), args[0]):
		return usagef("the shell %s isn't known: write one of %s", strconv.Quote(args[0]), strings.Join(shells(), ", "))
	}
	return nil
}

func writeCompletion(root *cobra.Command, p *Process, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(p.Stdout, true)
	case "zsh":
		return root.GenZshCompletion(p.Stdout)
	case "fish":
		return root.GenFishCompletion(p.Stdout, true)
	default:
		return root.GenPowerShellCompletionWithDesc(p.Stdout)
	}
}

// complete gives every flag and argument that has none yet its completion. What a
// command has registered itself stays.
func (p *Process) complete(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		each := func(flag *pflag.Flag) {
			if _, known := cmd.GetFlagCompletionFunc(flag.Name); !known {
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, p.valuesOf(flag)) // the flag is there, and has none
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(each)
		cmd.PersistentFlags().VisitAll(each)
		switch {
		case cmd.ValidArgsFunction != nil, cmd.Name() == "validate":
		case cmd.Name() == "verify":
			cmd.ValidArgsFunction = p.completeName
		default:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// valuesOf is the completion of a flag's value.
func (p *Process) valuesOf(flag *pflag.Flag) cobra.CompletionFunc {
	one := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	switch flag.Name {
	case "output":
		return one("text", "json")
	case "log-level":
		return one("debug", "info", "warn", "error")
	case "log-format":
		return one("text", "json")
	case "namespace", "source-namespace", "lease-namespace", "namespaces-only":
		return p.completeNamespace
	case "context":
		return completeContext
	case "source", "source-path", "out", "to":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "config":
		return cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	case "kubeconfig":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	if flag.Value.Type() == "bool" {
		return one("true", "false")
	}
	return cobra.NoFileCompletions
}

// completeName offers the names of live WebServices, in the namespace that -n names,
// or else in that of the files.
func (p *Process) completeName(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace := flagValue(cmd, "namespace")
	if namespace == "" {
		cfg, err := config.Load(cmd.Flags(), p.Environ)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		namespace = cfg.Source.Namespace
	}
	return p.offer(cmd, typed, func(ctx context.Context, r *kube.Reader) ([]string, error) {
		return r.WebServiceNames(ctx, namespace)
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeNamespace offers namespaces, also for the last of a list.
func (p *Process) completeNamespace(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	names := p.offer(cmd, typed[len(before):], func(ctx context.Context, r *kube.Reader) ([]string, error) { return r.Namespaces(ctx) })
	for i := range names {
		names[i] = before + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completeContext(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	names, err := kube.Contexts(flagValue(cmd, "kubeconfig"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// offer asks the cluster for what may be meant. Whoever types a command isn't told
// why there is nothing: running it does that.
func (p *Process) offer(cmd *cobra.Command, typed string, ask func(context.Context, *kube.Reader) ([]string, error)) []string {
	p.bridge(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	reader, err := p.reader(flagValue(cmd, "kubeconfig"), flagValue(cmd, "context"), completionPatience)
	if err != nil {
		return nil
	}
	names, err := ask(ctx, reader)
	if err != nil {
		return nil
	}
	return beginning(names, typed)
}

func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) })
}

// flagValue is the value of a flag, "" where the command has none of that name.
func flagValue(cmd *cobra.Command, name string) string {
	if flag := cmd.Flags().Lookup(name); flag != nil {
		return flag.Value.String()
	}
	return ""
}
