package term_test

import (
	"slices"
	"strings"
	"testing"

	"labhub.io/webservice-controller/internal/term"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"":                 0,
		"checkout":         8,
		"배포":               4,
		"\u1107\u1162":     2, // the syllable 배 in parts, as macOS writes file names
		"e\u0301":          1, // é of two
		"ｆｕｌｌ":             8,
		"…·":               2,
		"a\u200db":         2,
		"🚀":                2,
		"ab\u00adcd\ufeff": 4,
	} {
		if got := term.Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"fits":                        {"checkout", 8, "checkout"},
		"doesn't":                     {"checkout", 7, "checko…"},
		"no blank before the sign":    {"the file asks", 5, "the…"},
		"no half of a wide character": {"배포중", 4, "배…"},
		"no limit":                    {"checkout", 0, "checkout"},
		"no room for anything":        {"checkout", 1, "…"},
	} {
		if got := term.Cut(c.text, c.limit); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"fits":                           {"the file asks", 13, []string{"the file asks"}},
		"between words":                  {"the file asks for it", 9, []string{"the file", "asks for", "it"}},
		"a word that is too long":        {"see webservice.labhub.io/cleanup now", 10, []string{"see", "webservice", ".labhub.io", "/cleanup", "now"}},
		"a word that just fits":          {"a webservice b", 10, []string{"a", "webservice", "b"}},
		"wide characters":                {"배포 중입니다", 6, []string{"배포", "중입니", "다"}},
		"no limit":                       {"the  file", 0, []string{"the  file"}},
		"nothing":                        {"", 5, []string{""}},
		"no room even for one character": {"배포", 1, []string{"배포"}},
	} {
		if got := term.Wrap(c.text, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestAround: what is to be copied is never broken, and nothing else is lost.
func TestAround(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, kept string
		limit      int
		want       []string
	}{
		"at the end, in parentheses": {"2 deletions are held (approve 4be4 --out out)", "approve 4be4 --out out", 16,
			[]string{"2 deletions are", "held:", "approve 4be4 --out out"}},
		"in the middle": {"see with: get ws a, and try again", "get ws a", 12, []string{"see with:", "get ws a", "and try", "again"}},
		"not there":     {"2 deletions are held", "approve", 11, []string{"2 deletions", "are held"}},
		"none":          {"2 deletions are held", "", 11, []string{"2 deletions", "are held"}},
		"no limit":      {"held (approve 4be4)", "approve 4be4", 0, []string{"held (approve 4be4)"}},
	} {
		if got := term.Around(c.text, c.kept, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		done, total int
		want        string
	}{
		"nothing to do":          {0, 0, "[····]"},
		"nothing done":           {0, 3, "[····]"},
		"half":                   {2, 4, "[##··]"},
		"full only when all is":  {999, 1000, "[###·]"},
		"all":                    {3, 3, "[####]"},
		"more than was expected": {5, 3, "[####]"},
	} {
		if got := term.Bar(c.done, c.total, 4); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// table is one with text from elsewhere, some of which isn't nice.
func table(s term.Screen) string {
	t := s.Table("KIND", "NAME", "WHY")
	t.Row(term.Text("webservice"), term.Text("checkout"), term.Text("the file asks for it").In(term.Green))
	t.Row(term.Text("configmap"), term.Text("배포-desired"), term.Text("data.image is \x1b[31m\"nginx:1.27\" and the spec says \"nginx:1.28\""))
	t.Row(term.Text("namespace"))
	var b strings.Builder
	_ = t.Write(&b)
	return b.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		screen term.Screen
		want   string
	}{
		"into a file": {term.Screen{}, `
KIND        NAME          WHY
webservice  checkout      the file asks for it
configmap   배포-desired  data.image is \x1b[31m"nginx:1.27" and the spec says "nginx:1.28"
namespace
`},
		"on a wide terminal": {term.Screen{Terminal: true, Width: 200}, `
KIND        NAME          WHY
webservice  checkout      the file asks for it
configmap   배포-desired  data.image is \x1b[31m"nginx:1.27" and the spec says "nginx:1.28"
namespace
`},
		"on a narrow one": {term.Screen{Terminal: true, Width: 60}, `
KIND        NAME          WHY
webservice  checkout      the file asks for it
configmap   배포-desired  data.image is \x1b[31m"nginx:1.27"
                          and the spec says "nginx:1.28"
namespace
`},
		"on one where nothing fits": {term.Screen{Terminal: true, Width: 28}, `
KIND      NAME      WHY
webservi  checkout  the file
ce                  asks for
                    it
configma  배포-des  data.ima
p         ired      ge is
                    \x1b[31m
                    "nginx:1
                    .27" and
                    the spec
                    says
                    "nginx:1
                    .28"
namespac
e
`},
	} {
		if got := table(c.screen); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestTableFits: no line is wider than the terminal, however narrow that is, down
// to where no column could hold a word.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for width := 28; width <= 100; width++ {
		for line := range strings.Lines(table(term.Screen{Terminal: true, Width: width})) {
			if n := term.Columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	if got := (term.Screen{Colour: true}).Paint(term.Red, "failed"); got != "\x1b[31mfailed\x1b[0m" {
		t.Errorf("with colours: %q", got)
	}
	for name, got := range map[string]string{
		"without colours": term.Screen{Terminal: true}.Paint(term.Red, "failed"),
		"plain":           term.Screen{Colour: true}.Paint(term.Plain, "failed"),
	} {
		if got != "failed" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := table(term.Screen{Colour: true}); !strings.HasPrefix(got, "\x1b[1mKIND\x1b[0m        \x1b[1mNAME\x1b[0m") {
		t.Errorf("colours move the columns: %q", got)
	}
}
