package config

import (
	"strings"
	"time"
)

// kind is the type of a setting's value.
type kind string

// The kinds; pflag shows their names in the help text.
const (
	text     kind = "string"
	boolean  kind = "bool"
	integer  kind = "int"
	duration kind = "duration"
	names    kind = "names"
)

// setting is one key that the user can set.
type setting struct {
	key   string
	kind  kind
	deflt any
	help  string
	// short is a second flag for the key, "" for none.
	short string
}

// settings is every key, in the order of config.yaml.
func settings() []setting {
	return []setting{
		{key: "source.path", kind: text, deflt: "desired", short: "source",
			help: "the directory that holds the files; a link to one is fine"},
		{key: "source.name", kind: text, deflt: "default",
			help: "who we are among several sources; goes into a label and into the Lease's name"},
		{key: "source.namespace", kind: text, deflt: "default",
			help: "the namespace for files that name none"},
		{key: "source.quiet", kind: duration, deflt: 100 * time.Millisecond,
			help: "how long the files must rest before they are read"},
		{key: "source.maxWait", kind: duration, deflt: time.Second,
			help: "the most that files at rest wait for others that still change"},
		{key: "source.scanInterval", kind: duration, deflt: 30 * time.Second,
			help: "a full scan of the files, and a pass over all objects, at least this often"},
		{key: "source.allowEmpty", kind: boolean, deflt: false,
			help: "a directory without any WebService is a valid source"},
		{key: "out", kind: text, deflt: "out",
			help: "the directory for report, evidence, approvals and identity; not inside the source"},
		{key: "evidence", kind: boolean, deflt: false,
			help: "keep evidence files of each object's last decision"},
		{key: "prune.enabled", kind: boolean, deflt: true,
			help: "delete objects whose file is gone; false keeps them"},
		{key: "prune.after", kind: duration, deflt: 3 * time.Second,
			help: "how long an object must be absent from the files, over at least two clean scans"},
		{key: "prune.afterTakeover", kind: duration, deflt: 2 * time.Minute,
			help: "delete nothing that soon after taking the lease from another holder"},
		{key: "reconcile.workers", kind: integer, deflt: 16,
			help: "how many objects are worked on at once"},
		{key: "reconcile.unlabelled", kind: boolean, deflt: true,
			help: "also reconcile WebServices that no source put there; with several sources set it in one only"},
		{key: "reconcile.backoff.initial", kind: duration, deflt: 200 * time.Millisecond,
			help: "the wait after an object's first failure; it doubles from there, with jitter"},
		{key: "reconcile.backoff.max", kind: duration, deflt: time.Minute,
			help: "the longest wait between two tries of a failing object; chance adds up to a fifth"},
		{key: "crd.install", kind: boolean, deflt: true,
			help: "install the WebService definition when it is missing, and upgrade our own"},
		{key: "namespaces.create", kind: boolean, deflt: true,
			help: "create the namespaces that files name and the cluster lacks"},
		{key: "namespaces.only", kind: names, deflt: []string{},
			help: "work in these namespaces alone; a file that names another is a problem (default all)"},
		{key: "lease.namespace", kind: text, deflt: "default",
			help: "where the source's Lease lives; $POD_NAMESPACE, where set, takes the default's place"},
		{key: "http.addr", kind: text, deflt: "127.0.0.1:8080",
			help: "where health, readiness, the report and metrics are served; empty turns them off"},
		{key: "log.level", kind: text, deflt: "info",
			help: "debug, info, warn or error"},
		{key: "log.format", kind: text, deflt: "text",
			help: "text or json"},
	}
}

const variablePrefix = "WEBSERVICE_CONTROLLER_"

// flag is the key's flag: source.allowEmpty is set by --source-allow-empty.
func (s *setting) flag() string { return separate(s.key, '-') }

// variable is the key's environment variable.
func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(separate(s.key, '_'))
}

// separate writes dots and the start of capitalised words as one separator.
func separate(key string, separator rune) string {
	var b strings.Builder
	for _, r := range key {
		switch {
		case r == '.':
			b.WriteRune(separator)
		case r >= 'A' && r <= 'Z':
			b.WriteRune(separator)
			b.WriteRune(r - 'A' + 'a')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
