package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Load brings together the flags that AddFlags registered, the environment (in
// the form of os.Environ) and the configuration file. The error joins
// everything that is wrong, each a *SettingError; Config is of no use then.
func Load(flags *pflag.FlagSet, environ []string) (Config, error) {
	inFile, path := fromFile(plain(flags, configFlag))
	layers := []*layer{fromPod(environ), inFile, fromVariables(environ), fromFlags(flags)}
	cfg, err := merge(layers)
	if err != nil {
		return Config{}, err
	}
	cfg.File = path
	cfg.Kubeconfig, cfg.Context = plain(flags, kubeconfigFlag), plain(flags, contextFlag)

	errs := cfg.check()
	for _, l := range layers {
		errs = append(errs, l.errs...)
	}
	if err := errors.Join(errs...); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// merge lays a stronger layer over a weaker one. Viper never sees the flags
// and variables themselves: it would take --source for the whole section, and
// read the process's environment instead of ours.
func merge(layers []*layer) (Config, error) {
	v := viper.New()
	for _, s := range settings() {
		v.SetDefault(s.key, s.deflt)
	}
	cfg := Config{chosen: map[string]given{}}
	for _, l := range layers {
		maps.Copy(cfg.chosen, l.values)
		if err := v.MergeConfigMap(nested(l.values)); err != nil {
			return Config{}, fmt.Errorf("merging the settings: %w", err)
		}
	}
	if err := v.UnmarshalExact(&cfg); err != nil {
		return Config{}, fmt.Errorf("reading the settings: %w", err)
	}
	_, cfg.HTTP.Chosen = cfg.chosen["http.addr"]
	return cfg, nil
}

// nested turns paths into the tree that viper wants.
func nested(values map[string]given) map[string]any {
	root := map[string]any{}
	for key, g := range values {
		parts := strings.Split(key, ".")
		at := root
		for _, part := range parts[:len(parts)-1] {
			if _, ok := at[part]; !ok {
				at[part] = map[string]any{}
			}
			at, _ = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = g.value
	}
	return root
}

// Origin says where the value of a key comes from: "flag --log-level",
// "variable WEBSERVICE_CONTROLLER_LOG_LEVEL", "config.yaml:12", or "default".
func (c *Config) Origin(key string) string {
	if g, ok := c.chosen[key]; ok {
		return g.origin
	}
	return "default"
}

// NonDefault lists the settings that differ from their defaults, in the order
// of config.yaml, each as "key=value (origin)".
func (c *Config) NonDefault() []string {
	var list []string
	for _, s := range settings() {
		g, ok := c.chosen[s.key]
		if value := format(g.value); ok && value != format(s.deflt) {
			list = append(list, fmt.Sprintf("%s=%s (%s)", s.key, value, g.origin))
		}
	}
	return list
}

// Variables are the variables that make the settings which somebody chose, in the
// order of config.yaml, each as "NAME=value". The keys in without are left out.
func (c *Config) Variables(without ...string) []string {
	var list []string
	for _, s := range settings() {
		if g, ok := c.chosen[s.key]; ok && !slices.Contains(without, s.key) {
			list = append(list, s.variable()+"="+format(g.value))
		}
	}
	return list
}
