package config_test

import (
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	const prefix = "WEBSERVICE_CONTROLLER_"
	file := func(text string) place { return place{file: text} }
	args := func(args ...string) place { return place{args: args} }
	variable := func(entry string) place { return place{environ: []string{prefix + entry}} }
	for name, c := range map[string]struct {
		place place
		want  string // the whole error
	}{
		"unknown key": {file("log:\n  colour: red\n"),
			`log.colour (config.yaml:2): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"unknown section, once": {file("nope:\n  a: 1\n  b: 2\n"),
			`nope (config.yaml:1): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"wrong case, which viper lets pass": {file("source:\n  allowempty: true\n"),
			`source.allowempty (config.yaml:2): isn't a setting: write source.allowEmpty`},
		"wrong case of a section": {file("Log:\n  level: warn\n"),
			`Log (config.yaml:1): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"the flag's spelling in the file": {file("source-allow-empty: true\n"),
			`source-allow-empty (config.yaml:1): isn't a setting: write source.allowEmpty`},
		"a dotted key": {file("log.level: warn\n"),
			`log.level (config.yaml:1): isn't a key: write each part of a path as a section of its own`},
		"a section with a value": {file("source: files\n"),
			`source (config.yaml:1): isn't a section: write keys below it, each on a line of its own with its value`},
		"a value with keys": {file("out:\n  dir: x\n"),
			`out (config.yaml:1): is a list or a section: write a single value`},
		"a file that is a list": {file("- out\n"),
			`config.yaml:1: isn't a section: write keys below it, each on a line of its own with its value`},
		"a key without a value": {file("log:\n  level:\n"),
			`log.level (config.yaml:2): has no value: write one, or comment the line out`},
		"a key twice": {file("out: a\nevidence: true\nout: b\n"),
			`out (config.yaml:3): is set by config.yaml:1 as well: write one of them`},
		"two documents": {file("out: a\n---\nout: b\n"),
			`config.yaml: holds more than one YAML document: write one`},
		"not YAML": {file("out: [a\n"),
			`config.yaml: yaml: line 1: did not find expected ',' or ']'`},
		"a number for a text": {file("source:\n  name: 7\n"),
			`source.name (config.yaml:2): 7 isn't a text: write it in quotes, "7"`},
		"a quoted number": {file("reconcile:\n  workers: '4'\n"),
			`reconcile.workers (config.yaml:2): "4" is a text: write it without the quotes`},
		"a fraction": {file("reconcile:\n  workers: 1.5\n"),
			`reconcile.workers (config.yaml:2): "1.5" isn't a whole number: write one such as 16`},
		"a duration without unit": {file("prune:\n  after: 3\n"),
			`prune.after (config.yaml:2): "3" isn't a duration: write a number with its unit, such as 500ms, 30s or 2m`},
		"yes": {file("evidence: yes\n"),
			`evidence (config.yaml:1): "yes" isn't a truth value: write true or false`},
		"a number among names": {file("namespaces:\n  only: [a, 1]\n"),
			`namespaces.only (config.yaml:2): its item "1" isn't a text: write names, in quotes where YAML takes them for something else`},
		"a list of an empty name": {file("namespaces:\n  only: ['']\n"),
			`namespaces.only (config.yaml:2): [""] names nothing: write names, or leave it away`},
		"a list of a blank": {file("namespaces:\n  only: [' ', \"\\u00a0\"]\n"),
			`namespaces.only (config.yaml:2): [" " "\u00a0"] names nothing: write names, or leave it away`},
		"a list of a comma": {file("namespaces:\n  only: [',']\n"),
			`namespaces.only (config.yaml:2): [","] names nothing: write names, or leave it away`},
		"a blank for names": {file("namespaces:\n  only: ' '\n"),
			`namespaces.only (config.yaml:2): " " names nothing: write names with commas in between, or leave it away`},
		"a blank for names in a flag": {args("--namespaces-only", " "),
			`namespaces.only (flag --namespaces-only): " " names nothing: write names with commas in between, or leave it away`},
		"a blank that doesn't break, for names": {args("--namespaces-only", "\u00a0"),
			`namespaces.only (flag --namespaces-only): "\u00a0" names nothing: write names with commas in between, or leave it away`},
		"a line separator for names": {args("--namespaces-only", "\u2028"),
			`namespaces.only (flag --namespaces-only): "\u2028" names nothing: write names with commas in between, or leave it away`},
		"a blank for names in a variable": {variable("NAMESPACES_ONLY= "),
			`namespaces.only (variable WEBSERVICE_CONTROLLER_NAMESPACES_ONLY): " " names nothing: write names with commas in between, or leave it away`},
		"an entry merged in": {file("source: {<<: {path: x}}\n"),
			`source.<< (config.yaml:1): isn't a setting: remove it, or look its name up in config.yaml or --help`},

		"unknown variable": {variable("COLOUR=red"),
			`WEBSERVICE_CONTROLLER_COLOUR (variable): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"variable without its underscores": {variable("SOURCE_ALLOWEMPTY=true"),
			`WEBSERVICE_CONTROLLER_SOURCE_ALLOWEMPTY (variable): isn't a setting: write WEBSERVICE_CONTROLLER_SOURCE_ALLOW_EMPTY`},
		"variable that looks like a Service's": {variable("HTTP_PORT=9090"),
			`WEBSERVICE_CONTROLLER_HTTP_PORT (variable): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"kubeconfig is a flag only": {variable("KUBECONFIG=x"),
			`WEBSERVICE_CONTROLLER_KUBECONFIG (variable): isn't a setting: remove it, or look its name up in config.yaml or --help`},
		"wrong type in a variable": {variable("EVIDENCE=on"),
			`evidence (variable WEBSERVICE_CONTROLLER_EVIDENCE): "on" isn't a truth value: write true or false`},
		"empty variable of a number": {variable("RECONCILE_WORKERS="),
			`reconcile.workers (variable WEBSERVICE_CONTROLLER_RECONCILE_WORKERS): "" isn't a whole number: write one such as 16`},
		"unknown variable, nearly right": {variable("SOURCE_PATHS=x"),
			`WEBSERVICE_CONTROLLER_SOURCE_PATHS (variable): isn't a setting: did you mean WEBSERVICE_CONTROLLER_SOURCE_PATH?`},
		"unknown key, nearly right": {file("source:\n  pth: x\n"),
			`source.pth (config.yaml:2): isn't a setting: did you mean source.path?`},
		"a list of commas": {variable("NAMESPACES_ONLY=,"),
			`namespaces.only (variable WEBSERVICE_CONTROLLER_NAMESPACES_ONLY): "," names nothing: write names with commas in between, or leave it away`},
		"POD_NAMESPACE": {place{environ: []string{"POD_NAMESPACE=A"}},
			`lease.namespace (variable POD_NAMESPACE): "A" can't be a namespace: write lower-case letters, digits and '-', at most 63, a letter or digit at both ends`},

		"wrong type of a flag": {args("--reconcile-workers=many"),
			`reconcile.workers (flag --reconcile-workers): "many" isn't a whole number: write one such as 16`},
		"both flags of a key": {args("--source=a", "--source-path=b"),
			`source.path (flag --source): is set by flag --source-path as well: write one of them`},
		"no such file": {args("--config=nope.yaml"),
			`config (flag --config): open nope.yaml: no such file or directory: write the path of a readable file`},

		"empty path": {args("--source="),
			`source.path (flag --source): is empty: write the path of a directory`},
		"empty out": {args("--out= "),
			`out (flag --out): is empty: write the path of a directory`},
		"source name in capitals": {args("--source-name=Team"),
			`source.name (flag --source-name): "Team" can't be a label value and part of a Lease's name: write lower-case letters, digits, '-' and '.', at most 63, a letter or digit at both ends and around each '.'`},
		"no workers": {args("--reconcile-workers=0"),
			`reconcile.workers (flag --reconcile-workers): 0 is out of range: write a number from 1 to 1000`},
		"negative duration": {args("--prune-after=-3s"),
			`prune.after (flag --prune-after): -3s isn't more than zero: write a duration such as 500ms, 30s or 2m`},
		"no time at all": {args("--prune-after-takeover=0s"),
			`prune.afterTakeover (flag --prune-after-takeover): 0s isn't more than zero: write a duration such as 500ms, 30s or 2m`},
		"wait shorter than quiet": {args("--source-max-wait=50ms"),
			`source.maxWait (flag --source-max-wait): 50ms is less than source.quiet, which is 100ms: write at least that`},
		"quiet longer than the default wait": {args("--source-quiet=90m"),
			`source.maxWait (default): 1s is less than source.quiet, which is 1h30m: write at least that`},
		"initial over max": {args("--reconcile-backoff-initial=2m"),
			`reconcile.backoff.max (default): 1m is less than reconcile.backoff.initial, which is 2m: write at least that`},
		"namespace": {args("--namespaces-only=a,B"),
			`namespaces.only (flag --namespaces-only): "B" can't be a namespace: write lower-case letters, digits and '-', at most 63, a letter or digit at both ends`},
		"log level": {args("--log-level=WARN"),
			`log.level (flag --log-level): "WARN" isn't known: write one of debug, info, warn, error`},
		"log format": {file("log: {format: xml}\n"),
			`log.format (config.yaml:1): "xml" isn't known: write one of text, json`},
		"address": {args("--http-addr=8080"),
			`http.addr (flag --http-addr): "8080" isn't host:port: write one such as 127.0.0.1:8080, or "" for no server`},
		"port out of range": {args("--http-addr=:65536"),
			`http.addr (flag --http-addr): ":65536" isn't host:port: write one such as 127.0.0.1:8080, or "" for no server`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.place)
			if err == nil || err.Error() != c.want {
				t.Errorf("error\n got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, name := range []string{"a", "0", "a-b", "a.b", "a.b-c.d0", long} {
		mustLoad(t, place{args: []string{"--source-name=" + name}})
	}
	for _, name := range []string{"", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a_b", "ä", "a\n", long + "a"} {
		if _, err := load(t, place{args: []string{"--source-name=" + name}}); err == nil {
			t.Errorf("source name %q was accepted", name)
		}
	}
	for _, name := range []string{"a.b", "", long + "a"} {
		if _, err := load(t, place{args: []string{"--lease-namespace=" + name}}); err == nil {
			t.Errorf("namespace %q was accepted", name)
		}
	}
}

// All that is wrong is said at once, wherever it stands.
func TestAllErrorsAtOnce(t *testing.T) {
	_, err := load(t, place{
		file:    "log:\n  level: loud\nnope: 1\nevidence: 2\n",
		environ: []string{"WEBSERVICE_CONTROLLER_OUTPUT=x"},
		args:    []string{"--reconcile-workers=-1", "--prune-after=soon"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, key := range []string{"log.level", "nope", "evidence", "WEBSERVICE_CONTROLLER_OUTPUT", "reconcile.workers", "prune.after"} {
		n := 0
		for _, line := range lines {
			if strings.HasPrefix(line, key+" (") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is named %d times in\n%v", key, n, err)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d lines, want 6:\n%v", len(lines), err)
	}
}
