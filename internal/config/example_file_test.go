package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// config.yaml at the root lists every setting, commented out, in the order of
// the table, with its default and a comment of its own.
func TestShippedFile(t *testing.T) {
	data, err := os.ReadFile("../../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	commentedOut := regexp.MustCompile(`^( *)#([a-zA-Z]+:.*)$`)
	var lines []string
	for i, line := range strings.Split(string(data), "\n") {
		switch key := commentedOut.FindStringSubmatch(line); {
		case key != nil:
			line = key[1] + key[2]
			if !isComment(lines) && !strings.HasSuffix(key[2], ":") {
				t.Errorf("line %d, %s, has no comment above it", i+1, key[2])
			}
		case line != "" && line != "#" && !isComment([]string{line}):
			t.Errorf("line %d isn't commented out: %s", i+1, line)
		}
		lines = append(lines, line)
	}

	t.Chdir(t.TempDir())
	if err := os.WriteFile("config.yaml", []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	inFile, _ := fromFile("")
	if len(inFile.errs) > 0 {
		t.Fatal(inFile.errs)
	}
	for _, s := range settings() {
		if got, ok := inFile.values[s.key]; !ok || !reflect.DeepEqual(got.value, s.deflt) {
			t.Errorf("%s is %v, want %v", s.key, got.value, s.deflt)
		}
	}
	if got, want := keysInOrder(lines), leaves(); !slices.Equal(got, want) {
		t.Errorf("order of keys\n got %q\nwant %q", got, want)
	}
}

func isComment(lines []string) bool {
	return len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[len(lines)-1]), "# ")
}

func keysInOrder(lines []string) []string {
	var keys []string
	for _, line := range lines {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && value != "" && key[0] != '#' {
			keys = append(keys, key)
		}
	}
	return keys
}

func leaves() []string {
	var keys []string
	for _, s := range settings() {
		keys = append(keys, s.key[strings.LastIndex(s.key, ".")+1:])
	}
	return keys
}

// Every key of the table has a field in Config, and every field a key: a field
// that is forgotten in one of them would silently stay zero.
func TestTableMatchesConfig(t *testing.T) {
	var fields []string
	var walk func(prefix string, typ reflect.Type)
	walk = func(prefix string, typ reflect.Type) {
		for field := range typ.Fields() {
			name := strings.ToLower(prefix + field.Name)
			switch {
			case !field.IsExported() || field.Tag.Get("mapstructure") == "-":
			case field.Type.Kind() == reflect.Struct:
				walk(name+".", field.Type)
			default:
				fields = append(fields, name)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())

	var keys []string
	for _, s := range settings() {
		keys = append(keys, strings.ToLower(s.key))
	}
	slices.Sort(fields)
	slices.Sort(keys)
	if !slices.Equal(fields, keys) {
		t.Errorf("fields %q\nkeys   %q", fields, keys)
	}
}

// A key's default is text that the key accepts; the spellings follow from the
// key and clash with none.
func TestTableIsSound(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.PanicOnError)
	AddFlags(flags)
	variables := map[string]bool{}
	for _, s := range settings() {
		if got, err := s.kind.parse(format(s.deflt)); err != nil || !reflect.DeepEqual(got, s.deflt) {
			t.Errorf("%s: default %v reads back as %v, %v", s.key, s.deflt, got, err)
		}
		if s.help == "" || strings.Contains(s.help, "`") {
			t.Errorf("%s: help %q", s.key, s.help)
		}
		if variables[s.variable()] || injected(s.variable(), "tcp://x") {
			t.Errorf("%s: variable %s isn't its own", s.key, s.variable())
		}
		variables[s.variable()] = true
	}
	for key, want := range map[string][2]string{
		"source.allowEmpty":         {"source-allow-empty", "WEBSERVICE_CONTROLLER_SOURCE_ALLOW_EMPTY"},
		"reconcile.backoff.initial": {"reconcile-backoff-initial", "WEBSERVICE_CONTROLLER_RECONCILE_BACKOFF_INITIAL"},
		"out":                       {"out", "WEBSERVICE_CONTROLLER_OUT"},
		"http.addr":                 {"http-addr", "WEBSERVICE_CONTROLLER_HTTP_ADDR"},
	} {
		s := find(settings(), key)
		if s.flag() != want[0] || s.variable() != want[1] {
			t.Errorf("%s: %s and %s, want %s", key, s.flag(), s.variable(), want)
		}
	}
}

// An unreadable default file isn't a missing one.
func TestUnreadableDefaultFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(filepath.Join(".", defaultFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if l, _ := fromFile(""); len(l.errs) != 1 {
		t.Errorf("errors %v, want one", l.errs)
	}
}
