package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cases are those that the table must have a row for.
func cases() []string {
	return strings.Fields(`C49 C50 C52 C54 C55 C56 C58 C59 C60 C62 C63
		C64 C65 C66 C67 C68 C69 C70 C72 C74 C75
		C77 C80 C81 C82 C83 C85 C87 C88 C90 C91 C92 C94 C95 C96 C99 C100 C101`)
}

// TestTheCasesAreHeld: every case has a row in testdata/cases.md, and every test that
// is named there exists.
func TestTheCasesAreHeld(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("testdata", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\| (C[0-9]+) \|.*\|.+\|$`).FindAllStringSubmatch(string(table), -1) {
		rows = append(rows, row[1])
	}
	if want := cases(); !slices.Equal(rows, want) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
	code := testCode(t)
	for _, name := range regexp.MustCompile("(?:`internal/([a-z]+)` )?`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(table), -1) {
		dir := name[1]
		if dir == "" {
			dir = "e2e"
		}
		if !strings.Contains(code[dir], "\nfunc "+name[2]+"(t *testing.T)") {
			t.Errorf("there is no %s in internal/%s", name[2], dir)
		}
	}
}

// testCode is the text of all tests, by the package's directory.
func testCode(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	code := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code[filepath.Base(filepath.Dir(path))] += string(data)
	}
	return code
}
