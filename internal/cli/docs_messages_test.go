package cli

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gap stands for what is filled in when the program runs, in the README and here.
const gap = "…"

// TestReadmeMessages: each text that Troubleshooting quotes is one that the program says.
func TestReadmeMessages(t *testing.T) {
	t.Parallel()
	said := messages(t)
	rows := tableRows(section(t, "Troubleshooting"), "it says")
	if len(rows) == 0 {
		t.Error("nothing is quoted")
	}
	for _, cells := range rows {
		for _, quote := range codeIn(cells[0]) {
			const least = 12 // of fewer characters, a text is found anywhere
			if len(strings.ReplaceAll(quote, gap, "")) < least {
				t.Errorf("too short to be told from others: %s", quote)
			}
			if !says(said, quote) {
				t.Errorf("the program doesn't say: %s", quote)
			}
		}
	}
}

// TestQuotes holds how a quotation is looked up.
func TestQuotes(t *testing.T) {
	t.Parallel()
	said := []string{gap + " is in use by " + gap + ": stop that one, or choose another"}
	for quote, want := range map[string]bool{
		gap + " is in use by " + gap + ": stop that one": true,
		"is in use by":                         true,
		"stop that one" + gap + "is in use by": false,
		"out is in use by":                     false,
	} {
		if says(said, quote) != want {
			t.Errorf("%s: %v, want %v", quote, !want, want)
		}
	}
}

// says tells whether one of the messages has all parts of a quotation, in their order.
func says(messages []string, quote string) bool {
	for _, message := range messages {
		found := true
		for part := range strings.SplitSeq(quote, gap) {
			_, rest, ok := strings.Cut(message, part)
			message, found = rest, found && ok
		}
		if found {
			return true
		}
	}
	return false
}

// messages are the texts in the program's code, with gaps.
func messages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{repository + "internal", repository + "cmd/webservice-controller"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			for _, file := range sourcesIn(t, path) {
				ast.Inspect(file, func(n ast.Node) bool {
					if e, ok := n.(ast.Expr); ok {
						all = append(all, assembled(e))
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// assembled is a text as it is put together, with gaps where it isn't known before.
func assembled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return regexp.MustCompile(`%[-+# 0]*[0-9.]*(\[[0-9]+\])?[a-zA-Z]`).ReplaceAllString(text, gap)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return assembled(e.X) + assembled(e.Y)
		}
	}
	return gap
}

// sourcesIn are the Go files of a directory, tests aside.
func sourcesIn(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
