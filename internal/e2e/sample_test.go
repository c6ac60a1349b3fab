package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
)

// varied holds names, the values that differ from run to run: uids, digests, resource
// versions. What is equal on the page must be equal in the run, and what differs
// there must differ.
type varied struct {
	ofPage, ofRun map[string]string
}

func newVaried() *varied { return &varied{map[string]string{}, map[string]string{}} }

// compare wants that a command printed what a page shows, line by line. A "…" in a
// line stands for anything, as a line of its own for any lines. Times, ages and the
// width of gaps don't count; names do, by what they stand for.
func (n *varied) compare(page, run string) error {
	rest := strings.Split(strings.TrimSpace(run), "\n")
	skip := false
	for line := range strings.Lines(strings.TrimSpace(page)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimSpace(line) == "…" {
			skip = true
			continue
		}
		at := n.find(line, rest, skip)
		if at < 0 {
			return fmt.Errorf("the page has %q, and the run %q", line, strings.Join(rest[:min(1, len(rest))], ""))
		}
		rest, skip = rest[at+1:], false
	}
	if len(rest) > 0 && !skip {
		return fmt.Errorf("the page ends, and the run goes on with %q", rest[0])
	}
	return nil
}

// find returns where the first line is that fits; with no skipping only the first
// one can.
func (n *varied) find(page string, run []string, skip bool) int {
	pattern, said := patternOf(page)
	for i, line := range run {
		if found := pattern.FindStringSubmatch(line); found != nil && n.bind(said, found[1:]) {
			return i
		}
		if !skip {
			break
		}
	}
	return -1
}

// patternOf makes an expression of a page's line, with a group for each name, and
// returns the names.
func patternOf(page string) (*regexp.Regexp, []string) {
	kinds := []struct{ expression, becomes string }{
		{`…`, `.*`},
		{`\d{4}-\d\d-\d\dT[\d:.]+Z`, ""},
		{`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "name"},
		{`[0-9a-f]{64}`, "name"},
		{`\b\d{3,}\b`, "name"},
		{`\b(?:\d+[hms])+\b`, ""},
		{`\s+`, ""},
	}
	all := make([]string, len(kinds))
	for i, k := range kinds {
		all[i] = "(" + k.expression + ")"
	}
	varying := regexp.MustCompile(strings.Join(all, "|"))
	var pattern strings.Builder
	var said []string
	end := 0
	for _, at := range varying.FindAllStringSubmatchIndex(page, -1) {
		pattern.WriteString(regexp.QuoteMeta(page[end:at[0]]))
		for i, k := range kinds {
			switch {
			case at[2*i+2] < 0:
			case k.becomes == "name":
				said = append(said, page[at[0]:at[1]])
				pattern.WriteString("(" + k.expression + ")")
			case k.becomes != "":
				pattern.WriteString(k.becomes)
			default:
				pattern.WriteString(k.expression)
			}
		}
		end = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(page[end:]))
	return regexp.MustCompile("^" + pattern.String() + "$"), said
}

// bind takes the names of a line for those of the run, where that contradicts
// nothing before.
func (n *varied) bind(page, run []string) bool {
	ofPage, ofRun := maps.Clone(n.ofPage), maps.Clone(n.ofRun)
	for i := range page {
		if is, known := ofPage[page[i]]; known && is != run[i] {
			return false
		}
		if is, known := ofRun[run[i]]; known && is != page[i] {
			return false
		}
		ofPage[page[i]], ofRun[run[i]] = run[i], page[i]
	}
	n.ofPage, n.ofRun = ofPage, ofRun
	return true
}

func TestSamplesAreComparedAsPeopleWould(t *testing.T) {
	t.Parallel()
	const uidA, uidB = "0927c090-3569-4efb-b7e5-8321b8d0774f", "1f60f05c-bae6-47c1-9faa-00275e168559"
	for name, c := range map[string]struct {
		page, run string
		same      bool
	}{
		"equal":                          {"replicas: 3\n", "replicas: 3\n", true},
		"a small number counts":          {"replicas: 3\n", "replicas: 4\n", false},
		"a text counts":                  {"image: nginx:1.27", "image: nginx:1.28", false},
		"times and ages don't":           {"2026-11-29T21:42:35Z True 1s", "2027-01-02T03:04:05Z True   2m3s", true},
		"no time where there is one":     {"at 2026-11-29T21:42:35Z", "at noon", false},
		"other versions":                 {"219 219 220", "431 431 432", true},
		"a version moved":                {"219 219", "431 432", false},
		"a version moved, further below": {"rv 219\nrv 219", "rv 431\nrv 432", false},
		"a version that didn't move":     {"219 220", "431 431", false},
		"other uids":                     {"uid " + uidA, "uid " + uidB, true},
		"another owner":                  {uidA + "\n" + uidA, uidA + "\n" + uidB, false},
		"a line is missing":              {"a\nb\nc", "a\nc", false},
		"a line too many":                {"a\nc", "a\nb\nc", false},
		"more at the end":                {"a", "a\nb", false},
		"less at the end":                {"a\nb", "a", false},
		"any lines":                      {"a\n…\nc", "a\nb\nb\nc", true},
		"no lines at all":                {"a\n…\nc", "a\nc", true},
		"any lines at the end":           {"a\n…", "a\nb\nc", true},
		"anything in a line":             {"reads: …", "reads: 0", true},
		"signs are no patterns":          {"a.c (1) [x]", "abc (1) [x]", false},
	} {
		if err := newVaried().compare(c.page, c.run); (err == nil) != c.same {
			t.Errorf("%s: %v, want the same: %v", name, err, c.same)
		}
	}
}
