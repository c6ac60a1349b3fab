package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fence is a block of a Markdown page between two lines of backticks.
type fence struct {
	language string
	text     string
	line     int // of the first backticks
}

// pageText is a page of the repository, by its path from the root.
func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fencesOf are the blocks of a page, in its order.
func fencesOf(t *testing.T, path string) []fence {
	t.Helper()
	const backticks = "```"
	var fences []fence
	var open *fence
	n := 0
	for line := range strings.Lines(pageText(t, path)) {
		n++
		language, isFence := strings.CutPrefix(strings.TrimSpace(line), backticks)
		switch {
		case isFence && open == nil:
			open = &fence{language: language, line: n}
		case isFence:
			fences, open = append(fences, *open), nil
		case open != nil:
			open.text += line
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: this block doesn't end", path, open.line)
	}
	return fences
}

// untranslated is the part of a block that is the same in every language: without
// comments, and without texts that are written into files.
func untranslated(text string) string {
	text = regexp.MustCompile(`(?s)(<<'NOTE'\n).*?(NOTE\n)`).ReplaceAllString(text, "$1$2")
	return regexp.MustCompile(`(?m)[ \t]*#.*$`).ReplaceAllString(text, "")
}

// Links within the repository lead to a file, and to a heading where they name one.
func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	for _, page := range []string{labPage, koreanPage, frontPage, "examples/README.md"} {
		for _, found := range link.FindAllStringSubmatch(pageText(t, page), -1) {
			path := page
			if found[1] != "" {
				path = filepath.Join(filepath.Dir(page), found[1])
			}
			if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if found[2] != "" && !slices.Contains(anchorsOf(pageText(t, path)), found[2]) {
				t.Errorf("%s: %s has no heading #%s", page, path, found[2])
			}
		}
	}
}

// anchorsOf are the names by which links find a page's headings.
func anchorsOf(text string) []string {
	var anchors []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(name, " ", "-"))
	}
	return anchors
}
