package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxNameLength = 63
	maxWorkers    = 1000
	maxPort       = 65535
)

// rule is what is wrong with a key's value: "" for nothing.
type rule struct{ key, message string }

// check holds the values against what the rest of the program relies on.
func (c *Config) check() []error {
	var errs []error
	for _, r := range c.rules() {
		if r.message != "" {
			errs = append(errs, &SettingError{Key: r.key, Origin: c.Origin(r.key), Message: r.message})
		}
	}
	return errs
}

func (c *Config) rules() []rule {
	return []rule{
		{"source.path", directory(c.Source.Path)},
		{"source.name", sourceName(c.Source.Name)},
		{"source.namespace", namespace(c.Source.Namespace)},
		{"source.quiet", positive(c.Source.Quiet)},
		{"source.maxWait", atLeast(c.Source.MaxWait, "source.quiet", c.Source.Quiet)},
		{"source.scanInterval", positive(c.Source.ScanInterval)},
		{"out", directory(c.Out)},
		{"prune.after", positive(c.Prune.After)},
		{"prune.afterTakeover", positive(c.Prune.AfterTakeover)},
		{"reconcile.workers", between(c.Reconcile.Workers, 1, maxWorkers)},
		{"reconcile.backoff.initial", positive(c.Reconcile.Backoff.Initial)},
		{"reconcile.backoff.max", atLeast(c.Reconcile.Backoff.Max, "reconcile.backoff.initial", c.Reconcile.Backoff.Initial)},
		{"namespaces.only", namespaces(c.Namespaces.Only)},
		{"lease.namespace", namespace(c.Lease.Namespace)},
		{"http.addr", address(c.HTTP.Addr)},
		{"log.level", oneOf(c.Log.Level, "debug", "info", "warn", "error")},
		{"log.format", oneOf(c.Log.Format, "text", "json")},
	}
}

func directory(path string) string {
	if strings.TrimSpace(path) == "" {
		return "is empty: write the path of a directory"
	}
	return ""
}

// sourceName is narrower than a label value, since the Lease's name is made
// from it.
func sourceName(name string) string {
	part := `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	if len(name) <= maxNameLength && regexp.MustCompile(`^`+part+`(\.`+part+`)*$`).MatchString(name) {
		return ""
	}
	return fmt.Sprintf("%q can't be a label value and part of a Lease's name: write lower-case letters, digits, '-' and '.', "+
		"at most %d, a letter or digit at both ends and around each '.'", name, maxNameLength)
}

func namespace(name string) string {
	if len(name) <= maxNameLength && regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(name) {
		return ""
	}
	return fmt.Sprintf("%q can't be a namespace: write lower-case letters, digits and '-', "+
		"at most %d, a letter or digit at both ends", name, maxNameLength)
}

func namespaces(names []string) string {
	for _, name := range names {
		if message := namespace(name); message != "" {
			return message
		}
	}
	return ""
}

func positive(d time.Duration) string {
	if d > 0 {
		return ""
	}
	return shortDuration(d) + " isn't more than zero: write a duration such as 500ms, 30s or 2m"
}

func atLeast(d time.Duration, otherKey string, other time.Duration) string {
	if message := positive(d); message != "" || d >= other {
		return message
	}
	return fmt.Sprintf("%s is less than %s, which is %s: write at least that",
		shortDuration(d), otherKey, shortDuration(other))
}

func between(n, least, most int) string {
	if n >= least && n <= most {
		return ""
	}
	return fmt.Sprintf("%d is out of range: write a number from %d to %d", n, least, most)
}

func oneOf(value string, allowed ...string) string {
	if slices.Contains(allowed, value) {
		return ""
	}
	return fmt.Sprintf("%q isn't known: write one of %s", value, strings.Join(allowed, ", "))
}

func address(addr string) string {
	if addr == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		n, parseErr := strconv.Atoi(port)
		if parseErr == nil && n >= 0 && n <= maxPort {
			return ""
		}
	}
	return fmt.Sprintf("%q isn't host:port: write one such as 127.0.0.1:8080, or \"\" for no server", addr)
}
