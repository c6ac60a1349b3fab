package config

import (
	"regexp"
	"slices"
	"strings"

	"labhub.io/webservice-controller/internal/near"
)

// podNamespace is the variable by which a pod learns its own namespace.
const podNamespace = "POD_NAMESPACE"

// fromPod is the weakest layer: defaults that depend on where we run.
func fromPod(environ []string) *layer {
	l := newLayer()
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, podNamespace+"="); ok && value != "" {
			l.values["lease.namespace"] = given{value: value, origin: "variable " + podNamespace}
		}
	}
	return l
}

// fromVariables reads the variables of our prefix. An empty one counts: it
// turns http.addr off, for one.
func fromVariables(environ []string) *layer {
	l, all := newLayer(), settings()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) {
			continue
		}
		i := slices.IndexFunc(all, func(s setting) bool { return s.variable() == name })
		switch {
		case i >= 0:
			l.take(&all[i], "variable "+name, value)
		case !injected(name, value):
			l.fail(name, "variable", unknown(all, name, (*setting).variable))
		}
	}
	return l
}

// injected tells whether Kubernetes set the variable for a Service whose name
// starts with ours. The value is looked at as well: HTTP_PORT=9090 is a user's
// attempt to set something, and must not pass in silence.
func injected(name, value string) bool {
	service := regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$`)
	port := regexp.MustCompile(`_PORT(_[0-9]+_(TCP|UDP|SCTP))?$`)
	portDetail := regexp.MustCompile(`_PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$`)
	address := regexp.MustCompile(`^(tcp|udp|sctp)://`)
	return service.MatchString(name) || portDetail.MatchString(name) ||
		port.MatchString(name) && address.MatchString(value)
}

// unknown says what is wrong with a name that no setting has, and guesses the
// one that was meant.
func unknown(all []setting, name string, spelling func(*setting) string) string {
	plain := strings.NewReplacer(variablePrefix, "", ".", "", "_", "", "-", "")
	for i := range all {
		if strings.EqualFold(plain.Replace(name), plain.Replace(all[i].key)) {
			return "isn't a setting: write " + spelling(&all[i])
		}
	}
	var spellings []string
	for i := range all {
		spellings = append(spellings, spelling(&all[i]))
	}
	if meant := near.Name(name, spellings); meant != "" {
		return "isn't a setting: did you mean " + meant + "?"
	}
	return "isn't a setting: remove it, or look its name up in config.yaml or --help"
}
