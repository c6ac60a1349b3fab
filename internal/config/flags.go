package config

import "github.com/spf13/pflag"

const (
	configFlag     = "config"
	kubeconfigFlag = "kubeconfig"
	contextFlag    = "context"
)

// AddFlags registers a flag for every key, the short ones beside them, and
// --config, --kubeconfig and --context. Values are checked by Load, not while
// flags are parsed, so that all errors come at once.
func AddFlags(flags *pflag.FlagSet) {
	for _, s := range settings() {
		addFlag(flags, &s, s.flag(), s.help)
		if s.short != "" {
			addFlag(flags, &s, s.short, "short for --"+s.flag())
		}
	}
	flags.String(configFlag, "", "the configuration file (default ./"+defaultFile+" when there is one)")
	flags.String(kubeconfigFlag, "", "the kubeconfig file (default $KUBECONFIG, ~/.kube/config, or the pod's own account)")
	flags.String(contextFlag, "", "the context in the kubeconfig file (default its current one)")
}

func addFlag(flags *pflag.FlagSet, s *setting, name, help string) {
	value := &flagValue{kind: s.kind, text: format(s.deflt)}
	flag := flags.VarPF(value, name, "", help)
	if s.kind == boolean {
		flag.NoOptDefVal = "true"
	}
}

// flagValue keeps what the user wrote; it implements pflag.Value.
type flagValue struct {
	kind kind
	text string
	set  bool
}

// Set takes any text. A list given several times adds up.
func (v *flagValue) Set(value string) error {
	if v.kind == names && v.set {
		value = v.text + "," + value
	}
	v.text, v.set = value, true
	return nil
}

// String is the text as it is now.
func (v *flagValue) String() string { return v.text }

// Type is shown in the help text.
func (v *flagValue) Type() string { return string(v.kind) }

// fromFlags reads the flags that the user set.
func fromFlags(flags *pflag.FlagSet) *layer {
	l := newLayer()
	for _, s := range settings() {
		for _, name := range []string{s.flag(), s.short} {
			if flag := flags.Lookup(name); flag != nil && flag.Changed {
				l.take(&s, "flag --"+name, flag.Value.String())
			}
		}
	}
	return l
}

// plain is the value of a flag that is no setting, "" where it isn't registered.
func plain(flags *pflag.FlagSet, name string) string {
	if flag := flags.Lookup(name); flag != nil {
		return flag.Value.String()
	}
	return ""
}
