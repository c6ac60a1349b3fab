package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/config"
)

// pages are the pages for users, by their paths in the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(repository + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(repository+"examples", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], repository)
	}
	return found
}

// fencedLines are the lines of a page's blocks of that language.
func fencedLines(page, language string) []string {
	var lines []string
	inside := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && inside == "":
			inside = fence + " "
		case isFence:
			inside = ""
		case inside == language+" ":
			lines = append(lines, line)
		}
	}
	return lines
}

// typed are the command lines of a page: all of its blocks of sh, and in those of
// console what stands after a prompt.
func typed(page string) []string {
	lines := fencedLines(page, "sh")
	for _, line := range fencedLines(page, "console") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			lines = append(lines, command)
		}
	}
	return lines
}

// calls are the arguments of each call of the program in a line of a shell.
func calls(line string) [][]string {
	line, _, _ = strings.Cut(line, " #")
	// To kubectl our name is one of its arguments, but for what it executes.
	line = regexp.MustCompile(`\bkubectl [^|;&]*`).ReplaceAllStringFunc(line, func(kubectl string) string {
		_, executed, _ := strings.Cut(kubectl, " -- ")
		return executed
	})
	var all [][]string
	for _, call := range regexp.MustCompile(`(?:^|[ (/])`+programName+` ([^|>);&]*)`).FindAllStringSubmatch(line, -1) {
		words := strings.Fields(call[1])
		for i := range words {
			words[i] = strings.Trim(words[i], `'"`)
		}
		all = append(all, words)
	}
	return all
}

// TestCommandsOfPages: each command line that a page shows is one that the program takes.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	for _, name := range pages(t) {
		n := 0
		for _, line := range typed(readPage(t, name)) {
			for _, args := range calls(line) {
				n++
				if err := taken(args); err != nil {
					t.Errorf("%s: %s: %v", name, line, err)
				}
			}
		}
		if n == 0 && name == "README.md" {
			t.Errorf("%s shows no command", name)
		}
	}
}

// taken is nil where the program takes these arguments. Nothing is executed.
func taken(args []string) error {
	tree := rootCommand(&Process{})
	tree.InitDefaultHelpCmd()
	cmd, rest, err := tree.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if cmd == tree {
		return knownCommand(tree, args)
	}
	if err := parsed(cmd, rest); err != nil {
		return err
	}
	_, err = config.Load(cmd.Flags(), nil)
	return err
}

// TestFlagsOfReadme: a flag that is named in the text is one of ours, and where a
// command stands before it, one of that command.
func TestFlagsOfReadme(t *testing.T) {
	t.Parallel()
	tree := rootCommand(&Process{})
	flags := map[string]bool{"help": true}
	for _, cmd := range append(tree.Commands(), tree) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	commands := tree.Commands()
	for _, code := range codeIn(readPage(t, "README.md")) {
		words := strings.Fields(code)
		if slices.ContainsFunc(commands, func(c *cobra.Command) bool { return len(words) > 0 && c.Name() == words[0] }) {
			if err := taken(words); len(words) > 1 && err != nil {
				t.Errorf("`%s`: %v", code, err)
			}
			continue
		}
		if !strings.HasPrefix(code, "-") {
			continue
		}
		for _, flag := range regexp.MustCompile(`--([a-z][-a-z]*)`).FindAllStringSubmatch(code, -1) {
			if !flags[flag[1]] {
				t.Errorf("`%s`: there is no flag --%s", code, flag[1])
			}
		}
	}
}

// TestLinksOfPages: what a page links to is there, headings too.
func TestLinksOfPages(t *testing.T) {
	t.Parallel()
	for _, name := range pages(t) {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(readPage(t, name), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(link[1], "#")
			path := name
			if file != "" {
				path = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(repository + path); err != nil {
				t.Errorf("%s: %s: %v", name, link[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(readPage(t, path)), anchor) {
				t.Errorf("%s: %s: no such heading", name, link[1])
			}
		}
	}
}

// anchors are what a page's headings are linked to by.
func anchors(page string) []string {
	var all []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, heading[1]))
	}
	return all
}

// TestTargetsOfReadme: the targets of make that the README names are there.
func TestTargetsOfReadme(t *testing.T) {
	t.Parallel()
	makefile := readPage(t, "Makefile")
	named := regexp.MustCompile("(?m)[`^]?\\bmake ([a-z]+)(?: +#|`|$)").FindAllStringSubmatch(readPage(t, "README.md"), -1)
	if len(named) == 0 {
		t.Error("the README names no target any more")
	}
	for _, target := range named {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).MatchString(makefile) {
			t.Errorf("%s: there is no such target", target[0])
		}
	}
}

// TestCalls holds how a call is told from the rest of a line.
func TestCalls(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"bin/webservice-controller plan -o json | jq .":                       "plan -o json",
		"git show HEAD:a.yaml | webservice-controller validate -":             "validate -",
		"source <(bin/webservice-controller completion bash)":                 "completion bash",
		"A=b webservice-controller run  --http-addr '' # stays":               "run --http-addr ",
		"kubectl get lease -n webservice-controller":                          "",
		"kubectl logs deployment/webservice-controller -c controller":         "",
		"kubectl exec a/webservice-controller -- /webservice-controller plan": "plan",
		"webservice-controller once && webservice-controller verify > a.txt":  "once; verify",
	} {
		var got []string
		for _, args := range calls(line) {
			got = append(got, strings.Join(args, " "))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
