package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// closed gives a path a mode until the test ends.
func closed(path string, mode os.FileMode) change {
	return func(t *testing.T, dir string) {
		t.Helper()
		shut(t, filepath.Join(dir, path))
		if err := os.Chmod(filepath.Join(dir, path), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingIsSilentlyAbsent takes files of a source away in every way that isn't
// removing them: each of the names stays known, scan after scan, and the absence of
// others is in doubt.
func TestNothingIsSilentlyAbsent(t *testing.T) {
	const (
		denied  = ": can't be read: permission denied"
		hidden  = " is in the place of a directory with WebServices: put that back, or remove this"
		missing = " is a link to something that doesn't exist: mend it, or remove it"
		outside = " is a link out of the source, which isn't followed: put a copy in its place"
		far     = " is an absolute link, which isn't followed: make it relative, or put a copy in its place"
		circle  = " is a link in a circle: let it lead to a file"
		linked  = " is a link to a directory, which isn't followed: use the link itself as source.path, or put the directory in its place"
	)
	for _, test := range []struct {
		name    string
		change  change
		problem string
		lost    string // of shop/a, in a.yaml, and shop/s and shop/t, in team.s and team.s/t
	}{
		{"a file without rights", closed("a.yaml", 0), "a.yaml" + denied, "shop/a"},
		{"a directory without rights", closed("team.s", 0), "team.s" + denied, "shop/s shop/t"},
		{"one that can be listed only", closed("team.s", 0o444), "team.s" + denied, "shop/s shop/t"},
		{"one that can be entered only", closed("team.s", 0o111), "team.s" + denied, "shop/s shop/t"},
		{"one below without rights", closed("team.s/t", 0), "team.s/t" + denied, "shop/t"},

		{"a file for a directory", replaced("team.s", aFile), "team.s:" + hidden, "shop/s shop/t"},
		{"a file for one below", replaced("team.s/t", aFile), "team.s/t:" + hidden, "shop/t"},
		{"a pipe for a directory", replaced("team.s", aPipe), "team.s:" + hidden, "shop/s shop/t"},
		{"a link to a file", replaced("team.s", aLink("a.yaml")), "team.s:" + hidden, "shop/s shop/t"},
		{"a dangling link", replaced("team.s", aLink("nowhere")), "team.s:" + missing, "shop/s shop/t"},
		{"a link to outside", replaced("team.s", aLink("../other")), "team.s:" + outside, "shop/s shop/t"},
		{"an absolute link", replaced("team.s", aLink("/other")), "team.s:" + far, "shop/s shop/t"},
		{"a link in a circle", replaced("team.s", aLink("team.s")), "team.s:" + circle, "shop/s shop/t"},
		{"a link to the source itself", replaced("team.s", aLink(".")), "team.s:" + linked, "shop/s shop/t"},
		{"a link to a directory", replaced("team.s", aLink("else")), "team.s:" + linked, "shop/s shop/t"},

		{"an empty directory for a file", replaced("a.yaml", aDirectory), "a.yaml: is in the place of a file with WebServices: put that back, or remove this directory", "shop/a"},
		{"a dangling link for a file", replaced("a.yaml", aLink("nowhere.yaml")), "a.yaml:" + missing, "shop/a"},
		{"a link to outside for a file", replaced("a.yaml", aLink("../x.yaml")), "a.yaml:" + outside, "shop/a"},
		{"a link in a circle for a file", replaced("a.yaml", aLink("a.yaml")), "a.yaml:" + circle, "shop/a"},
		{"a pipe for a file", replaced("a.yaml", aPipe), "a.yaml: isn't a regular file: replace it by one", "shop/a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeTree(t, map[string]string{"a.yaml": named("a"), "b.yaml": named("b"), "team.s/s.yaml": named("s"), "team.s/t/t.yaml": named("t"), "else/e.yaml": named("e")})
			s := NewScanner(config(dir))
			asNobody(t, func(t *testing.T) {
				if got := scan(t, s); keysOf(got.Objects) != "shop/a shop/b shop/e shop/s shop/t" || got.Doubt() != "" {
					t.Fatalf("before: %s, %s", keysOf(got.Objects), got.Doubt())
				}
			})
			test.change(t, dir)
			asNobody(t, func(t *testing.T) {
				for n := range 3 {
					got := scan(t, s)
					if keysOf(got.Broken) != test.lost || texts(got.Problems) != test.problem || got.Doubt() == "" || len(got.Objects)+len(got.Broken) != 5 {
						t.Errorf("scan %d: objects: %s, broken: %s, want %s, problems: %s", n, keysOf(got.Objects), keysOf(got.Broken), test.lost, texts(got.Problems))
					}
				}
			})
		})
	}
}

// TestWhatIsRemovedIsAbsent: so is what took the place of something, once it is gone too.
func TestWhatIsRemovedIsAbsent(t *testing.T) {
	const all = "shop/a shop/b shop/s shop/t"
	for _, test := range []struct {
		name    string
		changes []change
		objects string
	}{
		{"a file", []change{replaced("a.yaml", nothing)}, "shop/b shop/s shop/t"},
		{"a directory", []change{replaced("team", nothing)}, "shop/a shop/b"},
		{"one that a file had replaced", []change{replaced("team", aFile), replaced("team", nothing)}, "shop/a shop/b"},
		{"one that a link had replaced", []change{replaced("team", aLink("nowhere")), replaced("team", nothing)}, "shop/a shop/b"},
		{"a file that a directory had replaced", []change{replaced("a.yaml", aDirectory), replaced("a.yaml", nothing)}, "shop/b shop/s shop/t"},
		{"a directory that had moved", []change{func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(filepath.Join(dir, "team"), filepath.Join(dir, "group")); err != nil {
				t.Fatal(err)
			}
		}}, all},
		{"a file whose ending is in capitals now", []change{func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Rename(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "a.YAML")); err != nil {
				t.Fatal(err)
			}
		}}, all},
		{"an empty directory that a file replaces", []change{replaced("docs", aDirectory), replaced("docs", aFile)}, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := writeTree(t, map[string]string{"a.yaml": named("a"), "b.yaml": named("b"), "team/s.yaml": named("s"), "team/t/t.yaml": named("t"), "README": "x"})
			s := NewScanner(config(dir))
			asNobody(t, func(t *testing.T) { scan(t, s) })
			var last *Snapshot
			for _, change := range test.changes {
				change(t, dir)
				asNobody(t, func(t *testing.T) { last = scan(t, s) })
			}
			if keysOf(last.Objects) != test.objects || len(last.Broken) > 0 || last.Doubt() != "" {
				t.Errorf("objects: %s, broken: %s, doubt: %s", keysOf(last.Objects), keysOf(last.Broken), last.Doubt())
			}
		})
	}
}

// TestARootThatIsReplaced by anything but its like is in doubt, and its names are known
// again once it is back.
func TestARootThatIsReplaced(t *testing.T) {
	for _, test := range []struct {
		name   string
		by     func(string) error
		broken string
		doubt  string
	}{
		{"nothing", nothing, "shop/a", "source DIR doesn't exist: put it back, or mend source.path"},
		{"a file", aFile, "shop/a", "source DIR isn't a directory: let source.path name a directory"},
		{"a pipe", aPipe, "shop/a", "source DIR isn't a directory: let source.path name a directory"},
		{"a dangling link", aLink("nowhere"), "shop/a", "source DIR is a link to something that doesn't exist: mend the link"},
		{"a link in a circle", aLink("desired"), "shop/a", "source DIR can't be read: EvalSymlinks: too many links: make it readable"},
		{"a directory without rights", func(path string) error { return os.Mkdir(path, 0) }, "shop/a", "source DIR can't be read: permission denied: make it readable"},
		{"an empty directory", aDirectory, "", "the source holds no WebService: mend source.path, or set source.allowEmpty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parent := writeTree(t, map[string]string{"desired/a.yaml": named("a")})
			dir := filepath.Join(parent, "desired")
			s := NewScanner(config(dir))
			asNobody(t, func(t *testing.T) { scan(t, s) })
			replaced("desired", test.by)(t, parent)
			asNobody(t, func(t *testing.T) {
				for range 2 {
					got := scan(t, s)
					want := strings.ReplaceAll(test.doubt, "DIR", dir)
					if got.Doubt() != want || keysOf(got.Broken) != test.broken || len(got.Objects) > 0 {
						t.Errorf("%q, want %q; broken: %s", got.Doubt(), want, keysOf(got.Broken))
					}
				}
			})
			replaced("desired", aDirectory)(t, parent)
			writeFile(t, filepath.Join(dir, "a.yaml"), named("a"))
			asNobody(t, func(t *testing.T) {
				if got := scan(t, s); got.Doubt() != "" || keysOf(got.Objects) != "shop/a" || len(got.Broken) > 0 {
					t.Errorf("back again: %q, %s", got.Doubt(), keysOf(got.Objects))
				}
			})
		})
	}
}
