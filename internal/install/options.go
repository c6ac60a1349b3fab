package install

// Name is what everything is called in the namespace of the same name, which is the
// default. Elsewhere, what several installations could have in one place has the
// installation's namespace in its name.
const Name = "webservice-controller"

// GitSync is the key that is on where git-sync fetches the files.
const GitSync = "git-sync"

// Options say what one installation is like. The zero value isn't usable: Namespace
// and SourceName have to be there. The text of each is taken as it is: nothing in it is expanded, by
// the kubelet neither.
type Options struct {
	// Namespace is the one of the pod and of its ServiceAccount.
	Namespace string
	// Image is the controller's, with its tag or digest; "" leaves the shipped one.
	Image string
	// Tag takes the place of the shipped image's tag where Image is "".
	Tag string
	// Files says what the pod reads.
	Files Files
	// Only confines the controller to these namespaces; empty is all.
	Only []string
	// LeaseNamespace is where the Lease lives; "" is Namespace.
	LeaseNamespace string
	// SourceName is what the Lease's name is made of.
	SourceName string
	// Off are the settings, by their keys, that are off, so that what is there for
	// them alone isn't needed.
	Off []string
	// Variables are those of the controller beside the shipped ones.
	Variables []Variable
}

// Files says where files come from: of Claim, HostPath and git one alone is taken,
// in this order.
type Files struct {
	// Claim is the name of a PersistentVolumeClaim.
	Claim string
	// HostPath is a directory of the node.
	HostPath string
	// Repository is what git-sync clones, and Ref the branch, tag or commit; "" leaves
	// what is shipped.
	Repository, Ref string
	// Path is the directory below these that holds the files; "" is all of it.
	Path string
}

// fromGit says whether git-sync fetches the files.
func (f *Files) fromGit() bool { return f.Claim == "" && f.HostPath == "" }

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// leaseNamespace is where the Lease lives.
func (o *Options) leaseNamespace() string {
	if o.LeaseNamespace != "" {
		return o.LeaseNamespace
	}
	return o.Namespace
}

// installation is what the roles are named after.
func (o *Options) installation() string {
	if o.Namespace == Name {
		return Name
	}
	return Name + "-" + o.Namespace
}
