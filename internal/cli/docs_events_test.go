package cli

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// TestReadmeEvents: the table has every reason of an event, with its type, and no other.
func TestReadmeEvents(t *testing.T) {
	t.Parallel()
	var got []string
	for _, cells := range tableRows(section(t, "Events"), "reason") {
		got = append(got, strings.Trim(cells[0], "`")+" "+cells[1])
	}
	var want []string
	for _, reason := range eventReasons(t) {
		kind := "Normal"
		if reason.Warns() {
			kind = "Warning"
		}
		want = append(want, string(reason)+" "+kind)
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the table has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// eventReasons are the constants of that type.
func eventReasons(t *testing.T) []v1.EventReason {
	t.Helper()
	values, events := map[string]ast.Expr{}, []string(nil)
	for _, file := range sourcesIn(t, repository+"internal/api/v1") {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				values[spec.Names[0].Name] = spec.Values[0]
				if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "EventReason" {
					events = append(events, spec.Names[0].Name)
				}
			}
			return true
		})
	}
	var reasons []v1.EventReason
	for _, name := range events {
		value := values[name]
		if alias, ok := value.(*ast.Ident); ok {
			value = values[alias.Name]
		}
		literal, ok := value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			t.Fatalf("%s isn't a plain text", name)
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, v1.EventReason(text))
	}
	return reasons
}
