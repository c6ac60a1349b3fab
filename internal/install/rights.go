package install

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rights makes the installation's namespace, account, roles and bindings of the
// shipped ones.
func (o *Options) rights(shipped []object) []object {
	var all []object
	for _, each := range shipped {
		switch each.kind() {
		case "Namespace":
			each.set(o.Namespace, "metadata", "name")
			all = append(all, each)
		case "ServiceAccount":
			each.set(o.Namespace, "metadata", "namespace")
			all = append(all, each)
		default:
			all = append(all, o.granted(each)...)
		}
	}
	return all
}

// granted is what becomes of a role or of a binding. The ones that are about objects
// in namespaces are there once for each namespace, where these are listed.
func (o *Options) granted(role object) []object {
	inNamespaces := role.text("metadata", "name") == Name
	o.rename(role)
	if rules := role.at("rules"); rules != nil {
		without(rules, o.off())
		o.narrow(rules)
	}
	switch {
	case role.at("metadata", "namespace") != nil:
		role.set(o.leaseNamespace(), "metadata", "namespace")
	case inNamespaces && len(o.Only) > 0:
		return o.confined(role)
	}
	return []object{role}
}

// rename gives a role or binding, and what it refers to, the installation's names.
func (o *Options) rename(role object) {
	for _, path := range [][]string{{"metadata", "name"}, {"roleRef", "name"}} {
		role.set(o.installation()+strings.TrimPrefix(role.text(path...), Name), path...)
	}
	if subjects := role.at("subjects"); subjects != nil {
		object{subjects.Content[0]}.set(o.Namespace, "namespace")
	}
}

// confined makes of a ClusterRole or its binding one in each namespace.
func (o *Options) confined(role object) []object {
	role.set(strings.TrimPrefix(role.kind(), "Cluster"), "kind")
	role.set("Role", "roleRef", "kind")
	_, metadata := entry(role.root, "metadata")
	metadata.Content = slices.Insert(metadata.Content, 2, scalar("namespace"), scalar(""))
	var all []object
	for _, namespace := range o.Only {
		each := role.copy()
		each.set(namespace, "metadata", "namespace")
		all = append(all, each)
	}
	return all
}

// narrow lists the names that rules can be narrowed to now that they are known.
func (o *Options) narrow(rules *yaml.Node) {
	for _, rule := range rules.Content {
		resource, verbs := at(rule, "resources").Content[0].Value, at(rule, "verbs")
		creates := slices.ContainsFunc(verbs.Content, func(n *yaml.Node) bool { return n.Value == "create" })
		switch {
		case creates:
		case resource == "leases":
			list(rule, "webservice-source-"+o.SourceName)
		case resource == "namespaces" && len(o.Only) > 0:
			list(rule, o.Only...)
		}
	}
}

// list adds the names that a rule is about, before its verbs.
func list(rule *yaml.Node, names ...string) {
	rule.Content = slices.Insert(rule.Content, len(rule.Content)-2, scalar("resourceNames"), texts(names...))
}
