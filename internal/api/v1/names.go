package v1

// Names that files, objects and other tools share with the controller.
const (
	// Kind is the kind of the resource.
	Kind = "WebService"
	// Resource is its plural, lower-case name, as in URLs.
	Resource = "webservices"
	// CRDName is the name of its CustomResourceDefinition.
	CRDName = Resource + "." + Group

	// Manager is the field manager of every write that the controller sends, and
	// the value of ManagedByLabel on what it made.
	Manager = "webservice-controller"

	// Prefix begins every label, annotation and finalizer that means something
	// to the controller.
	Prefix = "webservice.labhub.io/"

	// SourceLabel says on a WebService which source it comes from.
	SourceLabel = Prefix + "source"
	// ManagedByLabel says on a ConfigMap that the controller made it.
	ManagedByLabel = "app.kubernetes.io/managed-by"

	// CleanupFinalizer makes the deletion of a WebService wait until the
	// controller has removed what it made for it.
	CleanupFinalizer = Prefix + "cleanup"

	// PruneAnnotation with the value Disabled keeps an object whose file is gone.
	PruneAnnotation = Prefix + "prune"
	// ReconcileAnnotation with the value Disabled suspends an object: nothing of
	// it is written.
	ReconcileAnnotation = Prefix + "reconcile"
	// DependsOnAnnotation names objects that must be ready first, separated by
	// commas: name or namespace/name.
	DependsOnAnnotation = Prefix + "depends-on"
	// CRDVersionAnnotation is on the CRD: a whole number that grows whenever the
	// schema changes, by which an older one is recognised.
	CRDVersionAnnotation = Prefix + "crd-version"
	// TakenOverAnnotation is on the Lease of a source: when it was last taken from a
	// holder that hadn't released it, in RFC 3339, by the API server's clock.
	TakenOverAnnotation = Prefix + "taken-over"
	// Disabled is the only value of PruneAnnotation and ReconcileAnnotation.
	Disabled = "disabled"

	// ChildSuffix makes a WebService's name into the name of its ConfigMap.
	ChildSuffix = "-desired"
	// MaxChildName is the longest name that a ConfigMap may have, in bytes.
	MaxChildName = 253
)

// ChildName is the name of the ConfigMap that belongs to the WebService name.
func ChildName(name string) string { return name + ChildSuffix }
