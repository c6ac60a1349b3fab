package install

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// network makes the installation's Service and NetworkPolicy of the shipped ones.
func (o *Options) network(shipped []object) []object {
	for _, each := range shipped {
		each.set(o.Namespace, "metadata", "namespace")
		if egress := each.at("spec", "egress"); egress != nil {
			without(egress, o.off())
		}
	}
	return shipped
}

// deployment fills in the shipped Deployment.
func (o *Options) deployment(d object) object {
	d.set(o.Namespace, "metadata", "namespace")
	pod := d.at("spec", "template", "spec")
	controller := named(at(pod, "containers"), "controller")
	o.image(controller)
	o.environment(at(controller, "env"))
	if o.Files.fromGit() {
		o.repository(at(named(at(pod, "containers"), "git-sync"), "args"))
	} else {
		o.volume(named(at(pod, "volumes"), "files"))
	}
	return d
}

// image names the controller's image. What the comment asks for is done then.
func (o *Options) image(controller *yaml.Node) {
	key, value := entry(controller, "image")
	switch name, _, _ := strings.Cut(value.Value, ":"); {
	case o.Image != "":
		say(value, o.Image)
		key.HeadComment = ""
	case o.Tag != "":
		say(value, name+":"+o.Tag)
	}
}

// environment adds variables to the shipped ones, of which the first is the source.
func (o *Options) environment(env *yaml.Node) {
	source := object{env.Content[0]}
	source.set(path.Join(source.text("value"), literal(o.Files.Path)), "value")
	for _, v := range o.Variables {
		env.Content = append(env.Content, mapping("name", v.Name, "value", literal(v.Value)))
	}
}

// literal is what the kubelet makes value of. In arguments and variables it puts the
// value of another variable in the place of $(NAME), and $ in the place of $$.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }

// repository says what git-sync clones.
func (o *Options) repository(args *yaml.Node) {
	for flag, value := range map[string]string{"--repo=": o.Files.Repository, "--ref=": o.Files.Ref} {
		i := slices.IndexFunc(args.Content, func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, flag) })
		if value != "" && i >= 0 {
			say(args.Content[i], flag+literal(value))
		}
	}
}

// volume says what the volume with the files is.
func (o *Options) volume(files *yaml.Node) {
	files.HeadComment = ""
	if o.Files.Claim != "" {
		object{files}.set(o.Files.Claim, "persistentVolumeClaim", "claimName")
		return
	}
	key, value := entry(files, "persistentVolumeClaim")
	key.Value = "hostPath"
	*value = *mapping("path", o.Files.HostPath, "type", "Directory")
}
