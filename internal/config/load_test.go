package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/config"
)

// place is what the user wrote: in a file, in variables, on the command line.
type place struct {
	file    string
	environ []string
	args    []string
}

// load runs Load in a directory of its own, with config.yaml there if the place
// has a file.
func load(t *testing.T, p place) (config.Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if p.file != "" {
		if err := os.WriteFile("config.yaml", []byte(p.file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(p.args); err != nil {
		t.Fatal(err)
	}
	return config.Load(flags, p.environ)
}

func mustLoad(t *testing.T, p place) config.Config {
	t.Helper()
	cfg, err := load(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestDefaults(t *testing.T) {
	cfg := mustLoad(t, place{environ: []string{"HOME=/home/ada"}})
	if got := cfg.NonDefault(); len(got) != 0 {
		t.Errorf("NonDefault() = %q", got)
	}
	for _, c := range []struct {
		key       string
		got, want any
	}{
		{"source.path", cfg.Source.Path, "desired"},
		{"source.name", cfg.Source.Name, "default"},
		{"source.namespace", cfg.Source.Namespace, "default"},
		{"source.quiet", cfg.Source.Quiet, 100 * time.Millisecond},
		{"source.maxWait", cfg.Source.MaxWait, time.Second},
		{"source.scanInterval", cfg.Source.ScanInterval, 30 * time.Second},
		{"source.allowEmpty", cfg.Source.AllowEmpty, false},
		{"out", cfg.Out, "out"},
		{"evidence", cfg.Evidence, false},
		{"prune.enabled", cfg.Prune.Enabled, true},
		{"prune.after", cfg.Prune.After, 3 * time.Second},
		{"prune.afterTakeover", cfg.Prune.AfterTakeover, 2 * time.Minute},
		{"reconcile.workers", cfg.Reconcile.Workers, 16},
		{"reconcile.unlabelled", cfg.Reconcile.Unlabelled, true},
		{"reconcile.backoff.initial", cfg.Reconcile.Backoff.Initial, 200 * time.Millisecond},
		{"reconcile.backoff.max", cfg.Reconcile.Backoff.Max, time.Minute},
		{"crd.install", cfg.CRD.Install, true},
		{"namespaces.create", cfg.Namespaces.Create, true},
		{"namespaces.only", len(cfg.Namespaces.Only), 0},
		{"lease.namespace", cfg.Lease.Namespace, "default"},
		{"http.addr", cfg.HTTP.Addr, "127.0.0.1:8080"},
		{"http chosen", cfg.HTTP.Chosen, false},
		{"log.level", cfg.Log.Level, "info"},
		{"log.format", cfg.Log.Format, "text"},
		{"file", cfg.File, ""},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.key, c.got, c.want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const file = "log:\n  level: warn\n"
	variable := []string{"WEBSERVICE_CONTROLLER_LOG_LEVEL=error"}
	flag := []string{"--log-level=debug"}
	for name, c := range map[string]struct {
		place        place
		want, origin string
	}{
		"default":                 {place{}, "info", "default"},
		"file over default":       {place{file: file}, "warn", "config.yaml:2"},
		"variable over file":      {place{file: file, environ: variable}, "error", "variable WEBSERVICE_CONTROLLER_LOG_LEVEL"},
		"flag over variable":      {place{file: file, environ: variable, args: flag}, "debug", "flag --log-level"},
		"flag at default is kept": {place{file: file, args: []string{"--log-level=info"}}, "info", "flag --log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, c.place)
			if cfg.Log.Level != c.want || cfg.Origin("log.level") != c.origin {
				t.Errorf("level %q from %q, want %q from %q", cfg.Log.Level, cfg.Origin("log.level"), c.want, c.origin)
			}
		})
	}
}

// Every key can be set in each of the three ways, and arrives in its field.
func TestEveryKeyEveryWay(t *testing.T) {
	args := strings.Fields("--source-path=a --source-name=b --source-namespace=c --source-quiet=2s --source-max-wait=3s " +
		"--source-scan-interval=4s --source-allow-empty --out=d --evidence --prune-enabled=false --prune-after=5s " +
		"--prune-after-takeover=6s --reconcile-workers=7 --reconcile-unlabelled=false --reconcile-backoff-initial=8s " +
		"--reconcile-backoff-max=9s --crd-install=false --namespaces-create=false --namespaces-only=e,f " +
		"--lease-namespace=g --http-addr=:0 --log-level=warn --log-format=json")
	environ := strings.Fields("SOURCE_PATH=a SOURCE_NAME=b SOURCE_NAMESPACE=c SOURCE_QUIET=2s SOURCE_MAX_WAIT=3s " +
		"SOURCE_SCAN_INTERVAL=4s SOURCE_ALLOW_EMPTY=true OUT=d EVIDENCE=true PRUNE_ENABLED=false PRUNE_AFTER=5s " +
		"PRUNE_AFTER_TAKEOVER=6s RECONCILE_WORKERS=7 RECONCILE_UNLABELLED=false RECONCILE_BACKOFF_INITIAL=8s " +
		"RECONCILE_BACKOFF_MAX=9s CRD_INSTALL=false NAMESPACES_CREATE=false NAMESPACES_ONLY=e,f " +
		"LEASE_NAMESPACE=g HTTP_ADDR=:0 LOG_LEVEL=warn LOG_FORMAT=json")
	for i := range environ {
		environ[i] = "WEBSERVICE_CONTROLLER_" + environ[i]
	}
	const file = `
source: {path: a, name: b, namespace: c, quiet: 2s, maxWait: 3s, scanInterval: 4s, allowEmpty: true}
out: d
evidence: true
prune: {enabled: false, after: 5s, afterTakeover: 6s}
reconcile:
  workers: 7
  unlabelled: false
  backoff: {initial: 8s, max: 9s}
crd: {install: false}
namespaces: {create: false, only: [e, f]}
lease: {namespace: g}
http: {addr: ":0"}
log: {level: warn, format: json}
`
	want := config.Config{
		Source: config.Source{Path: "a", Name: "b", Namespace: "c", Quiet: 2 * time.Second, MaxWait: 3 * time.Second,
			ScanInterval: 4 * time.Second, AllowEmpty: true},
		Out: "d", Evidence: true,
		Prune: config.Prune{After: 5 * time.Second, AfterTakeover: 6 * time.Second},
		Reconcile: config.Reconcile{Workers: 7,
			Backoff: config.Backoff{Initial: 8 * time.Second, Max: 9 * time.Second}},
		Namespaces: config.Namespaces{Only: []string{"e", "f"}},
		Lease:      config.Lease{Namespace: "g"},
		HTTP:       config.HTTP{Addr: ":0", Chosen: true},
		Log:        config.Log{Level: "warn", Format: "json"},
	}
	for name, p := range map[string]place{"flags": {args: args}, "variables": {environ: environ}, "file": {file: file}} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, p)
			if n := len(cfg.NonDefault()); n != 23 {
				t.Errorf("%d settings differ from their defaults, want all 23: %q", n, cfg.NonDefault())
			}
			got := config.Config{Source: cfg.Source, Out: cfg.Out, Evidence: cfg.Evidence, Prune: cfg.Prune,
				Reconcile: cfg.Reconcile, CRD: cfg.CRD, Namespaces: cfg.Namespaces, Lease: cfg.Lease, HTTP: cfg.HTTP, Log: cfg.Log}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		place place
		want  []string
	}{
		"--source is source.path, and leaves the section alone": {
			place{file: "source:\n  name: team\n  allowEmpty: true\n", args: []string{"--source", "files"}},
			[]string{"source.path=files (flag --source)", "source.name=team (config.yaml:2)", "source.allowEmpty=true (config.yaml:3)"}},
		"a variable whose key only has a default": {
			place{environ: []string{"WEBSERVICE_CONTROLLER_PRUNE_AFTER_TAKEOVER=5m"}},
			[]string{"prune.afterTakeover=5m (variable WEBSERVICE_CONTROLLER_PRUNE_AFTER_TAKEOVER)"}},
		"the process's own environment isn't looked at": {
			place{}, nil},
		"list on the command line, in parts": {
			place{args: []string{"--namespaces-only=a,b", "--namespaces-only", "c, a"}},
			[]string{"namespaces.only=a,b,c (flag --namespaces-only)"}},
		"list in a variable, in a file with commas": {
			place{file: "namespaces:\n  only: x,y\n"}, []string{"namespaces.only=x,y (config.yaml:2)"}},
		"empty list": {
			place{file: "namespaces:\n  only: [a]\n", environ: []string{"WEBSERVICE_CONTROLLER_NAMESPACES_ONLY="}}, nil},
		"empty list in a flag": {
			place{file: "namespaces:\n  only: [a]\n", args: []string{"--namespaces-only", ""}}, nil},
		"empty list in a file": {place{file: "namespaces:\n  only: []\n"}, nil},
		"empty address turns the server off": {
			place{environ: []string{"WEBSERVICE_CONTROLLER_HTTP_ADDR="}},
			[]string{"http.addr= (variable WEBSERVICE_CONTROLLER_HTTP_ADDR)"}},
		"POD_NAMESPACE is the lease's default": {
			place{environ: []string{"POD_NAMESPACE=prod"}}, []string{"lease.namespace=prod (variable POD_NAMESPACE)"}},
		"file over POD_NAMESPACE": {
			place{file: "lease:\n  namespace: mine\n", environ: []string{"POD_NAMESPACE=prod"}},
			[]string{"lease.namespace=mine (config.yaml:2)"}},
		"a file of comments":       {place{file: "# nothing\n"}, nil},
		"a section without keys":   {place{file: "source:\n#  path: x\nlog:\n"}, nil},
		"an anchor and its alias":  {place{file: "source: {path: &p x}\nout: *p\n"}, []string{"source.path=x (config.yaml:1)", "out=x (config.yaml:2)"}},
		"a quoted duration":        {place{file: "prune:\n  after: '9s'\n"}, []string{"prune.after=9s (config.yaml:2)"}},
		"windows line ends, a BOM": {place{file: "\ufeffout: x\r\nevidence: true\r\n"}, []string{"out=x (config.yaml:1)", "evidence=true (config.yaml:2)"}},
		"variables of a Service with our name": {
			place{environ: []string{
				"WEBSERVICE_CONTROLLER_SERVICE_HOST=10.0.0.1", "WEBSERVICE_CONTROLLER_SERVICE_PORT=80",
				"WEBSERVICE_CONTROLLER_SERVICE_PORT_HTTP=80", "WEBSERVICE_CONTROLLER_PORT=tcp://10.0.0.1:80",
				"WEBSERVICE_CONTROLLER_PORT_80_TCP=tcp://10.0.0.1:80", "WEBSERVICE_CONTROLLER_PORT_80_TCP_PROTO=tcp",
				"WEBSERVICE_CONTROLLER_PORT_80_TCP_PORT=80", "WEBSERVICE_CONTROLLER_PORT_80_TCP_ADDR=10.0.0.1",
				"WEBSERVICE_CONTROLLER_METRICS_SERVICE_HOST=10.0.0.2", "WEBSERVICE_CONTROLLER_METRICS_PORT=tcp://10.0.0.2:9",
			}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WEBSERVICE_CONTROLLER_LOG_LEVEL", "error")
			cfg := mustLoad(t, c.place)
			if got := cfg.NonDefault(); !slices.Equal(got, c.want) {
				t.Errorf("NonDefault()\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestHTTPChosen(t *testing.T) {
	for name, p := range map[string]place{
		"flag":     {args: []string{"--http-addr=127.0.0.1:8080"}},
		"variable": {environ: []string{"WEBSERVICE_CONTROLLER_HTTP_ADDR=127.0.0.1:8080"}},
		"file":     {file: "http:\n  addr: 127.0.0.1:8080\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mustLoad(t, p)
			if !cfg.HTTP.Chosen || len(cfg.NonDefault()) != 0 {
				t.Errorf("chosen %v, NonDefault %q; want true and none", cfg.HTTP.Chosen, cfg.NonDefault())
			}
		})
	}
}

func TestPlainFlags(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte("out: elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, place{file: "out: ignored\n", args: []string{"--config", other, "--kubeconfig=k", "--context=c"}})
	if cfg.Out != "elsewhere" || cfg.File != other || cfg.Kubeconfig != "k" || cfg.Context != "c" {
		t.Errorf("got %+v", cfg)
	}
}

// Without the flags of Load's own command a set of flags is fine as well.
func TestFlagsNotRegistered(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg, err := config.Load(pflag.NewFlagSet("bare", pflag.ContinueOnError), nil)
	if err != nil || cfg.Out != "out" {
		t.Errorf("out %q, error %v", cfg.Out, err)
	}
}

func TestErrorIsTyped(t *testing.T) {
	_, err := load(t, place{args: []string{"--log-level=loud"}})
	var setting *config.SettingError
	if !errors.As(err, &setting) {
		t.Fatalf("error is a %T", err)
	}
	if setting.Key != "log.level" || setting.Origin != "flag --log-level" {
		t.Errorf("got %+v", setting)
	}
}

// TestVariables: another process with these variables has the same settings.
func TestVariables(t *testing.T) {
	cfg := mustLoad(t, place{
		file:    "namespaces:\n  only: [shop, lab]\nprune:\n  after: 90s\n",
		environ: []string{"WEBSERVICE_CONTROLLER_LOG_FORMAT=json", "POD_NAMESPACE=team"},
		args:    []string{"--crd-install=false", "--out=elsewhere", "--evidence=false"},
	})
	got := cfg.Variables("out", "lease.namespace")
	want := []string{
		"WEBSERVICE_CONTROLLER_EVIDENCE=false", "WEBSERVICE_CONTROLLER_PRUNE_AFTER=1m30s",
		"WEBSERVICE_CONTROLLER_CRD_INSTALL=false",
		"WEBSERVICE_CONTROLLER_NAMESPACES_ONLY=shop,lab", "WEBSERVICE_CONTROLLER_LOG_FORMAT=json",
	}
	if !slices.Equal(got, want) {
		t.Errorf("variables\n got %q\nwant %q", got, want)
	}
	again := mustLoad(t, place{environ: append(got, "WEBSERVICE_CONTROLLER_OUT=elsewhere", "POD_NAMESPACE=team")})
	if got, want := again.Variables(), cfg.Variables(); !slices.Equal(got, want) {
		t.Errorf("variables of a process that has them\n got %q\nwant %q", got, want)
	}
	defaults := mustLoad(t, place{})
	if defaults.Variables() != nil {
		t.Error("the defaults need variables")
	}
}
