package term_test

import (
	"encoding/json"
	"testing"

	"labhub.io/webservice-controller/internal/term"
)

// TestLine: what a terminal would obey is shown, not sent.
func TestLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":                        {"nginx:1.27", "nginx:1.27"},
		"other alphabets":              {"배포 żółw 🚀", "배포 żółw 🚀"},
		"a colour":                     {"\x1b[31mred", `\x1b[31mred`},
		"a window's title":             {"\x1b]0;title\a", `\x1b]0;title\a`},
		"an escape in one byte":        {"\u009b31m", `\u009b31m`},
		"that byte alone isn't a text": {"a\x9b31m", "a\ufffd31m"},
		"backspaces over what is true": {"yes\b\b\bno", `yes\b\b\bno`},
		"a line of its own":            {"ok\nerror: not\r\nmine", "ok error: not mine"},
		"a tabulator":                  {"a\tb", `a\tb`},
		"text that runs backwards":     {"a\u202ebat.exe", `a\u202ebat.exe`},
		"delete":                       {"a\x7f", `a\x7f`},
		"nothing":                      {"", ""},
	} {
		if got := term.Line(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestJSON: what is escaped says the same as before.
func TestJSON(t *testing.T) {
	t.Parallel()
	const text = "\u009b31m \x7f \u202e 배포"
	encoded, err := json.Marshal(map[string]string{"reason": text})
	if err != nil {
		t.Fatal(err)
	}
	got := term.JSON(string(encoded) + "\n")
	if want := `{"reason":"\u009b31m \u007f \u202e 배포"}` + "\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(got), &back); err != nil || back["reason"] != text {
		t.Errorf("it reads as %q, %v", back["reason"], err)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[2J\u202e\u009b\x00\n한")
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range term.Line(in) {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Errorf("%q is left in %q", r, term.Line(in))
			}
		}
	})
}
