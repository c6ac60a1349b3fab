package config

import "time"

// Config is everything that a user can set, checked: a Config that Load
// returned without an error needs no further validation. Its zero value is
// not valid.
type Config struct {
	// Source says which files are read, and how.
	Source Source
	// Out is the directory of report, evidence, approvals and identity.
	// It may be relative to the working directory; never empty.
	Out string
	// Evidence keeps the evidence files of each object below Out.
	Evidence bool
	// Prune says what happens to objects whose file is gone.
	Prune Prune
	// Reconcile says how keys are worked on.
	Reconcile Reconcile
	// CRD says what may be done about the resource definition.
	CRD CRD
	// Namespaces says which namespaces are in play.
	Namespaces Namespaces
	// Lease says where the source's Lease lives.
	Lease Lease
	// HTTP says where the read-only HTTP server listens.
	HTTP HTTP
	// Log says what is logged.
	Log Log

	// Kubeconfig is the value of --kubeconfig: "" means client-go's usual
	// search ($KUBECONFIG, ~/.kube/config, in-cluster).
	Kubeconfig string `mapstructure:"-"`
	// Context is the value of --context: "" means the current context.
	Context string `mapstructure:"-"`
	// File is the configuration file that was read, "" when there was none.
	File string `mapstructure:"-"`

	chosen map[string]given
}

// Source says which files are read, and how.
type Source struct {
	// Path is the directory that holds the files; never empty.
	Path string
	// Name tells this source from others: a label value that also makes a
	// valid Lease name, thus a lower-case DNS name of at most 63 characters.
	Name string
	// Namespace is for files that name none.
	Namespace string
	// Quiet is how long the files must rest before they are read; > 0.
	Quiet time.Duration
	// MaxWait is the most that files at rest wait for others; ≥ Quiet.
	MaxWait time.Duration
	// ScanInterval is the time between full scans without a hint; > 0.
	ScanInterval time.Duration
	// AllowEmpty makes a source with no WebServices a valid one.
	AllowEmpty bool
}

// Prune says what happens to objects whose file is gone.
type Prune struct {
	// Enabled is false when objects without a file stay for good.
	Enabled bool
	// After is how long an object must be absent from the source; > 0.
	After time.Duration
	// AfterTakeover is how long nothing is pruned after the lease was taken
	// from another holder; > 0.
	AfterTakeover time.Duration
}

// Reconcile says how keys are worked on.
type Reconcile struct {
	// Workers is how many keys are worked on at once; ≥ 1.
	Workers int
	// Unlabelled also reconciles WebServices that no source put there.
	Unlabelled bool
	// Backoff spaces the retries of a failing object.
	Backoff Backoff
}

// Backoff spaces the retries of one failing object exponentially.
type Backoff struct {
	// Initial is the wait after the first failure; > 0.
	Initial time.Duration
	// Max is the longest wait; ≥ Initial.
	Max time.Duration
}

// CRD says what may be done about the resource definition.
type CRD struct {
	// Install creates the definition when missing and upgrades our own.
	Install bool
}

// Namespaces says which namespaces are in play.
type Namespaces struct {
	// Create makes namespaces that files name and the cluster lacks.
	Create bool
	// Only confines the controller to these namespaces, each named once;
	// empty means all.
	Only []string
}

// Lease says where the source's Lease lives.
type Lease struct {
	// Namespace defaults to $POD_NAMESPACE, and without it to "default".
	Namespace string
}

// HTTP says where the read-only HTTP server listens.
type HTTP struct {
	// Addr is host:port; "" turns the server off. Port 0 means any free one.
	Addr string
	// Chosen is true when the user set http.addr, even to its default: such
	// an address that can't be listened on is an error, not a warning.
	Chosen bool `mapstructure:"-"`
}

// Log says what is logged, to stderr.
type Log struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is text or json.
	Format string
}
