package cli

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/install"
)

// installing is how manifests was called.
type installing struct {
	namespace string
	image     string
	files     install.Files
}

func manifestsCommand(p *Process) *cobra.Command {
	var i installing
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Print what runs the controller in a cluster",
		Long: "manifests prints the definition of WebServices, the controller's account with the rights\n" +
			"that it needs, its Service, NetworkPolicy and Deployment, for kubectl apply. It needs no\n" +
			"cluster.\n\n" +
			"The Deployment has the settings that manifests is called with, and the account no right\n" +
			"that these don't need. source.path is relative to the repository or volume here, and all\n" +
			"of it where it isn't given; out and http.addr are those of the pod.\n\n" +
			"The files come from a git repository by git-sync, or else from a claim or a directory of\n" +
			"the node. With namespaces.only there are Roles in these namespaces in the place of a\n" +
			"ClusterRole; they have to exist, and the controller makes none.",
		Example: "  webservice-controller manifests --image $IMAGE --git-repo $REPOSITORY | kubectl apply -f -\n" +
			"  webservice-controller manifests --namespaces-only shop,lab --crd-install=false\n" +
			"  webservice-controller manifests --namespace team-a --source-name team-a --claim team-a-files",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return printManifests(cmd, p, &i) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&i.namespace, "namespace", "n", install.Name, "the `namespace` of the pod and its account")
	flags.StringVar(&i.image, "image", "", "the controller's `image`; its tag is this version's where it names none")
	flags.StringVar(&i.files.Repository, "git-repo", "", "the `url` of the repository that git-sync clones")
	flags.StringVar(&i.files.Ref, "git-ref", "", "the branch, tag or commit `ref` to check out (default the repository's HEAD)")
	flags.StringVar(&i.files.Claim, "claim", "", "the `name` of a PersistentVolumeClaim with the files, in the place of git")
	flags.StringVar(&i.files.HostPath, "host-path", "", "the `directory` of the node with the files, in the place of git")
	return cmd
}

func printManifests(cmd *cobra.Command, p *Process, i *installing) error {
	if err := i.check(cmd); err != nil {
		return err
	}
	cfg, err := podConfig(cmd, p)
	if err != nil {
		return usage(err)
	}
	opts, err := i.options(&cfg, p.Version)
	if err != nil {
		return err
	}
	text, err := install.Render(opts)
	if err == nil {
		_, err = p.Stdout.Write(text)
	}
	if err != nil {
		return failed(err)
	}
	i.warn(p)
	return nil
}

// podConfig is what the controller in the pod is told: what this command is. A
// confined one has no rights in a namespace that it makes, so it makes none.
func podConfig(cmd *cobra.Command, p *Process) (config.Config, error) {
	cfg, err := config.Load(cmd.Flags(), p.Environ)
	if err != nil || len(cfg.Namespaces.Only) == 0 || !cfg.Namespaces.Create {
		return cfg, err
	}
	if origin := cfg.Origin("namespaces.create"); origin != originDefault {
		return cfg, fmt.Errorf("namespaces.create is true by %s, and namespaces.only has the rights end at namespaces that exist: "+
			"leave one of them out", origin)
	}
	return config.Load(cmd.Flags(), append(slices.Clone(p.Environ), "WEBSERVICE_CONTROLLER_NAMESPACES_CREATE=false"))
}

// originDefault is what a setting's origin is called that nobody chose.
const originDefault = "default"

// check refuses what contradicts itself, and what no API server or kubelet would take.
func (i *installing) check(cmd *cobra.Command) error {
	places, err := i.places(cmd)
	if err != nil {
		return err
	}
	flaw := imageFlaw(i.image)
	switch {
	case flaw != "":
		return usagef("--image %s can't be an image: %s", strconv.Quote(i.image), flaw)
	case len(places) > 1:
		return usagef("the files can't come from %s: name one place", strings.Join(places, " and from "))
	case len(validation.IsDNS1123Label(i.namespace)) > 0:
		return usagef("--namespace %s can't be a namespace: write lower-case letters, digits and '-'", strconv.Quote(i.namespace))
	case i.files.Claim != "" && len(validation.IsDNS1123Subdomain(i.files.Claim)) > 0:
		return usagef("--claim %s can't be the name of a claim: write lower-case letters, digits, '-' and '.'", strconv.Quote(i.files.Claim))
	case i.files.HostPath != "" && !path.IsAbs(i.files.HostPath):
		return usagef("--host-path %s isn't absolute: write the directory's whole path on the node", strconv.Quote(i.files.HostPath))
	}
	return nil
}

// places are where the files come from by the flags that were given, each of which
// has to have a value.
func (i *installing) places(cmd *cobra.Command) ([]string, error) {
	var places []string
	for _, given := range []struct{ flag, value, place string }{
		{"image", i.image, ""},
		{"git-repo", i.files.Repository, "git"}, {"git-ref", i.files.Ref, "git"},
		{"claim", i.files.Claim, "a claim"}, {"host-path", i.files.HostPath, "the node"},
	} {
		if !cmd.Flags().Changed(given.flag) {
			continue
		}
		switch {
		case given.value == "" || strings.ContainsFunc(given.value, unicode.IsSpace):
			return nil, usagef("--%s %s can't be used: write it without blanks, or leave the flag out", given.flag, strconv.Quote(given.value))
		case !printable(given.value):
			return nil, usagef("--%s %s can't be used: %s", given.flag, strconv.Quote(given.value), writePrintable)
		}
		if given.place != "" && !slices.Contains(places, given.place) {
			places = append(places, given.place)
		}
	}
	return places, nil
}

// options are the installation that was asked for.
func (i *installing) options(cfg *config.Config, version string) (*install.Options, error) {
	o := &install.Options{
		Namespace: i.namespace, Image: tagged(i.image, version), Tag: tag(version), Files: i.files,
		Only: cfg.Namespaces.Only, SourceName: cfg.Source.Name, Off: off(cfg),
	}
	own := []string{"source.path", "out", "http.addr"}
	for _, key := range own[1:] {
		if origin := cfg.Origin(key); strings.HasPrefix(origin, "flag ") {
			return nil, usagef("%s is the pod's own here: leave the %s out", key, origin)
		}
	}
	var err error
	if o.Files.Path, err = filesPath(cfg); err != nil {
		return nil, err
	}
	switch cfg.Origin("lease.namespace") {
	case originDefault, "variable POD_NAMESPACE": // which the pod has one of its own of
		own = append(own, "lease.namespace")
	default:
		o.LeaseNamespace = cfg.Lease.Namespace
	}
	for _, variable := range cfg.Variables(own...) {
		name, value, _ := strings.Cut(variable, "=")
		o.Variables = append(o.Variables, install.Variable{Name: name, Value: value})
	}
	return o, nil
}

// filesPath is the directory in the repository or volume; "" is all of it. Of the
// settings that the pod is told it is the only one that could have any text.
func filesPath(cfg *config.Config) (string, error) {
	if cfg.Origin("source.path") == originDefault {
		return "", nil
	}
	directory := path.Clean(filepath.ToSlash(cfg.Source.Path))
	switch {
	case !printable(directory):
		return "", usagef("source.path %s can't be used: %s", strconv.Quote(cfg.Source.Path), writePrintable)
	case !filepath.IsLocal(directory):
		return "", usagef("source.path %s doesn't lie in the repository or volume: write it relative to that, as in --source desired", cfg.Source.Path)
	}
	return directory, nil
}

// printable says whether a text is all characters that are seen: others YAML can't
// hold, or they make a manifest read as other than it is.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// writePrintable is what to do about a text that isn't printable.
const writePrintable = "write it in UTF-8, without control characters and such that aren't seen"

// off are the keys of the settings that are off and that rights depend on.
func off(cfg *config.Config) []string {
	var keys []string
	for _, s := range []struct {
		key string
		on  bool
	}{{"prune.enabled", cfg.Prune.Enabled}, {"namespaces.create", cfg.Namespaces.Create}, {"crd.install", cfg.CRD.Install}} {
		if !s.on {
			keys = append(keys, s.key)
		}
	}
	return keys
}
