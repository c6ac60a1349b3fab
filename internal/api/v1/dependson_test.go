package v1

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestParseDependsOn(t *testing.T) {
	t.Parallel()
	db, gateway := types.NamespacedName{Name: "db"}, types.NamespacedName{Namespace: "pay", Name: "gateway"}
	for value, want := range map[string][]types.NamespacedName{
		"db":                  {db},
		"pay/gateway":         {gateway},
		"db, pay/gateway":     {db, gateway},
		" db\n,\tpay/gateway": {db, gateway},
		"db,db":               {db, db},
		"db.v2-a":             {{Name: "db.v2-a"}},
	} {
		if got, err := ParseDependsOn(value); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v; want %v", value, got, err, want)
		}
	}
}

func TestParseDependsOnRefuses(t *testing.T) {
	t.Parallel()
	const empty = "an entry is empty: write name or namespace/name, separated by commas"
	wrong := func(entry string) string {
		return `"` + entry + `" isn't a name: write name or namespace/name, separated by commas`
	}
	for value, want := range map[string]string{
		"":                                       empty,
		" ":                                      empty,
		"db,":                                    empty,
		"db,,pay/x":                              empty,
		"/":                                      wrong("/"),
		"pay/":                                   wrong("pay/"),
		"/gateway":                               wrong("/gateway"),
		"a/b/c":                                  wrong("a/b/c"),
		"a.b/c":                                  wrong("a.b/c"),
		"DB":                                     wrong("DB"),
		"db cache":                               wrong("db cache"),
		"db;cache":                               wrong("db;cache"),
		"webservice/" + strings.Repeat("x", 254): wrong("webservice/" + strings.Repeat("x", 69) + "…"),
	} {
		if got, err := ParseDependsOn(value); got != nil || err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v; want %s", value, got, err, want)
		}
	}
}
