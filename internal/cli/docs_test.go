package cli

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/report"
)

// repository is the repository, where the pages for users are.
const repository = "../../"

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(repository + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the README's text below a heading, up to the next one of that level.
func section(t *testing.T, title string) string {
	t.Helper()
	_, text, found := strings.Cut(readPage(t, "README.md"), "\n## "+title+"\n")
	if !found {
		t.Fatalf("README.md has no section %q", title)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// tableRows are the cells of every table in a text whose first column has that title.
func tableRows(text, title string) [][]string {
	var rows [][]string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case cells[0] == title:
			inside = true
		case inside && !strings.HasPrefix(line, "|-"):
			rows = append(rows, cells)
		}
	}
	return rows
}

// codeIn are the texts between backticks, blocks of code aside.
func codeIn(text string) []string {
	var found []string
	text = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
	for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// TestReadmeSettings: the table has every setting, in the order of config.yaml, with
// its default, and the rule beside it leads to the flag and to the variable.
func TestReadmeSettings(t *testing.T) {
	t.Parallel()
	rows := tableRows(section(t, "Settings"), "key")
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.AddFlags(flags)
	var keys []string
	for _, cells := range rows {
		key, deflt := strings.Trim(cells[0], "`"), strings.Trim(cells[1], "`")
		keys = append(keys, key)
		flag := flags.Lookup(spelled(key, "-"))
		if flag == nil {
			t.Errorf("%s: no flag --%s", key, spelled(key, "-"))
			continue
		}
		if flag.DefValue != strings.Trim(deflt, "[]") {
			t.Errorf("%s: the default is %q, and the table says %q", key, flag.DefValue, deflt)
		}
		variable := "WEBSERVICE_CONTROLLER_" + strings.ToUpper(spelled(key, "_"))
		cfg, err := config.Load(pflag.NewFlagSet("none", pflag.ContinueOnError), []string{variable + "=" + flag.DefValue})
		if err != nil || cfg.Origin(key) != "variable "+variable {
			t.Errorf("%s isn't set by %s: %v", key, variable, err)
		}
	}
	if want := keysOfConfigFile(t); !slices.Equal(keys, want) {
		t.Errorf("keys\n got %q\nwant %q", keys, want)
	}
}

// spelled is a key as a flag or a variable has it: a separator takes the place of dots,
// and goes before capitals.
func spelled(key, separator string) string {
	key = regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(key, func(c string) string { return "." + strings.ToLower(c) })
	return strings.ReplaceAll(key, ".", separator)
}

// keysOfConfigFile are the keys of config.yaml, which its own test holds to be all
// that there are.
func keysOfConfigFile(t *testing.T) []string {
	t.Helper()
	var keys, sections []string
	for line := range strings.Lines(readPage(t, "config.yaml")) {
		found := regexp.MustCompile(`^( *)#([a-zA-Z]+):( .*)?\n$`).FindStringSubmatch(line)
		if found == nil {
			continue
		}
		sections = append(sections[:len(found[1])/2], found[2])
		if found[3] != "" {
			keys = append(keys, strings.Join(sections, "."))
		}
	}
	return keys
}

// TestReadmeTimes: where the text names a setting's default, it is that.
func TestReadmeTimes(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.AddFlags(flags)
	named := regexp.MustCompile("`([a-zA-Z.]+)` \\(([0-9.]+) ([a-z]+)\\)").FindAllStringSubmatch(readPage(t, "README.md"), -1)
	if len(named) == 0 {
		t.Error("the README names no default any more")
	}
	for _, n := range named {
		says, err := time.ParseDuration(n[2] + n[3])
		flag := flags.Lookup(spelled(n[1], "-"))
		if err != nil || flag == nil {
			t.Errorf("%s: %v", n[0], err)
			continue
		}
		if is, err := time.ParseDuration(flag.DefValue); err != nil || is != says {
			t.Errorf("%s: the default is %s", n[0], flag.DefValue)
		}
	}
}

// TestReadmeExitCodes: the table has each code with what it means for each command, as
// the commands' own help has it.
func TestReadmeExitCodes(t *testing.T) {
	t.Parallel()
	var got []string
	for _, cells := range tableRows(section(t, "Exit codes"), "code") {
		got = append(got, strings.Join(cells, " | "))
	}
	var want []string
	for _, code := range exitConstants(t) {
		want = append(want, strconv.Itoa(code)+" | "+meaningOf(code))
	}
	if !slices.Equal(got, want) {
		t.Errorf("exit codes; the table should be\n| %s |", strings.Join(want, " |\n| "))
	}
}

// meaningOf is what an exit code means for every command that has it.
func meaningOf(code int) string {
	var meanings []string
	commands := map[string][]string{}
	all := []string{"run", "once", "verify", "plan", "validate", "export", "approve"}
	for _, command := range all {
		for _, e := range exitsOf(command) {
			if e.code != code {
				continue
			}
			if commands[e.meaning] == nil {
				meanings = append(meanings, e.meaning)
			}
			commands[e.meaning] = append(commands[e.meaning], "`"+command+"`")
		}
	}
	for i, meaning := range meanings {
		if len(commands[meaning]) < len(all) {
			meanings[i] = strings.Join(commands[meaning], ", ") + ": " + meaning
		}
	}
	return strings.Join(meanings, " · ")
}

// exitConstants are the values of the package's constants for exit codes.
func exitConstants(t *testing.T) []int {
	t.Helper()
	codes := map[int]bool{}
	for _, file := range sourcesIn(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !regexp.MustCompile(`^exit[A-Z]`).MatchString(spec.Names[0].Name) || len(spec.Values) != 1 {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.INT {
				code, _ := constant.Int64Val(constant.MakeFromLiteral(value.Value, token.INT, 0))
				codes[int(code)] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(codes))
}

// TestReadmeReport: the table has every field of the report, and no other.
func TestReadmeReport(t *testing.T) {
	t.Parallel()
	var got []string
	for _, cells := range tableRows(section(t, "The report"), "field") {
		for _, field := range codeIn(cells[0]) {
			got = append(got, braces(field)...)
		}
	}
	want := fieldsOf("", reflect.TypeFor[report.Report]())
	slices.Sort(got)
	slices.Sort(want)
	for _, field := range want {
		if !slices.Contains(got, field) {
			t.Errorf("the table lacks %s", field)
		}
	}
	for i, field := range got {
		if !slices.Contains(want, field) || i > 0 && got[i-1] == field {
			t.Errorf("the table has %s, which the report doesn't have, or has once", field)
		}
	}
}

// braces are the words that a shell makes of one with braces: a.{b,c} is a.b and a.c.
func braces(word string) []string {
	found := regexp.MustCompile(`^(.*?)\{([^}]*)\}(.*)$`).FindStringSubmatch(word)
	if found == nil {
		return []string{word}
	}
	var words []string
	for each := range strings.SplitSeq(found[2], ",") {
		words = append(words, braces(found[1]+each+found[3])...)
	}
	return words
}

// fieldsOf are the fields that a type has as JSON, by their paths.
func fieldsOf(path string, typ reflect.Type) []string {
	var fields []string
	for field := range typ.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, name := field.Type, path+"."+tag
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice {
				name += "[]"
			}
			inner = inner.Elem()
		}
		if field.Anonymous {
			name = path
		}
		switch {
		case tag == "-":
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]():
			fields = append(fields, fieldsOf(name, inner)...)
		default:
			fields = append(fields, strings.TrimPrefix(name, "."))
		}
	}
	return fields
}

// TestBraces holds what the report's table is read by.
func TestBraces(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"a": "a", "a.{b,c}": "a.b a.c", "{a,b}[].{c,d}": "a[].c a[].d b[].c b[].d", "{a}": "a",
	} {
		if got := strings.Join(braces(word), " "); got != want {
			t.Errorf("%s: %s", word, cmp.Or(got, "nothing"))
		}
	}
}
